//! The interfaces of a pod: `CNI_IFNAME` for the default network, the requested names, and `net1`, `net2`, …
//! (sections 4.1.2.1.5 and 4.2.1).

use weir_cni::Error;

use super::super::codes;
use super::Wanted;

/// Every container has the loopback device.
const LOOPBACK: &str = "lo";

/// A unique name for each network. A generated name has the index of the attachment as its number, so that it does not depend
/// on the names of others, or the next free number.
///
/// Errors: `codes::SELECTION` if an earlier network has a requested name.
pub(super) fn names(ifname: &str, networks: &[Wanted]) -> Result<Vec<String>, Error> {
    let requested: Vec<Option<&str>> = networks.iter().map(requested).collect();
    let mut taken: Vec<String> = vec![LOOPBACK.to_owned()];
    let mut names = Vec::with_capacity(networks.len());
    for (index, network) in networks.iter().enumerate() {
        let name = match (index, requested[index]) {
            (0, _) => ifname.to_owned(),
            (_, Some(name)) => free(name, network, &taken, &names, networks)?,
            (_, None) => generated(index, &taken, &requested),
        };
        taken.push(name.clone());
        names.push(name);
    }
    Ok(names)
}

fn requested(network: &Wanted) -> Option<&str> {
    network.element.as_ref()?.interface.as_deref()
}

fn generated(index: usize, taken: &[String], requested: &[Option<&str>]) -> String {
    (index..)
        .map(|number| format!("net{number}"))
        .find(|name| !taken.contains(name) && !requested.contains(&Some(name.as_str())))
        .expect("there are more numbers than networks")
}

fn free(
    name: &str,
    network: &Wanted,
    taken: &[String],
    names: &[String],
    networks: &[Wanted],
) -> Result<String, Error> {
    if !taken.iter().any(|taken| taken == name) {
        return Ok(name.to_owned());
    }
    let holder = names.iter().position(|taken| taken == name);
    let holder = match holder {
        Some(index) => format!("network `{}`", networks[index].name()),
        None => "the loopback device".to_owned(),
    };
    Err(Error::new(
        codes::SELECTION,
        format!(
            "network `{}`: interface: `{name}` is already the interface of {holder}",
            network.name()
        ),
    ))
}
