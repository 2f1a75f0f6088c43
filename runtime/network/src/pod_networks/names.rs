//! Free names for new interfaces of a container.

use weir_cni::Error;
use weir_grant::Namespace;
use weir_kernel::Namespaces;
use weir_kernel::without_permit::is_name_taken;

use super::Attachment;
use crate::settings::Template;

/// The interface that every container has.
pub(super) const LOOPBACK: &str = "lo";

/// The names of one container's interfaces.
pub(super) struct Names {
    namespaces: Namespaces,
    reserved: Vec<String>,
}

impl Names {
    /// Taken are those in the container's namespace, and the reserved ones, which may not exist yet.
    pub(super) fn new(container: &Attachment, reserved: Vec<String>) -> Result<Self, Error> {
        Ok(Self {
            namespaces: container.namespaces()?,
            reserved,
        })
    }

    /// Takes a name. Errors: code 7 if none is free.
    pub(super) fn choose(&mut self, network: &str, template: &Template) -> Result<String, Error> {
        let Self {
            namespaces,
            reserved,
        } = self;
        let chosen = template.choose(|name| {
            let is_reserved = reserved.iter().any(|other| other == name);
            Ok(is_reserved || is_name_taken(namespaces.of(Namespace::Container)?, name)?)
        });
        let chosen = chosen.map_err(|error: weir_kernel::Error| {
            Error::io_failure(format!("network `{network}`: {error}"))
        })?;
        let name = chosen.ok_or_else(|| none_free(network, template))?;
        self.reserved.push(name.clone());
        Ok(name)
    }
}

fn none_free(network: &str, template: &Template) -> Error {
    Error::invalid_config(format!(
        "network `{network}`: containerInterface: the container has an interface `{template}` already"
    ))
    .with_details("`{n}` in the name stands for the smallest number that is free")
}
