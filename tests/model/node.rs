//! A machine whose kernel is a model.

use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use weir_grant::Namespace;
use weir_grant::device::Device;

use super::kernel::Model;
use super::state::{Machine, NetworkState, State};

/// A machine: a host, and a container unless it is without.
#[derive(Clone)]
pub struct Node(Arc<Mutex<Machine>>);

impl Default for Node {
    fn default() -> Self {
        Self::new()
    }
}

impl Node {
    /// Makes a machine with two fresh network namespaces.
    pub fn new() -> Self {
        Self(Arc::new(Mutex::new(Machine::new())))
    }

    /// The kernel as one invocation uses it.
    pub fn kernel(&self) -> Model {
        Model::new(self.clone())
    }

    /// A copy of everything that is on the machine.
    pub fn state(&self) -> State {
        self.machine().state.clone()
    }

    /// Removes the container's namespace with all that is in it.
    pub fn remove_container(&self) {
        self.machine().state.remove_container();
    }

    /// Puts a file on the machine.
    pub fn put_file(&self, path: impl Into<PathBuf>, content: &[u8]) {
        let mut machine = self.machine();
        machine.state.files.insert(path.into(), content.to_owned());
    }

    /// Gives the host a network device, at a path below `/sys/devices`.
    pub fn put_device(&self, path: impl Into<String>, device: Device) {
        self.machine().state.devices.insert(path.into(), device);
    }

    /// Has something in a namespace listen at a port.
    pub fn listen(&self, namespace: Namespace, port: u16) {
        if let Some(network) = self.machine().state.network(namespace) {
            network.listening.insert(port);
        }
    }

    /// Has firewalld run, with these zones.
    pub fn run_firewalld(&self, zones: &[&str]) {
        let zones = zones
            .iter()
            .map(|zone| ((*zone).to_owned(), Vec::<IpAddr>::new()));
        self.machine().state.zones = Some(zones.collect());
    }

    /// Has other ADDs be under way.
    pub fn begin_other_add(&self) {
        self.machine().is_shared = true;
    }

    /// Looks at one namespace. Panics where it is not there.
    pub fn network(&self, namespace: Namespace) -> NetworkState {
        let mut state = self.state();
        let network = state.network(namespace);
        network.expect("the namespace is there").clone()
    }

    pub(crate) fn machine(&self) -> MutexGuard<'_, Machine> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
