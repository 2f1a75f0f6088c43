//! All that the server knows, shared by its connections and by the test.

use std::sync::{Arc, Mutex, MutexGuard};

use serde::Serialize;

use crate::access::Access;
use crate::fault::Faults;
use crate::store::Store;

/// A request, as a test reads of it.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Request {
    pub verb: String,
    pub path: String,
    pub content_type: String,
    /// Empty for one without valid credentials.
    pub user: String,
}

/// Who, what, and what went on.
pub struct Known {
    pub access: Access,
    pub store: Store,
    pub faults: Faults,
    pub requests: Vec<Request>,
}

/// A handle to it.
#[derive(Clone)]
pub struct World(Arc<Mutex<Known>>);

impl World {
    pub fn new() -> Self {
        Self(Arc::new(Mutex::new(Known {
            access: Access::new(),
            store: Store::new(),
            faults: Faults::default(),
            requests: Vec::new(),
        })))
    }

    /// For a moment: it is never held across a wait.
    pub fn lock(&self) -> MutexGuard<'_, Known> {
        self.0.lock().expect("nobody panics with it")
    }

    /// A token of a user that has one.
    pub fn token_of(&self, user: &str) -> Option<String> {
        self.lock().access.token_of(user)
    }
}
