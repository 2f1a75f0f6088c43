//! The names of new interfaces: none that the container has, and none that is given away already.

use weir_cni::Error;
use weir_grant::Namespace;
use weir_kernel::Namespaces;
use weir_kernel::without_permit::is_name_taken;

use super::Attachment;
use crate::settings::{NoneFree, Template};

/// The interface of a container that is there from its beginning.
pub(super) const LOOPBACK: &str = "lo";

/// The names of one container's interfaces.
pub(super) struct Names {
    namespaces: Namespaces,
    reserved: Vec<String>,
}

impl Names {
    /// Those in the container's namespace, and the ones that were given away and may not be there yet.
    pub(super) fn new(container: &Attachment, reserved: Vec<String>) -> Result<Self, Error> {
        let namespace = container.namespace();
        let namespace = namespace.map(|namespace| namespace.try_clone()).transpose();
        let namespace =
            namespace.map_err(|e| Error::internal(format!("no descriptor is left: {e}")))?;
        Ok(Self {
            namespaces: Namespaces::new(namespace),
            reserved,
        })
    }

    /// Gives a name away. Errors: code 7 where none is free.
    pub(super) fn choose(&mut self, network: &str, template: &Template) -> Result<String, Error> {
        let Self {
            namespaces,
            reserved,
        } = self;
        let chosen = template.choose(|name| {
            let given_away = reserved.iter().any(|other| other == name);
            Ok(given_away || is_name_taken(namespaces.of(Namespace::Container)?, name)?)
        });
        let name = chosen.map_err(|why: Unnamed| why.explain(network, template))?;
        self.reserved.push(name.clone());
        Ok(name)
    }
}

/// Why there is no name.
enum Unnamed {
    Taken,
    Unknown(weir_kernel::Error),
}

impl From<NoneFree> for Unnamed {
    fn from(_: NoneFree) -> Self {
        Self::Taken
    }
}

impl From<weir_kernel::Error> for Unnamed {
    fn from(error: weir_kernel::Error) -> Self {
        Self::Unknown(error)
    }
}

impl Unnamed {
    fn explain(self, network: &str, template: &Template) -> Error {
        match self {
            Self::Unknown(error) => Error::io_failure(format!("network `{network}`: {error}")),
            Self::Taken => Error::invalid_config(format!(
                "network `{network}`: containerInterface: the container has an interface `{template}` \
                 already"
            ))
            .with_details("`{n}` in the name stands for the smallest number that is free"),
        }
    }
}
