//! Whose words a network's configuration is: the node's owner's, a tenant's, a pod's.

use weir_cni::PluginConfig;
use weir_grant::section::Request;

/// The environment variable by which a native plugin that weir runs hands on where its own configuration comes
/// from, to plugins that it calls in turn: the definition, or nothing for the node's own.
pub(super) const MADE_BY: &str = "WEIR_NETWORK_SOURCE";

/// Where a network's configuration comes from. As it is by default: from a file of the node's owner.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Source {
    /// The NetworkAttachmentDefinition whose text it is, as `namespace/name`.
    pub definition: Option<String>,
    /// What the pod asks for by annotation, and is told to the plugins.
    pub asked_by_pod: Vec<Request>,
}

impl Source {
    /// What people, grants and the audit log know the network by: a name that a tenant chose could be another
    /// network's.
    pub fn granted_as<'a>(&'a self, name: &'a str) -> &'a str {
        self.definition.as_deref().unwrap_or(name)
    }

    /// What one plugin is told of what the pod asks for: all that is an argument, and of the capabilities those
    /// that it declares.
    pub(super) fn asked_of(&self, config: &PluginConfig) -> Vec<Request> {
        let runtime_config = config.as_map().get("runtimeConfig");
        let is_told = |request: &Request| {
            let is_argument = !matches!(
                request,
                Request::PortMappings | Request::Bandwidth | Request::InfinibandGuid
            );
            is_argument || runtime_config.is_some_and(|c| c.get(request.word()).is_some())
        };
        self.asked_by_pod.iter().copied().filter(is_told).collect()
    }
}
