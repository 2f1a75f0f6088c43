//! One attachment: container, interface, namespace and arguments.

use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;

use weir_cni::{Args, Code, Command, Environment, Error};
use weir_kernel::Namespaces;
use weir_kernel::without_permit::open_container;

/// One attachment, as the runtime names it.
#[derive(Clone, Debug, Default)]
pub struct Attachment {
    pub container_id: String,
    pub ifname: String,
    /// `CNI_NETNS`, as the caller wrote it; may be empty.
    pub netns: String,
    pub args: Args,
    namespace: Option<Arc<OwnedFd>>,
}

impl Attachment {
    /// Makes an attachment in the namespace at `netns`.
    ///
    /// Errors: code 8 for a path that is not a network namespace, or is the host's own. A DEL accepts a namespace that
    /// no longer exists.
    pub fn open(
        command: Command,
        container_id: String,
        ifname: String,
        netns: String,
        args: Args,
    ) -> Result<Self, Error> {
        Ok(Self {
            namespace: open(command, &netns, false)?,
            container_id,
            ifname,
            netns,
            args,
        })
    }

    /// Returns the attachment that the environment names; an empty one for commands that are not about one. With
    /// `CNI_NETNS_OVERRIDE`, the namespace may be the one that weir runs in.
    pub fn from_environment(environment: &Environment) -> Result<Self, Error> {
        let environment = environment.clone();
        let netns = environment.netns.unwrap_or_default();
        Ok(Self {
            namespace: open(environment.command, &netns, environment.netns_override)?,
            container_id: environment.container_id.unwrap_or_default(),
            ifname: environment.ifname.unwrap_or_default(),
            netns,
            args: environment.args,
        })
    }

    /// Returns the same with these `CNI_ARGS`.
    #[must_use]
    pub fn with_args(&self, args: Args) -> Self {
        Self {
            args,
            ..self.clone()
        }
    }

    /// Returns the same container with another interface.
    #[must_use]
    pub fn with_ifname(&self, ifname: impl Into<String>) -> Self {
        Self {
            ifname: ifname.into(),
            ..self.clone()
        }
    }

    /// Returns the host's namespace, and the container's, if it has one. Errors: the process has no descriptor left.
    pub fn namespaces(&self) -> Result<Namespaces, Error> {
        let duplicate = self
            .namespace
            .as_ref()
            .map(|namespace| namespace.try_clone());
        let duplicate = duplicate.transpose();
        duplicate
            .map(Namespaces::new)
            .map_err(|e| Error::internal(format!("cannot duplicate a descriptor: {e}")))
    }

    /// Returns the container's namespace, if it has one.
    pub fn namespace(&self) -> Option<Arc<OwnedFd>> {
        self.namespace.clone()
    }
}

fn open(command: Command, path: &str, may_be_own: bool) -> Result<Option<Arc<OwnedFd>>, Error> {
    if path.is_empty() {
        return Ok(None);
    }
    match open_container(Path::new(path), may_be_own) {
        Ok(namespace) => Ok(Some(Arc::new(namespace))),
        Err(error) if error.is_not_found() && command == Command::Del => Ok(None),
        Err(error) => Err(Error::new(
            Code::INVALID_NETNS,
            format!("CNI_NETNS: {error}"),
        )),
    }
}
