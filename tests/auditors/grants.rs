//! What a grant means on a node: for one of its networks, and for what is attached there.

use anyhow::{Context, Result};
use serde_json::json;
use weir_kit::{Grant, assert_contains};

use super::attachments::attached;
use super::{PLUGIN, node};

#[test]
fn a_grant_is_shown_for_a_network() -> Result<()> {
    let node = node()?;
    let on = |network: &'static str| ["grants", "show", "bridge", "--network", network];
    let own = node.stdout(&on("pods"), 0)?;
    assert_contains(
        &own,
        &[
            "may do on the network pods",
            "change interfaces of kind veth, on the host\n",
            "On this network, a pod may request ips",
        ],
    );
    assert!(!own.contains("where weir made it for this"), "{own}");
    let tenants = node.stdout(&on("lab/data"), 0)?;
    assert!(tenants.contains("where weir made it for this"), "{tenants}");
    assert!(!tenants.contains("a pod may request"), "{tenants}");
    assert_contains(
        &node.stdout(&["grants", "show", "bridge"], 0)?,
        &[
            "of every namespace",
            "net.ipv6.conf.*.accept_ra (every interface, `all` and `default`)",
        ],
    );

    // One that covers nothing else.
    node.stdout(&["grants", "show", PLUGIN, "--network", "pods"], 0)?;
    let errors = node.stderr(&["grants", "show", PLUGIN, "--network", "blue"], 3)?;
    let told = "no grant of plugin `misbehaving` covers the network `blue`";
    assert_contains(&errors, &[told]);
    Ok(())
}

#[test]
fn a_suggestion_is_made_for_a_network() -> Result<()> {
    let (node, _containers) = attached()?;
    let suggested = node.json(&["grants", "suggest", "bridge", "--network", "pods"], 0)?;
    assert_eq!(suggested["document"]["spec"]["networks"], json!(["pods"]));
    let errors = node.stderr(&["grants", "suggest", "bridge", "--network", "blue"], 1)?;
    assert!(errors.contains("on network `blue`"), "{errors}");
    Ok(())
}

#[test]
fn a_check_tells_what_reaches_others() -> Result<()> {
    let (node, _containers) = attached()?;
    let grant = Grant {
        capabilities: r#"{ link: [{ namespace: host, kinds: [veth], verbs: [update] }],
            route: [{ namespace: host, links: [cni0], destinations: [10.61.0.0/16], verbs: [create] }],
            firewalld: [{ zones: [trusted], verbs: [create] }],
            sysctl: [{ namespace: host, keys: [net.ipv4.conf.all.rp_filter], values: ["0"], verbs: [write] }] }"#,
        ..Grant::nothing(PLUGIN)
    };
    let digest = node.install_plugin(PLUGIN)?;
    let file = node.write("wide.yaml", grant.document(&digest))?;
    let file = file.to_str().context("a path is text")?;
    let checked = node.json(&["grants", "check", "--strict", file], 3)?;
    let remarks = checked[0]["remarks"].as_array().context("a list")?;
    let codes: Vec<&str> = remarks
        .iter()
        .filter_map(|one| one["code"].as_str())
        .collect();
    for code in [
        "every-network",
        "every-veth",
        "trusted-zone",
        "every-link",
        "overlapping-routes",
    ] {
        assert!(codes.contains(&code), "{code}: {codes:?}");
    }
    let overlap = remarks
        .iter()
        .find(|one| one["code"] == "overlapping-routes");
    let text = overlap
        .and_then(|one| one["text"].as_str())
        .context("a text")?;
    assert!(text.contains("10.61.9.0/24 of network `pods`"), "{text}");
    Ok(())
}
