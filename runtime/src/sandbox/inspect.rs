//! What a component is and asks for, found out without giving it anything.

use std::time::{Duration, Instant};

use serde_json::Value;
use wasmtime::component::Component;
use weir_cni::Error;

use super::call::Call;
use super::catalogue::digest;
use super::codes;
use super::compiler;
use super::imports::{Requested, requested};
use super::invoke::Sandbox;
use super::request::About;
use crate::gate::{Audit, Gate, Subject};
use crate::grant::document::Digest;
use crate::grant::{Capabilities, Invocation, Limits};
use crate::host::{Host, Log, Setup};
use crate::kernel::Namespaces;

/// How long a component may think about its own name.
const PATIENCE: Duration = Duration::from_secs(5);

/// A component, looked at.
#[derive(Clone, Debug)]
pub struct Inspection {
    /// What the plugin says of itself; none where it cannot be asked, because of what it imports or
    /// because it does not answer.
    pub about: Option<About>,
    pub digest: Digest,
    /// Bytes.
    pub size: usize,
    pub requested: Requested,
}

impl Sandbox {
    /// Compiles a component, reads its imports, and asks it about itself, under a grant of nothing.
    ///
    /// Errors: `codes::NO_PLUGIN` for what is no component.
    pub fn inspect(&self, component: &[u8]) -> Result<Inspection, Error> {
        let code = compiler::compile(component).map_err(|e| no_component(&e.to_string()))?;
        // SAFETY: compiled just now, by the compiler of this build.
        let loaded = unsafe { Component::deserialize(self.engine(), code) };
        let loaded = loaded.map_err(|e| no_component(&format!("{e:#}")))?;
        let requested = requested(self.engine(), &loaded);
        let may_ask = requested.refused.is_empty();
        Ok(Inspection {
            about: may_ask.then(|| self.ask(&loaded)).and_then(Result::ok),
            digest: digest(component),
            size: component.len(),
            requested,
        })
    }

    fn ask(&self, component: &Component) -> Result<About, Error> {
        let call = Call::new(self.engine(), "version", self.nobody())?;
        call.describe(&self.workshop().connect(component)?)
    }

    /// A host that allows nothing.
    fn nobody(&self) -> Host {
        let subject = Subject {
            command: "VERSION",
            container_id: String::new(),
            ifname: String::new(),
            network: String::new(),
            plugin: String::new(),
            digest: String::new(),
        };
        let audit = Audit::new(subject, Err("nothing is recorded".to_owned()), false);
        Host::new(Setup {
            gate: Gate::new(Capabilities::default(), Invocation::default(), audit),
            namespaces: Namespaces::new(None),
            paths: self.paths().clone(),
            plugin: String::new(),
            limits: Limits::default(),
            deadline: Instant::now() + PATIENCE,
            log: Log::new(self.paths().log(), Value::Null, 0),
            lock: None,
            ipam: None,
        })
    }
}

fn no_component(why: &str) -> Error {
    let what = format!("this is no WebAssembly component: {why}");
    Error::new(codes::NO_PLUGIN, what)
}
