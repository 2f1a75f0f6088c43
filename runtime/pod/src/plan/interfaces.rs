//! The interfaces of a pod: `CNI_IFNAME` for the default network, the requested names, and `net1`, `net2`, …
//! (sections 4.1.2.1.5 and 4.2.1).

use weir_cni::Error;

use super::super::codes;
use super::Wanted;

/// The loopback device is there before any network.
const LOOPBACK: &str = "lo";

/// A name for each network, none twice. A generated name has the number of the attachment's place, so that it
/// does not change with the names that others ask for, or the next number that nobody has.
///
/// Errors: `codes::SELECTION` where a requested name is taken by a network before.
pub(super) fn names(ifname: &str, networks: &[Wanted]) -> Result<Vec<String>, Error> {
    let requested: Vec<Option<&str>> = networks.iter().map(requested).collect();
    let mut taken: Vec<String> = vec![LOOPBACK.to_owned()];
    let mut names = Vec::with_capacity(networks.len());
    for (place, network) in networks.iter().enumerate() {
        let name = match (place, requested[place]) {
            (0, _) => ifname.to_owned(),
            (_, Some(name)) => free(name, network, &taken, &names, networks)?,
            (_, None) => generated(place, &taken, &requested),
        };
        taken.push(name.clone());
        names.push(name);
    }
    Ok(names)
}

fn requested(network: &Wanted) -> Option<&str> {
    network.element.as_ref()?.interface.as_deref()
}

fn generated(place: usize, taken: &[String], requested: &[Option<&str>]) -> String {
    (place..)
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
        Some(place) => format!("network `{}`", networks[place].name()),
        None => "the loopback device".to_owned(),
    };
    Err(Error::new(
        codes::SELECTION,
        format!(
            "network `{}`: interface: {name:?} is the interface of {holder} already",
            network.name()
        ),
    ))
}
