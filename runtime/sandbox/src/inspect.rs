//! What a component is and requests, found out without granting it anything.

use std::time::{Duration, Instant};

use bytesize::ByteSize;
use serde_json::Value;
use wasmtime::component::Component;
use weir_cni::Error;
use weir_engine::bounds;
use weir_gate::{Audit, Gate, Subject};
use weir_grant::document::Digest;
use weir_grant::store::Configured;
use weir_grant::{Capabilities, Invocation, Limits};
use weir_host::{Log, Setup, SharedIpam, State};
use weir_kernel::{Broker, Linux, Namespaces};

use super::call::Call;
use super::catalogue::Plugin;
use super::code;
use super::codes;
use super::compiler::Compiled;
use super::component_cache;
use super::contract;
use super::imports::{Imports, Names};
use super::installed::digest;
use super::ipam::NoFurther;
use super::request::About;
use super::sandbox::Sandbox;
use super::trap::LimitsFrom;

/// The limits of a component that only reports its version.
fn limits() -> Limits {
    Limits {
        time: Duration::from_secs(5),
        ..Limits::default()
    }
}

#[derive(Clone, Debug)]
pub struct Inspection {
    /// What the plugin reports. Errors: `codes::OTHER_CONTRACT` for another version of the contract, `codes::REFUSED_IMPORT` for a
    /// forbidden import, `codes::NO_PLUGIN` if it is a component but not a plugin.
    pub about: Result<About, Error>,
    /// The limits under which it ran; none if it did not run.
    pub ran: Option<Limits>,
    pub digest: Digest,
    /// The version of the contract that it is built for; none if it does not use the contract.
    pub contract: Option<String>,
    pub imports: Imports,
    pub names: Names,
    pub compiled: Compiled,
}

impl Inspection {
    /// Checks that it can run as a plugin. One that fails to report its version can.
    ///
    /// Errors: `codes::OTHER_CONTRACT`, `codes::REFUSED_IMPORT`, `codes::NO_PLUGIN`.
    pub fn check(&self) -> Result<(), Error> {
        const NEVER: [u32; 3] = [
            codes::OTHER_CONTRACT,
            codes::REFUSED_IMPORT,
            codes::NO_PLUGIN,
        ];
        match &self.about {
            Err(error) if NEVER.contains(&error.code.0) => Err(error.clone()),
            _ => Ok(()),
        }
    }
}

impl Sandbox {
    /// Compiles a component, reads its imports, and asks for its version, under an empty grant with the default limits.
    ///
    /// Errors: `codes::NO_PLUGIN` if it is not a component, or has more parts than a plugin may have. They do not name it.
    pub fn inspect(&self, component: &[u8]) -> Result<Inspection, Error> {
        self.inspect_compiled(Compiled::of(component))
    }

    /// Does the same for a plugin of this node, with the code that it runs with. The component is compiled if this weir cannot load
    /// its code.
    ///
    /// Errors: those of [`inspect`](Self::inspect), and that the component is damaged.
    pub fn inspect_plugin(&self, plugin: &Plugin) -> Result<Inspection, Error> {
        let component = plugin.component()?;
        let (Ok(loaded), Ok(code)) = (code::load(self.engine(), plugin), plugin.code()) else {
            return self.inspect(&component);
        };
        // SAFETY: it is this component's, and the engine has loaded it.
        let compiled = unsafe { Compiled::of_cache(&component, code) };
        // SAFETY: as above.
        unsafe { bounds::check(compiled.code()) }.map_err(|e| too_much(&e))?;
        Ok(self.examine(compiled, &loaded))
    }

    /// Does the same as [`inspect`](Self::inspect) with the outcome of compiling a component.
    pub fn inspect_compiled(
        &self,
        compiled: Result<Compiled, String>,
    ) -> Result<Inspection, Error> {
        let compiled = compiled.map_err(|e| no_component(&e))?;
        // SAFETY: compiled just now, by the compiler of this build.
        unsafe { bounds::check(compiled.code()) }.map_err(|e| too_much(&e))?;
        // SAFETY: compiled just now, by the compiler of this build.
        let loaded = unsafe { Component::deserialize(self.engine(), compiled.code()) };
        let loaded = loaded.map_err(|e| no_component(&format!("{e:#}")))?;
        Ok(self.examine(compiled, &loaded))
    }

    fn examine(&self, compiled: Compiled, loaded: &Component) -> Inspection {
        let (about, ran) = match component_cache::check("the component", self.engine(), loaded) {
            Ok(()) => (self.ask(loaded), Some(limits())),
            Err(refused) => (Err(refused), None),
        };
        Inspection {
            about,
            ran,
            digest: digest(compiled.component()),
            contract: contract::version(self.engine(), loaded),
            imports: Imports::of(self.engine(), loaded),
            names: Names::of(self.engine(), loaded),
            compiled,
        }
    }

    /// Reads what a plugin of this node imports. Compiles nothing.
    ///
    /// Errors: `codes::NO_PLUGIN` if it is damaged or was compiled by another weir.
    pub fn imports(&self, plugin: &Plugin) -> Result<Imports, Error> {
        let component = code::load(self.engine(), plugin)?;
        Ok(Imports::of(self.engine(), &component))
    }

    /// Checks that a plugin can be run, as its next invocation does.
    ///
    /// Errors: `codes::NO_PLUGIN` if it is damaged or was compiled by another weir; `codes::OTHER_CONTRACT`,
    /// `codes::REFUSED_IMPORT`.
    pub fn check(&self, plugin: &Plugin) -> Result<(), Error> {
        self.components().prepare(plugin).map(drop)
    }

    fn ask(&self, component: &Component) -> Result<About, Error> {
        let call = Call::new(
            self.engine(),
            "version",
            self.powerless(),
            LimitsFrom::default(),
        )?;
        call.describe(&self.components().connect(component)?)
    }

    /// A state that allows nothing.
    fn powerless(&self) -> State {
        let subject = Subject {
            command: "VERSION".into(),
            ..Subject::default()
        };
        let audit = Audit::nowhere(subject);
        let deadline = Instant::now() + limits().time;
        let gate = Gate::new(Capabilities::default(), Invocation::default(), audit);
        let kernel = Linux::new(Namespaces::new(None), self.paths().clone(), deadline);
        State::new(Setup {
            broker: Broker::new(gate, Box::new(kernel)),
            network: String::new(),
            previous: None,
            plugin: String::new(),
            configured: Configured::default(),
            limits: limits(),
            deadline,
            code: 0,
            log: Log::new(self.paths().log(), Value::Null, 0),
            ipam: SharedIpam::new(NoFurther::without_name()),
        })
    }
}

fn too_much(why: &wasmtime::Error) -> Error {
    let why = format!("the component has more parts than a plugin may have: {why:#}");
    Error::new(codes::NO_PLUGIN, why).with_details(format!(
        "at most {} instances of core modules, {} memories and {} tables, for which the engine needs {} besides the content of \
         memories and tables",
        bounds::INSTANCES,
        bounds::MEMORIES,
        bounds::TABLES,
        ByteSize::b(bounds::INSTANCES_SIZE as u64).display().iec(),
    ))
}

/// Whether some bytes begin as every component does. Others are not compiled: inspecting them says what they are.
pub fn is_component(bytes: &[u8]) -> bool {
    bytes.starts_with(b"\0asm\x0d\0\x01\0")
}

fn no_component(why: &str) -> Error {
    let what = format!("not a WebAssembly component: {why}");
    Error::new(codes::NO_PLUGIN, what)
}
