//! A host in memory, on which a plugin's commands run in native unit tests: no root, no namespaces, no component.
//!
//! A [`FakeHost`] is this thread's host until it is dropped: the functions of the capabilities act on it, in a test as in
//! the plugin. So a test arranges and looks with [`link`], [`address`](crate::address) and so on:
//!
//! ```
//! use weir_sdk::testing::{FakeHost, Invocation};
//! use weir_sdk::{AddResult, Error, ErrorCode, Namespace, Plugin, Request, codes, link, sysctl};
//!
//! /// Turns router advertisements off.
//! struct Quiet;
//!
//! impl Plugin for Quiet {
//!     type Config = weir_sdk::config::NoKeys;
//!
//!     fn add(request: Request<Self::Config>) -> Result<AddResult, Error> {
//!         let result = request.chained()?.clone();
//!         let key = sysctl::interface_key("ipv6.conf", &request.ifname, "accept_ra");
//!         sysctl::write(Namespace::Container, &key, "0")?;
//!         Ok(result)
//!     }
//!     fn del(_: Request<Self::Config>) -> Result<(), Error> {
//!         Ok(())
//!     }
//!     fn check(_: Request<Self::Config>) -> Result<(), Error> {
//!         Ok(())
//!     }
//! }
//! weir_sdk::export!(Quiet);
//!
//! # fn main() -> Result<(), Error> {
//! let host = FakeHost::new();
//! host.create_pair("veth0", "eth0")?;
//!
//! let after_another = Invocation::new(r#"{"type": "quiet"}"#).with_previous(AddResult::default());
//! host.add::<Quiet>(&after_another)?;
//! assert_eq!(host.changes(), ["sysctl.write container net.ipv6.conf.eth0.accept_ra=0"]);
//!
//! host.fail_next("sysctl.write", ErrorCode::Busy);
//! let error = host.add::<Quiet>(&after_another).unwrap_err();
//! assert_eq!(error.code, weir_sdk::Code::TRY_AGAIN_LATER);
//! # Ok(())
//! # }
//! ```
//!
//! The host answers as the kernel does: a second link of a name is `exists`, a route by a gateway that no subnet contains is
//! `invalid`, a link that is set down loses its routes. weir's own tests compare it with a real kernel. It has:
//!
//! | capability | what the host has |
//! |---|---|
//! | `link` | all functions; `wait_up` does not wait |
//! | `address` | all functions; duplicate address detection takes no time |
//! | `route` | all functions, but for a second gateway to an IPv6 destination |
//! | `policy-rule` | all functions; no look-up of a route uses the rules |
//! | `neighbour` | entries; announcements are only recorded |
//! | `sysctl` | the parameters that plugins usually set; [`FakeHost::set_parameter`] makes others |
//! | `store` | all functions; what is committed stays for the next command |
//! | `firewall`, `traffic` | what is set up is kept, and no packet meets it |
//! | `conntrack` | requests are recorded |
//! | `firewalld` | zones, once [`FakeHost::run_firewalld`] has it run |
//! | `device` | the devices of [`FakeHost::put_device`] |
//! | `ipam` | the answer of [`FakeHost::answer_ipam`] |
//! | `log` | lines, in [`FakeHost::log`] |
//!
//! Everything else answers `unsupported` and names the function. Grants and limits do not exist: `weir plugin test` has
//! them, and the real kernel.

mod invocation;
#[cfg(test)]
mod tests;

use std::cell::{RefCell, RefMut};
use std::fmt;
use std::rc::Rc;

use weir_cni::{AddResult, Error};

use crate::bindings::fake::{self, Host, Machine};
use crate::bindings::weir::cni::cni::Failure;
use crate::device::Device;
use crate::link::{self, Changes, NewKind, NewLink, NewPeer};
use crate::{ErrorCode, IpConfig, Namespace, Result, Route};

pub use crate::bindings::fake::{Called as Call, LogLine, parameters};
pub use invocation::{Invocation, SANDBOX, only_interface};

/// The host of this thread, until it is dropped.
///
/// Dropping it fails the test where a failure that [`fail_next`](Self::fail_next) asked for was never met.
pub struct FakeHost {
    host: Rc<RefCell<Host>>,
}

impl Default for FakeHost {
    fn default() -> Self {
        Self::new()
    }
}

impl FakeHost {
    /// Makes a host and a container, each with the link `lo`, which is down. Panics if this thread has one.
    pub fn new() -> Self {
        FakeHost {
            host: fake::install(),
        }
    }

    /// Creates a veth pair that is up, as a main plugin would have: `host` on the host, `container` in the container.
    /// It is not among the [`calls`](Self::calls). Errors: `exists`, `invalid`.
    pub fn create_pair(&self, host: &str, container: &str) -> Result<()> {
        let peer = NewPeer {
            up: true,
            ..NewPeer::new(Namespace::Container, container)
        };
        self.arrange(|| {
            link::create(NewLink {
                up: true,
                ..NewLink::veth(Namespace::Host, host, peer)
            })
            .map(drop)
        })
    }

    /// Creates an interface that is up, as the hardware of a node, or as another network's in the container. It is not among
    /// the [`calls`](Self::calls). Errors: `exists`, `invalid`.
    pub fn create_interface(&self, namespace: Namespace, name: &str) -> Result<()> {
        self.arrange(|| {
            link::create(NewLink {
                up: true,
                ..NewLink::new(namespace, name, NewKind::Dummy)
            })
            .map(drop)
        })
    }

    /// Renames a link, as a container may. It is not among the [`calls`](Self::calls). Errors: `not-found`, `exists`.
    pub fn rename_link(&self, namespace: Namespace, name: &str, new: &str) -> Result<()> {
        let changes = Changes {
            name: Some(new.to_owned()),
            ..Changes::default()
        };
        self.arrange(|| link::update(namespace, name, changes))
    }

    /// Does something to the host that is not among the [`calls`](Self::calls), and meets none of the failures that
    /// [`fail_next`](Self::fail_next) asked for.
    pub fn arrange<T>(&self, act: impl FnOnce() -> T) -> T {
        let mut host = self.host.borrow_mut();
        let (calls, faults) = (host.calls.clone(), std::mem::take(&mut host.faults));
        drop(host);
        let done = act();
        let mut host = self.host.borrow_mut();
        (host.calls, host.faults) = (calls, faults);
        done
    }

    /// Removes the container's namespace and its links, as when a container is gone before DEL.
    pub fn remove_container(&self) {
        fake::remove_container(&mut self.machine());
    }

    /// Gives a namespace a kernel parameter, also one that a fresh host lacks.
    ///
    /// Errors: `no-namespace`.
    pub fn set_parameter(&self, namespace: Namespace, key: &str, value: &str) -> Result<()> {
        let mut machine = self.machine();
        let parameters = &mut machine.network(namespace)?.parameters;
        parameters.insert(key.to_owned(), value.to_owned());
        Ok(())
    }

    /// Puts a file on the host, which [`store::read_file`](crate::store::read_file) reads.
    pub fn put_file(&self, path: &str, content: &[u8]) {
        let content = content.to_vec();
        self.machine().files.insert(path.to_owned(), content);
    }

    /// Gives the host a network device, at a path below `/sys/devices`. Its links are made beside.
    pub fn put_device(&self, kernel_path: &str, device: Device) {
        let path = kernel_path.to_owned();
        self.machine().devices.insert(path, device);
    }

    /// Has firewalld run, with these zones.
    pub fn run_firewalld(&self, zones: &[&str]) {
        let zones = zones.iter().map(|zone| ((*zone).to_owned(), Vec::new()));
        self.machine().zones = Some(zones.collect());
    }

    /// Has the IPAM plugin assign these with each ADD: addresses, each with its prefix length and its gateway, and routes by
    /// their destination, over the gateway of the family. An empty gateway is none. Panics for text that is not an address.
    pub fn assign(&self, ips: &[(&str, &str)], routes: &[&str]) {
        let ip = |(address, gateway): &(&str, &str)| IpConfig {
            interface: None,
            address: address.parse().expect("an address with a prefix length"),
            gateway: (!gateway.is_empty()).then(|| gateway.parse().expect("an address")),
        };
        let route =
            |to: &&str| Route::new(to.parse().expect("an address with a prefix length"), None);
        self.answer_ipam(Ok(AddResult {
            ips: ips.iter().map(ip).collect(),
            routes: routes.iter().map(route).collect(),
            ..AddResult::default()
        }));
    }

    /// Has the IPAM plugin answer each ADD with this. Its other commands succeed; [`fail_next`](Self::fail_next) has one
    /// fail.
    pub fn answer_ipam(&self, answer: Result<AddResult, Error>) {
        let answer = answer.map(Into::into).map_err(Failure::from);
        self.host.borrow_mut().ipam = Some(answer);
    }

    /// Has the next call of a function, such as `link.create`, fail with this code, and change nothing. Asked several
    /// times, as many calls fail. Panics for a name that is not a function of the contract.
    pub fn fail_next(&self, function: &str, code: ErrorCode) {
        let is_function = fake::contract::functions()
            .iter()
            .any(|known| known == function);
        assert!(
            is_function,
            "`{function}` is not a function of the contract, such as `link.create`"
        );
        let mut host = self.host.borrow_mut();
        host.faults.push((function.to_owned(), code));
    }

    /// Returns the calls that were made since the host was made or [`forget_calls`](Self::forget_calls), without those of
    /// the capability `log`.
    pub fn calls(&self) -> Vec<Call> {
        self.host.borrow().calls.clone()
    }

    /// Returns the calls that changed something, each as `function arguments`.
    pub fn changes(&self) -> Vec<String> {
        let calls = self.calls().into_iter();
        let changes = calls.filter(|call| call.error.is_none() && call.is_change());
        changes.map(|call| call.to_string()).collect()
    }

    /// Returns the names of a namespace's links. Panics where the namespace is gone.
    pub fn link_names(&self, namespace: Namespace) -> Vec<String> {
        let links = self.arrange(|| link::list(namespace, None, None));
        let links = links.expect("the namespace exists").into_iter();
        links.map(|link| link.name).collect()
    }

    /// Forgets the calls that were made.
    pub fn forget_calls(&self) {
        self.host.borrow_mut().calls.clear();
    }

    /// Returns the lines of the log.
    pub fn log(&self) -> Vec<LogLine> {
        self.host.borrow().lines.clone()
    }

    fn machine(&self) -> RefMut<'_, Machine> {
        RefMut::map(self.host.borrow_mut(), |host| &mut host.machine)
    }
}

impl Drop for FakeHost {
    fn drop(&mut self) {
        fake::uninstall();
        let faults = &self.host.borrow().faults;
        let unmet: Vec<&str> = faults.iter().map(|(function, _)| &**function).collect();
        if !std::thread::panicking() {
            assert!(
                unmet.is_empty(),
                "these were to fail and were not called: {unmet:?}"
            );
        }
    }
}

impl Call {
    /// Whether the function is one that changes something.
    pub fn is_change(&self) -> bool {
        let word = self.function.split('.').next_back().unwrap_or_default();
        let reads = [
            "get", "list", "read", "find", "keys", "open", "wait", "settle", "is-", "zone-of",
            "by-", "check", "status",
        ];
        !reads.iter().any(|read| word.starts_with(read))
    }
}

/// The function and its arguments.
impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = format!("{} {}", self.function, self.arguments);
        f.write_str(text.trim_end())
    }
}
