//! Which of a node's grants decides for a plugin on a network.

use weir_grant::Document;
use weir_grant::document::Digest;

use super::{Loaded, Origin};

/// Why no grant decides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Undecided<G> {
    /// None is about the plugin.
    NoGrant,
    /// These are about the plugin, and cover other networks.
    OtherNetworks(Vec<G>),
}

/// Returns the grant that decides for a plugin on a network, as `covers` tells: the first about it, except that one which names
/// another digest than the `component` gives way to one that names the component's, so that grants for two versions can stand
/// side by side. Whether the plugin runs under it is up to its digest.
///
/// `grants` are all of the node, in order: the administrator's by file name, then the shipped ones, of which those that are
/// replaced do not count.
pub fn deciding<G: AsRef<Loaded>>(
    grants: impl IntoIterator<Item = G>,
    plugin: &str,
    component: Option<&Digest>,
    covers: impl Fn(&Document) -> bool,
) -> Result<G, Undecided<G>> {
    let is_of_plugin = |grant: &G| grant.as_ref().document.spec.plugin.name == plugin;
    let mut passed: Vec<G> = Vec::new();
    let mut for_another = None;
    for grant in grants {
        if (passed.iter()).any(|earlier| replaces(earlier.as_ref(), grant.as_ref())) {
            continue;
        }
        let document = &grant.as_ref().document;
        if is_of_plugin(&grant) && covers(document) {
            let named = document.spec.plugin.digest.as_ref();
            let is_for_another = component.is_some() && named.is_some() && named != component;
            let names_it = component.is_some() && named == component;
            if names_it || for_another.is_none() && !is_for_another {
                return Ok(grant);
            }
            for_another = for_another.or(Some(passed.len()));
        }
        passed.push(grant);
    }
    if let Some(first) = for_another {
        return Ok(passed.swap_remove(first));
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
            let decided = deciding(grants, "static", None, |d| d.covers_network(network));
            assert_eq!(decided, expected, "{network}");
        }
    }

    /// During an update, grants for both versions stand side by side, whatever their files are called. Nothing else lets a
    /// grant pass: it may be one that narrows the next.
    #[test]
    fn a_grant_for_the_component_goes_before_those_for_others() {
        let digest = |digit: &str| format!("sha256:{}", digit.repeat(64));
        let own = |digit: &str, networks: &str| {
            let file = Origin::File(PathBuf::from(format!("{digit}{networks}")));
            let mut grant = grant(file, "any", "labels", networks);
            grant.document.spec.plugin.digest = digest(digit).parse().ok();
            grant
        };
        let (old, new, of_blue) = (own("1", "['*']"), own("2", "['*']"), own("2", "[blue]"));
        let any = own("", "['*']");
        let shipped = grant(Origin::Shipped, "labels", "labels", "['*']");
        for (grants, component, expected) in [
            (vec![&old, &new], "2", &new),
            (vec![&new, &old], "2", &new),
            (vec![&old, &new], "1", &old),
            (vec![&old, &new], "3", &old),
            (vec![&old, &any, &new], "2", &new),
            (vec![&any, &new], "2", &any),
            (vec![&old, &of_blue], "2", &old),
            (vec![&old, &any, &shipped], "2", &old),
        ] {
            let component = digest(component).parse().expect("a digest");
            let covers = |document: &Document| document.covers_network("red");
            let decided = deciding(grants, "labels", Some(&component), covers);
            assert_eq!(decided, Ok(expected), "{component}");
        }
    }
}
