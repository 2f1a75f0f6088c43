//! Which networks a pod may select (section 7.4): with `namespaceIsolation` those of its own namespace and of
//! `globalNamespaces`.

use weir_cni::Error;

use super::super::cluster::Pod;
use super::super::codes;
use super::super::configuration::Configuration;
use super::super::reference::Reference;

/// Errors: `codes::RESTRICTED`, naming the network, the pod's namespace and what would allow it.
pub(super) fn check(
    pod: &Pod,
    network: &Reference,
    configuration: &Configuration,
) -> Result<(), Error> {
    let isolation = &configuration.isolation;
    let is_own = network.namespace == pod.namespace;
    if !isolation.is_on || is_own || isolation.global.contains(&network.namespace) {
        return Ok(());
    }
    let details = if isolation.global.is_empty() {
        "no namespace is in globalNamespaces".to_owned()
    } else {
        format!("globalNamespaces: {}", isolation.global.join(", "))
    };
    Err(Error::new(
        codes::RESTRICTED,
        format!(
            "network `{network}`: namespaceIsolation keeps a pod of namespace `{}` to the networks of its own \
             namespace and of globalNamespaces",
            pod.namespace
        ),
    )
    .with_details(details))
}
