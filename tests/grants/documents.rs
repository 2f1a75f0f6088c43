//! Documents in force, replaced, damaged, or writable by others.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown, symlink};

use anyhow::{Context, Result};
use serde_json::json;
use weir_grant::reading::MOST_BYTES;
use weir_kit::{Grant, assert_contains, assert_contains_without, weir};

use super::{NodeWithPlugin, PLUGIN};

#[test]
fn no_grant_no_run() -> Result<()> {
    let fixture = NodeWithPlugin::create()?;
    let digest = fixture.node.digest(PLUGIN)?;
    fixture.refused(
        PLUGIN,
        202,
        &[PLUGIN, &digest, "no grant", "weir grants new misbehaving"],
    );

    let other = format!("sha256:{}", "0".repeat(64));
    fixture
        .node
        .put_grant("g.yaml", &Grant::nothing(PLUGIN).document(&other))?;
    fixture.refused(PLUGIN, 202, &[&digest, &other, "g.yaml"]);

    let document = Grant::nothing(PLUGIN).document(&digest);
    let no_digest = document.replace(&format!("    digest: {digest}\n"), "");
    assert_ne!(no_digest, document);
    fixture.node.put_grant("g.yaml", &no_digest)?;
    fixture.refused(PLUGIN, 202, &["names no digest", &digest]);
    Ok(())
}

#[test]
fn a_grant_is_for_its_networks() -> Result<()> {
    let fixture = NodeWithPlugin::create()?;
    let of = |networks| Grant {
        networks,
        ..Grant::nothing(PLUGIN)
    };
    for networks in [r#"["blue"]"#, r#"["gree", "green?", "Green"]"#, "[]"] {
        fixture.grant(&of(networks))?;
        fixture.refused(
            PLUGIN,
            202,
            &["covers the network `green`", "misbehaving.yaml"],
        );
    }
    fixture.grant(&of(r#"["blue", "g*n"]"#))?;
    fixture.run(PLUGIN, "ADD")?.result();
    Ok(())
}

/// A document that is not understood may be the one that narrows another: nothing runs, also no
/// plugin that is built in.
#[test]
fn documents_that_are_not_valid_stop_everything() -> Result<()> {
    let fixture = NodeWithPlugin::granted()?;
    let digest = fixture.node.digest(PLUGIN)?;
    let valid = Grant::nothing("other").document(&digest);
    let broken = [
        (valid.replace("  networks:", "  network:"), "network"),
        (
            valid.replace("capabilities: {}", "capabilities: { links: [] }"),
            "links",
        ),
        (
            valid.replace(
                "capabilities: {}",
                "capabilities: { link: [ { verb: [read] } ] }",
            ),
            "verb",
        ),
        (
            valid.replace(
                "capabilities: {}",
                "capabilities: { traffic: [ { disciplines: [fq_codel] } ] }",
            ),
            "fq_codel",
        ),
        (
            valid.replace(
                "capabilities: {}",
                "capabilities: { conntrack: [ { ports: [9-1] } ] }",
            ),
            "9-1",
        ),
        (valid.replace("limits: {}", "limits: { time: 61s }"), "61s"),
        (
            valid.replace("limits: {}", "limits: { memory: much }"),
            "much",
        ),
        (valid.replace("v1alpha1", "v9"), "v9"),
        (valid.replace("PluginGrant", "Pod"), "Pod"),
        (valid.replace("sha256:", "md5:"), "md5:"),
        (valid.replace(r#"["*"]"#, r#"["[a"]"#), "[a"),
        (
            valid.replace(
                "capabilities: {}",
                "capabilities: { link: [ { verbs: [announce] } ] }",
            ),
            "`announce` is not a verb of `link`",
        ),
        (format!("{valid}---\n{valid}"), "a second document"),
        ("{".to_owned(), "z-other.yaml:1:1: "),
        (String::new(), "the document is empty"),
        (
            "#".repeat(MOST_BYTES + 1),
            "z-other.yaml: the document is too large",
        ),
    ];
    for (document, word) in broken {
        fixture.node.put_grant("z-other.yaml", &document)?;
        let words = ["z-other.yaml", "not valid", word, "no plugin runs"];
        fixture.refused(PLUGIN, 202, &words);
        fixture.refused("loopback", 202, &words);
        let checked = fixture.node.grants().join("z-other.yaml");
        let output =
            fixture
                .node
                .command(&["grants", "check", checked.to_str().context("text")?])?;
        assert_eq!(output.status.code(), Some(1), "{output:?}");
    }
    // Line and column lead to each mistake.
    let two = valid
        .replace("  networks:", "  network:")
        .replace("PluginGrant", "Pod");
    fixture.node.put_grant("z-other.yaml", &two)?;
    let first = "z-other.yaml:2:7: unknown kind `Pod`; expected `PluginGrant`";
    let second = "z-other.yaml:9:3: unknown key `network`; expected `plugin`, `networks`, \
                  `capabilities`, `tenants` or `limits`; did you mean `networks`?";
    fixture.refused(PLUGIN, 202, &[first, second]);
    fs::write(fixture.node.grants().join("z-other.yaml"), b"kind: \xff\n")?;
    let no_text = "z-other.yaml:1:7: byte 0xff is not UTF-8; expected text in UTF-8";
    fixture.refused(PLUGIN, 202, &[no_text]);
    fs::remove_file(fixture.node.grants().join("z-other.yaml"))?;
    // Other files are no grants.
    fixture.node.put_grant("z-other.yaml.bak", "{")?;
    fixture.run(PLUGIN, "ADD")?.result();
    Ok(())
}

/// What others can write may be what somebody else allows himself: nothing runs, also no plugin that is built in.
#[test]
fn grants_that_others_can_write_stop_everything() -> Result<()> {
    let fixture = NodeWithPlugin::granted()?;
    let grants = fixture.node.root().join("etc/weir/grants.d");
    let file = grants.join(format!("{PLUGIN}.yaml"));
    let configuration = grants.parent().context("it is below a directory")?;
    for (path, unsafe_mode, mode) in [
        (file.as_path(), 0o646, 0o644),
        (&file, 0o664, 0o644),
        (&grants, 0o777, 0o755),
        (&grants, 0o1777, 0o755),
        (configuration, 0o775, 0o755),
    ] {
        let shown = path.display().to_string();
        fs::set_permissions(path, Permissions::from_mode(unsafe_mode))?;
        let words = ["is not trusted", &shown, &format!("chmod go-w {shown}")];
        fixture.refused(PLUGIN, 202, &words);
        fixture.refused("loopback", 202, &words);
        fs::set_permissions(path, Permissions::from_mode(mode))?;
        fixture.run(PLUGIN, "ADD")?.result();
    }
    Ok(())
}

mod needs_root {
    use super::*;

    #[test]
    fn a_grant_that_is_another_users_stops_everything() -> Result<()> {
        let fixture = NodeWithPlugin::granted()?;
        let grants = fixture.node.root().join("etc/weir/grants.d");
        let file = grants.join(format!("{PLUGIN}.yaml"));
        for path in [&file, &grants] {
            chown(path, Some(1000), None)?;
            let shown = path.display().to_string();
            let words = ["belongs to user 1000", &format!("chown 0 {shown}")];
            fixture.refused("loopback", 202, &words);
            chown(path, Some(0), None)?;
            fixture.run(PLUGIN, "ADD")?.result();
        }
        // A link in a directory of the node's owner is his; what it leads to must be so as well.
        let elsewhere = fixture.node.root().join("elsewhere");
        fs::create_dir(&elsewhere)?;
        chown(&elsewhere, Some(1000), None)?;
        fs::rename(&file, elsewhere.join("grant"))?;
        symlink("../../../elsewhere/grant", &file)?;
        fixture.refused("loopback", 202, &["belongs to user 1000", "elsewhere`"]);
        Ok(())
    }
}

/// Somebody who can exchange the directory can exchange the plugin.
#[test]
fn plugins_below_a_directory_that_others_can_write_are_not_run() -> Result<()> {
    let fixture = NodeWithPlugin::granted()?;
    let plugins = fixture.node.installed(PLUGIN);
    let plugins = plugins.parent().context("it is below a directory")?;
    fs::set_permissions(plugins, Permissions::from_mode(0o777))?;
    fixture.refused(PLUGIN, 200, &["is not trusted", "chmod go-w"]);
    Ok(())
}

#[test]
fn an_administrators_document_replaces_the_shipped_one() -> Result<()> {
    let fixture = NodeWithPlugin::create()?;
    let shipped = fixture
        .node
        .weir(&["grants", "show", "--yaml", "loopback"])?;
    assert!(shipped.starts_with("# shipped\n"), "{shipped}");
    let add = || {
        let config = json!({ "cniVersion": "1.1.0", "name": "green", "type": "loopback" });
        let mut call = weir(
            &fixture.node,
            "loopback",
            "ADD",
            &fixture.container,
            &config,
        );
        call.set("CNI_IFNAME", "lo");
        fixture.node.run(&call)
    };
    add()?.result();
    let narrow = "apiVersion: weir.dev/v1alpha1\nkind: PluginGrant\nmetadata: { name: loopback }\n\
                  spec: { plugin: { name: loopback }, networks: ['*'] }\n";
    fixture.node.put_grant("loopback.yaml", narrow)?;
    let error = add()?.error();
    assert_eq!(error["code"], 100, "{error:#}");
    let shown = fixture
        .node
        .weir(&["grants", "show", "--yaml", "loopback"])?;
    assert_contains_without(&shown, &["loopback.yaml"], &["shipped"]);
    Ok(())
}

/// What `weir grants new` prints is a grant that is in force when it is saved.
#[test]
fn a_new_grant_can_be_saved_as_it_is() -> Result<()> {
    let fixture = NodeWithPlugin::create()?;
    // Without a network that names the plugin, none may use it.
    let printed = fixture.node.weir(&["grants", "new", PLUGIN])?;
    assert_contains(&printed, &["networks: []", "--suggest-grant"]);
    let config = json!({ "cniVersion": "1.1.0", "name": "green", "plugins": [{ "type": PLUGIN }] });
    fixture.node.put_network("green.conflist", &config)?;
    let printed = fixture.node.weir(&["grants", "new", PLUGIN])?;
    assert_contains(&printed, &["networks: [green]", "limits: { memory: 64MiB,"]);
    assert!(printed.contains(&fixture.node.digest(PLUGIN)?), "{printed}");
    assert_contains(
        &printed,
        &[
            "link:",
            "address:",
            "traffic:",
            "conntrack:",
            "store:",
            "ipam:",
        ],
    );
    fixture.node.put_grant("new.yaml", &printed)?;
    let file = fixture.node.grants().join("new.yaml");
    let checked = fixture
        .node
        .weir(&["grants", "check", file.to_str().context("text")?])?;
    assert_contains(&checked, &["a valid grant of plugin misbehaving"]);
    let listed = fixture.node.weir(&["grants", "list"])?;
    assert_contains(
        &listed,
        &[
            "bridge",
            "host-local",
            "loopback",
            "misbehaving",
            "shipped",
            "new.yaml",
        ],
    );
    fixture.run(PLUGIN, "ADD")?.result();
    Ok(())
}
