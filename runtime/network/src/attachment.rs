//! Who is attached: container, interface, namespace and arguments.

use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;

use weir_cni::{Args, Command, Environment, Error};
use weir_kernel::without_permit::{OpenError, open_container};

/// One attachment, as the runtime names it.
#[derive(Clone, Debug, Default)]
pub struct Attachment {
    pub container_id: String,
    pub ifname: String,
    /// `CNI_NETNS`, as the caller wrote it; empty when there is none.
    pub netns: String,
    pub args: Args,
    namespace: Option<Arc<OwnedFd>>,
}

impl Attachment {
    /// An attachment in the namespace at `netns`.
    ///
    /// Errors: code 8 when it is no network namespace, or the host's own. For a DEL a namespace
    /// that is gone is no error: its path is missing, or no namespace is mounted there any more.
    pub fn open(
        command: Command,
        container_id: String,
        ifname: String,
        netns: String,
        args: Args,
    ) -> Result<Self, Error> {
        Self::open_any(command, container_id, ifname, netns, args, false)
    }

    fn open_any(
        command: Command,
        container_id: String,
        ifname: String,
        netns: String,
        args: Args,
        may_be_own: bool,
    ) -> Result<Self, Error> {
        let namespace = match netns.as_str() {
            "" => None,
            path => open(command, path, may_be_own)?.map(Arc::new),
        };
        Ok(Self {
            container_id,
            ifname,
            netns,
            args,
            namespace,
        })
    }

    /// The attachment that the environment names; an empty one for commands that are about none. With
    /// `CNI_NETNS_OVERRIDE`, the namespace may be the one that weir runs in.
    pub fn from_environment(environment: &Environment) -> Result<Self, Error> {
        let environment = environment.clone();
        Self::open_any(
            environment.command,
            environment.container_id.unwrap_or_default(),
            environment.ifname.unwrap_or_default(),
            environment.netns.unwrap_or_default(),
            environment.args,
            environment.netns_override,
        )
    }

    /// The same with these `CNI_ARGS`.
    #[must_use]
    pub fn with_args(&self, args: Args) -> Self {
        Self {
            args,
            ..self.clone()
        }
    }

    /// The same container with another interface.
    #[must_use]
    pub fn with_ifname(&self, ifname: impl Into<String>) -> Self {
        Self {
            ifname: ifname.into(),
            ..self.clone()
        }
    }

    /// The container's namespace, where there is one.
    pub fn namespace(&self) -> Option<Arc<OwnedFd>> {
        self.namespace.clone()
    }
}

fn open(command: Command, path: &str, may_be_own: bool) -> Result<Option<OwnedFd>, Error> {
    match open_container(Path::new(path), may_be_own) {
        Ok(namespace) => Ok(Some(namespace)),
        Err(OpenError::Gone(_)) if command == Command::Del => Ok(None),
        Err(error) => Err(Error::invalid_netns(format!("CNI_NETNS: {error}"))),
    }
}
