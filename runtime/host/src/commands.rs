//! The commands that a plugin exports.

use wasmtime::component::{ComponentExportIndex, InstancePre, Lift, Lower};
use wasmtime::{Error, Result, Store};

use super::bindings::weir::cni::cni::{
    AttachmentResult, Failure, GcRequest, Request, StatusRequest,
};
use super::state::State;

/// The interface that a plugin exports.
const INTERFACE: &str = "weir:cni/commands@0.2.0";

/// What a command returns, if it does not trap.
type Answer<T> = Result<Result<T, Failure>>;

/// The commands of a plugin whose imports are connected. Each call is of a new instance.
///
/// Only the command that is called is looked up, and its types compared with the contract's: a process calls one, mostly.
/// [`PluginPre`](super::bindings::PluginPre) compares all six, which takes ten thousand instructions; that is for a plugin that is
/// being installed.
#[derive(Clone)]
pub struct Commands {
    plugin: InstancePre<State>,
    interface: ComponentExportIndex,
}

impl Commands {
    /// Errors: the plugin exports no commands.
    pub fn new(plugin: InstancePre<State>) -> Result<Self> {
        let interface = plugin.component().get_export_index(None, INTERFACE);
        let interface = interface.ok_or_else(|| missing(INTERFACE))?;
        Ok(Self { plugin, interface })
    }

    /// Errors, of this and of the other commands: the plugin trapped, or does not export the command as the contract has it.
    pub fn add(&self, store: &mut Store<State>, request: &Request) -> Answer<AttachmentResult> {
        self.call(store, "add", request)
    }

    pub fn del(&self, store: &mut Store<State>, request: &Request) -> Answer<()> {
        self.call(store, "del", request)
    }

    pub fn check(&self, store: &mut Store<State>, request: &Request) -> Answer<()> {
        self.call(store, "check", request)
    }

    pub fn status(&self, store: &mut Store<State>, request: &StatusRequest) -> Answer<()> {
        self.call(store, "status", request)
    }

    pub fn gc(&self, store: &mut Store<State>, request: &GcRequest) -> Answer<()> {
        self.call(store, "gc", request)
    }

    fn call<R, T>(&self, store: &mut Store<State>, command: &str, request: &R) -> Answer<T>
    where
        R: Lower,
        T: Lift + 'static,
    {
        let component = self.plugin.component();
        let index = component.get_export_index(Some(&self.interface), command);
        let index = index.ok_or_else(|| missing(command))?;
        let instance = self.plugin.instantiate(&mut *store)?;
        let function =
            instance.get_typed_func::<(&R,), (Result<T, Failure>,)>(&mut *store, index)?;
        let (returned,) = function.call(store, (request,))?;
        Ok(returned)
    }
}

fn missing(export: &str) -> Error {
    Error::msg(format!("the component does not export `{export}`"))
}
