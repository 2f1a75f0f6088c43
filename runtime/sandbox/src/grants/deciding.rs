//! Which of a node's grants decides for a plugin on a network.

use weir_grant::Document;

use super::{Loaded, Origin};

/// Why no grant decides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Undecided<G> {
    /// None is about the plugin.
    NoGrant,
    /// These are about the plugin, and cover other networks.
    OtherNetworks(Vec<G>),
}

/// Returns the first grant that is about a plugin and covers a network, as `covers` tells. Whether the plugin runs under it
/// is up to its digest.
///
/// `grants` are all of the node, in order: the administrator's by file name, then the shipped ones, of which those that are
/// replaced do not count.
pub fn deciding<G: AsRef<Loaded>>(
    grants: impl IntoIterator<Item = G>,
    plugin: &str,
    covers: impl Fn(&Document) -> bool,
) -> Result<G, Undecided<G>> {
    let is_of_plugin = |grant: &G| grant.as_ref().document.spec.plugin.name == plugin;
    let mut passed: Vec<G> = Vec::new();
    for grant in grants {
        if (passed.iter()).any(|earlier| replaces(earlier.as_ref(), grant.as_ref())) {
            continue;
        }
        if is_of_plugin(&grant) && covers(&grant.as_ref().document) {
            return Ok(grant);
        }
        passed.push(grant);
    }
    passed.retain(is_of_plugin);
    Err(if passed.is_empty() {
        Undecided::NoGrant
    } else {
        Undecided::OtherNetworks(passed)
    })
}

/// Whether a grant replaces another: the administrator's a shipped one with its name, whatever plugin it is about.
pub fn replaces(one: &Loaded, other: &Loaded) -> bool {
    other.origin == Origin::Shipped
        && one.origin != Origin::Shipped
        && one.document.metadata.name == other.document.metadata.name
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    fn grant(origin: Origin, name: &str, plugin: &str, networks: &str) -> Loaded {
        let text = format!(
            "{{ apiVersion: weir.dev/v1alpha1, kind: PluginGrant, metadata: {{ name: {name} }}, \
             spec: {{ plugin: {{ name: {plugin} }}, networks: {networks} }} }}"
        );
        let document = Document::read(text.as_bytes()).expect("valid");
        Loaded { document, origin }
    }

    #[test]
    fn the_first_grant_that_covers_a_network_decides() {
        let own = |name: &str, plugin: &str, networks: &str| {
            let file = PathBuf::from(format!("{name}.yaml"));
            grant(Origin::File(file), name, plugin, networks)
        };
        let blue = own("blue", "static", "[blue]");
        let all = own("all", "static", "['*']");
        let replacing = own("static", "loopback", "['*']");
        let shipped = grant(Origin::Shipped, "static", "static", "['*', '*/*']");
        for (grants, network, expected) in [
            (vec![&blue, &all, &shipped], "blue", Ok(&blue)),
            (vec![&blue, &all, &shipped], "red", Ok(&all)),
            (vec![&blue, &shipped], "red", Ok(&shipped)),
            (
                vec![&blue, &replacing, &shipped],
                "red",
                Err(Undecided::OtherNetworks(vec![&blue])),
            ),
            (vec![&replacing, &shipped], "red", Err(Undecided::NoGrant)),
            (
                vec![&blue, &all],
                "a/b",
                Err(Undecided::OtherNetworks(vec![&blue, &all])),
            ),
            (vec![&blue, &shipped], "a/b", Ok(&shipped)),
        ] {
            let decided = deciding(grants, "static", |d| d.covers_network(network));
            assert_eq!(decided, expected, "{network}");
        }
    }
}
