//! Where a network's configuration comes from: the node's owner, a tenant, a pod.

use weir_cni::PluginConfig;
use weir_grant::section::Request;

/// The environment variable with the source of the configuration of a native plugin, for plugins that it calls in turn:
/// the definition, or nothing for the node's own.
pub(super) const MADE_BY: &str = "WEIR_NETWORK_SOURCE";

/// Where a network's configuration comes from; by default a file of the node's owner.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Source {
    /// The NetworkAttachmentDefinition whose text it is, as `namespace/name`.
    pub definition: Option<String>,
    /// What the pod requests by annotation, and the plugins get.
    pub requested_by_pod: Vec<Request>,
}

impl Source {
    /// Returns the network's name for people, grants and the audit log. A name that a tenant chose could be another
    /// network's.
    pub fn granted_as<'a>(&'a self, name: &'a str) -> &'a str {
        self.definition.as_deref().unwrap_or(name)
    }

    /// The pod's requests that one plugin gets: all arguments, and the capabilities that it declares.
    pub(super) fn requested_of(&self, config: &PluginConfig) -> Vec<Request> {
        let runtime_config = config.as_map().get("runtimeConfig");
        let is_told = |request: &Request| {
            let is_argument = !matches!(
                request,
                Request::PortMappings | Request::Bandwidth | Request::InfinibandGuid
            );
            is_argument || runtime_config.is_some_and(|c| c.get(request.word()).is_some())
        };
        self.requested_by_pod
            .iter()
            .copied()
            .filter(is_told)
            .collect()
    }
}
