//! The kernel that weir runs on, as one invocation uses it.

use std::time::Instant;

use weir_files::Paths;
use weir_grant::Namespace;

use super::error::Result;
use super::firewalld::bus::Firewalld;
use super::namespace::Namespaces;
use super::netlink::RouteSocket;
use super::perform::KnownLinks;
use super::store::owner::StoreOwner;
use super::without_permit::lock::SharedLock;

/// The kernel, the file system and firewalld, as one invocation uses them.
pub struct Linux {
    pub(crate) namespaces: Namespaces,
    pub(crate) links: KnownLinks,
    pub(crate) firewalld: Firewalld,
    pub(crate) paths: Paths,
    pub(crate) stores: StoreOwner,
    /// The name of an ADD, which no other has: its changes of the host's parameters can be undone.
    pub(crate) add: Option<String>,
    /// When waits end.
    pub(crate) deadline: Instant,
    pub(crate) lock: Option<SharedLock>,
}

impl Linux {
    /// In these namespaces, with state below `paths`. Waits end at `deadline`.
    pub fn new(namespaces: Namespaces, paths: Paths, deadline: Instant) -> Self {
        Self {
            namespaces,
            links: KnownLinks::default(),
            firewalld: Firewalld::new(paths.system_bus(), deadline),
            stores: StoreOwner::default(),
            add: None,
            deadline,
            lock: None,
            paths,
        }
    }

    /// Returns its network namespaces, for what needs no permit.
    pub fn namespaces(&mut self) -> &mut Namespaces {
        &mut self.namespaces
    }

    /// The rtnetlink socket in one of the namespaces. Errors: `NoNamespace`.
    pub(crate) fn route(&mut self, namespace: Namespace) -> Result<&mut RouteSocket> {
        self.namespaces.of(namespace)?.route()
    }

    /// Opens stores as those of a plugin on a network.
    #[must_use]
    pub fn with_stores_of(self, stores: StoreOwner) -> Self {
        Self { stores, ..self }
    }

    /// For an ADD, whose changes of the host's parameters can be undone. `invocation` is a name that no other has; `lock`
    /// is its share in the node's.
    #[must_use]
    pub fn for_add(self, invocation: &str, lock: Option<SharedLock>) -> Self {
        Self {
            add: Some(invocation.to_owned()),
            lock,
            ..self
        }
    }
}
