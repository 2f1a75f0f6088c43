//! The commands of a plugin, run on the fake host as weir runs them.

use std::fmt::Display;

use serde_json::Value;
use weir_cni::owner::{mark_of_attachment, mark_of_network};
use weir_cni::{AddResult, Attachment, Code, Error, Interface};

use super::FakeHost;
use crate::bindings::exports::weir::cni::commands::Guest;
use crate::bindings::fake::{self, Marks};
use crate::bindings::weir::cni::cni as raw;
use crate::plugin::{Component, Package, Plugin};
use crate::{ErrorCode, Namespace};

/// What a result's `sandbox` is for links of the container.
pub const SANDBOX: &str = "/run/netns/test";

/// Returns the interface of a result that has no other: the container's `eth0`. Fails the test if it is something else.
pub fn only_interface(result: &AddResult) -> &Interface {
    let [interface] = &result.interfaces[..] else {
        panic!("expected one interface: {result:?}");
    };
    let place = (&*interface.name, interface.sandbox.as_deref());
    assert_eq!(place, ("eth0", Some(SANDBOX)));
    interface
}

/// What a command is run with.
///
/// The attachment is interface `eth0` of container `5f3c` on network `test`, unless the test says otherwise.
#[derive(Clone, Debug)]
pub struct Invocation {
    config: String,
    container_id: String,
    ifname: String,
    network: String,
    known_as: Option<String>,
    args: Vec<(String, String)>,
    previous: Option<AddResult>,
}

impl Invocation {
    /// Makes an invocation with a plugin's configuration, as JSON: text, or a `serde_json::Value`.
    pub fn new(config: impl Display) -> Self {
        Invocation {
            config: config.to_string(),
            container_id: "5f3c".to_owned(),
            ifname: "eth0".to_owned(),
            network: "test".to_owned(),
            known_as: None,
            args: Vec::new(),
            previous: None,
        }
    }

    /// Sets `CNI_CONTAINERID`.
    #[must_use]
    pub fn with_container_id(mut self, container_id: impl Into<String>) -> Self {
        self.container_id = container_id.into();
        self
    }

    /// Sets `CNI_IFNAME`.
    #[must_use]
    pub fn with_ifname(mut self, ifname: impl Into<String>) -> Self {
        self.ifname = ifname.into();
        self
    }

    /// Sets the network's name.
    #[must_use]
    pub fn with_network(mut self, network: impl Into<String>) -> Self {
        self.network = network.into();
        self
    }

    /// Sets what the network is known by, where that is not its name: `namespace/name` of a
    /// NetworkAttachmentDefinition.
    #[must_use]
    pub fn with_known_as(mut self, known_as: impl Into<String>) -> Self {
        self.known_as = Some(known_as.into());
        self
    }

    /// Adds an argument of `CNI_ARGS`.
    #[must_use]
    pub fn with_arg(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.args.push((key.into(), value.into()));
        self
    }

    /// Sets the previous result: of the plugin before this one for ADD, of the whole list for CHECK and DEL.
    #[must_use]
    pub fn with_previous(mut self, previous: AddResult) -> Self {
        self.previous = Some(previous);
        self
    }

    fn known_as(&self) -> &str {
        self.known_as.as_ref().unwrap_or(&self.network)
    }

    fn marks(&self) -> Marks {
        let known_as = self.known_as();
        Marks {
            attachment: mark_of_attachment(known_as, &self.container_id, &self.ifname),
            network: mark_of_network(known_as),
            name: self.network.clone(),
        }
    }

    fn request(&self, has_container: bool) -> raw::Request {
        let sandbox = if has_container { SANDBOX } else { "" };
        raw::Request {
            container_id: self.container_id.clone(),
            ifname: self.ifname.clone(),
            network: self.network.clone(),
            known_as: self.known_as().to_owned(),
            args: self.args.clone(),
            config: self.config.clone(),
            previous: self.previous.clone().map(Into::into),
            has_container,
            sandbox: sandbox.to_owned(),
        }
    }
}

impl FakeHost {
    /// Runs ADD. When it fails, what it created is removed and what it changed in the container is put back, as weir
    /// does, and DEL of the IPAM plugin is run if its ADD was.
    ///
    /// Errors: the plugin's; code 8 after [`remove_container`](Self::remove_container).
    pub fn add<P: Plugin + Package>(&self, invocation: &Invocation) -> Result<AddResult, Error> {
        let request = self.begin(invocation, true)?;
        let before = self.machine().clone();
        let calls = self.calls().len();
        let added = Component::<P>::add(request).map_err(Error::from);
        let added = added.map(AddResult::from).and_then(|result| {
            result.validate()?;
            Ok(result)
        });
        if added.is_err() {
            self.machine().undo(before);
            let is_assigned =
                |call: &super::Call| call.function == "ipam.add" && call.error.is_none();
            if self.calls().iter().skip(calls).any(is_assigned) {
                fake::release_addresses();
            }
        }
        added
    }

    /// Runs DEL, without a container after [`remove_container`](Self::remove_container). Errors: the plugin's.
    pub fn del<P: Plugin + Package>(&self, invocation: &Invocation) -> Result<(), Error> {
        let request = self.begin(invocation, false)?;
        Ok(Component::<P>::del(request)?)
    }

    /// Fails the test unless DEL releases a lease of `dhcp` before it calls `removal`, such as `link.delete`, and an address of
    /// another IPAM plugin after it: see [`Ipam::del_with`](crate::config::Ipam::del_with). Runs ADD and DEL with the
    /// configuration, once with each in its key `ipam.type`.
    pub fn assert_order_of_del<P: Plugin + Package>(&self, config: &str, removal: &str) {
        const RELEASE: &str = "ipam.del";
        for (ipam, order) in [("dhcp", [RELEASE, removal]), ("static", [removal, RELEASE])] {
            let mut config: Value =
                serde_json::from_str(config).expect("the configuration is JSON");
            config["ipam"]["type"] = ipam.into();
            let invocation = Invocation::new(config);
            let added = self.add::<P>(&invocation).expect("ADD succeeds");
            let before = self.calls().len();
            let attached = invocation.with_previous(added);
            self.del::<P>(&attached).expect("DEL succeeds");
            let calls = self.calls().into_iter().skip(before);
            let functions = calls.map(|call| call.function);
            let of_both: Vec<_> = functions.filter(|name| order.contains(name)).collect();
            assert_eq!(of_both, order, "with `{ipam}`");
        }
    }

    /// Runs ADD, which must succeed, and returns its result, and the invocation with that as the previous one.
    pub fn attach<P: Plugin + Package>(&self, config: impl Display) -> (AddResult, Invocation) {
        let invocation = Invocation::new(config);
        let result = self.add::<P>(&invocation).expect("ADD succeeds");
        (result.clone(), invocation.with_previous(result))
    }

    /// Fails the test unless CHECK succeeds, and DEL twice, after which the container has no interface but `lo`.
    pub fn assert_detaches<P: Plugin + Package>(&self, attached: &Invocation) {
        self.check::<P>(attached).expect("CHECK succeeds");
        for nth in ["first", "second"] {
            self.del::<P>(attached).expect(nth);
            assert_eq!(self.link_names(Namespace::Container), ["lo"], "{nth}");
        }
    }

    /// Fails the test unless ADD fails with this code and this message, and changes nothing.
    pub fn assert_refuses<P: Plugin + Package>(&self, config: impl Display, code: Code, msg: &str) {
        let before = self.changes();
        let invocation = Invocation::new(config);
        let error = self.add::<P>(&invocation).expect_err("ADD fails");
        assert_eq!((error.code, &*error.msg), (code, msg));
        assert_eq!(self.changes(), before);
    }

    /// Fails the test unless DEL without the container changes nothing, and has the IPAM plugin release the addresses.
    pub fn assert_releases_alone<P: Plugin + Package>(&self, attached: &Invocation) {
        self.remove_container();
        let before = self.changes().len();
        self.del::<P>(attached).expect("DEL succeeds");
        assert_eq!(self.changes()[before..], ["ipam.del"]);
    }

    /// Runs ADD on a host of `make` for each of the functions, whose next call fails. ADD must fail with it, and what is left
    /// is shown to `check`, with the function.
    pub fn each_failing<P: Plugin + Package>(
        make: fn() -> Self,
        config: &str,
        functions: &[&str],
        check: impl Fn(&Self, &str),
    ) {
        for function in functions {
            let host = make();
            host.fail_next(function, ErrorCode::Exhausted);
            let added = host.add::<P>(&Invocation::new(config));
            added.expect_err(function);
            check(&host, function);
        }
    }

    /// Runs CHECK. Errors: the plugin's; code 8 after [`remove_container`](Self::remove_container).
    pub fn check<P: Plugin + Package>(&self, invocation: &Invocation) -> Result<(), Error> {
        let request = self.begin(invocation, true)?;
        Ok(Component::<P>::check(request)?)
    }

    /// Runs STATUS. Errors: the plugin's.
    pub fn status<P: Plugin + Package>(&self, invocation: &Invocation) -> Result<(), Error> {
        self.machine().marks = invocation.marks();
        Ok(Component::<P>::status(raw::StatusRequest {
            network: invocation.network.clone(),
            config: invocation.config.clone(),
        })?)
    }

    /// Runs GC with the attachments to keep. Errors: the plugin's.
    pub fn gc<P: Plugin + Package>(
        &self,
        invocation: &Invocation,
        valid: &[Attachment],
    ) -> Result<(), Error> {
        self.machine().marks = invocation.marks();
        Ok(Component::<P>::gc(raw::GcRequest {
            network: invocation.network.clone(),
            known_as: invocation.known_as().to_owned(),
            config: invocation.config.clone(),
            valid_attachments: valid.to_vec(),
        })?)
    }

    fn begin(&self, invocation: &Invocation, needs_container: bool) -> Result<raw::Request, Error> {
        let mut machine = self.machine();
        machine.marks = invocation.marks();
        let has_container = machine.container.is_some();
        if needs_container && !has_container {
            return Err(Error::new(
                Code::INVALID_NETNS,
                "the container's namespace is gone",
            ));
        }
        Ok(invocation.request(has_container))
    }
}
