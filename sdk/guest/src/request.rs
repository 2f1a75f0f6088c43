//! The invocations of a plugin.

use weir_cni::{AddResult, Args, Attachment, Error};

use crate::bindings::weir::cni::cni as raw;
use crate::link::{self, Link};
use crate::{Context, Namespace, Outcome, codes};

/// One invocation of `add`, `del` or `check`.
#[derive(Clone, Debug)]
pub struct Request<C> {
    /// `CNI_CONTAINERID`.
    pub container_id: String,
    /// `CNI_IFNAME`: the interface to create or to look at in the container.
    pub ifname: String,
    /// The network's name.
    pub network: String,
    /// What the network is known by on the node, see [`owner`](crate::owner).
    pub known_as: String,
    /// `CNI_ARGS`.
    pub args: Args,
    /// The plugin's configuration.
    pub config: C,
    /// The result of the plugin before this one in the list (ADD), or of the whole list's ADD
    /// (CHECK and DEL).
    pub previous: Option<AddResult>,
    /// Whether the container's namespace exists. False in `del` only.
    pub has_container: bool,
    /// What a result's `sandbox` must be for interfaces in the container.
    pub sandbox: String,
}

impl<C> Request<C> {
    pub(crate) fn read(
        request: raw::Request,
        configuration: fn(&str) -> Result<C, Error>,
    ) -> Result<Self, Error> {
        Ok(Request {
            config: configuration(&request.config)?,
            args: args(&request.args)?,
            container_id: request.container_id,
            ifname: request.ifname,
            network: request.network,
            known_as: request.known_as,
            previous: request.previous.map(AddResult::from),
            has_container: request.has_container,
            sandbox: request.sandbox,
        })
    }

    /// Returns the result of the plugin before this one in the list, for a plugin that cannot be the first. Errors:
    /// code 7.
    pub fn chained(&self) -> Result<&AddResult, Error> {
        let missing = "prevResult: missing: this plugin changes what another one made, so it must come \
                       after that one in the list of plugins";
        let previous = self.previous.as_ref();
        previous.ok_or_else(|| Error::invalid_config(missing))
    }

    /// Returns the container's interface, which `CNI_IFNAME` names. Errors: [`codes::NOT_FOUND`] where it does not
    /// exist.
    pub fn container_interface(&self) -> Result<Link, Error> {
        self.find_container_interface()?.ok_or_else(|| {
            let msg = format!("the container has no interface `{}`", self.ifname);
            let details = "it is made by another plugin, which comes earlier in the list";
            Error::new(codes::NOT_FOUND, msg).with_details(details)
        })
    }

    /// Returns the container's interface; none where it does not exist, or its namespace does not, as in `del` after
    /// the container is gone.
    pub fn find_container_interface(&self) -> Result<Option<Link>, Error> {
        let ifname = self.ifname.as_str();
        let found = link::get(Namespace::Container, ifname).found();
        found.context(format!(
            "cannot look up the container's interface `{ifname}`"
        ))
    }
}

/// Makes the arguments of the host's pairs.
fn args(pairs: &[(String, String)]) -> Result<Args, Error> {
    let pairs: Vec<String> = pairs.iter().map(|(k, v)| format!("{k}={v}")).collect();
    pairs.join(";").parse()
}

/// One invocation of `status`.
#[derive(Clone, Debug)]
pub struct StatusRequest<C> {
    /// The network's name.
    pub network: String,
    /// The plugin's configuration.
    pub config: C,
}

/// One invocation of `gc`.
#[derive(Clone, Debug)]
pub struct GcRequest<C> {
    /// The network's name.
    pub network: String,
    /// What the network is known by on the node, see [`owner`](crate::owner).
    pub known_as: String,
    /// The plugin's configuration.
    pub config: C,
    /// The attachments of this network that exist. What belongs to any other is to be removed.
    pub valid_attachments: Vec<Attachment>,
}
