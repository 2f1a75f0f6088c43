//! A plugin is replaced while containers are attached: DEL and CHECK run the version that made the attachment.

use std::fs;

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};
use weir_kit::disk::on_small_disk;
use weir_kit::guest::granted;
use weir_kit::{Container, Node, assert_contains, component};

use crate::text;
use crate::uris::UriFixture;

/// The digests under which `pinned-gateway` ran this command, as the audit log has them.
fn ran(node: &Node, command: &str) -> Vec<String> {
    let records = node.audit().into_iter();
    let own = records.filter(|r| r["plugin"] == "pinned-gateway" && r["command"] == command);
    let mut digests: Vec<String> = own
        .filter_map(|record| Some(record["digest"].as_str()?.to_owned()))
        .collect();
    digests.dedup();
    digests
}

/// A grant of `pinned-gateway` for one version, in a file of its own.
fn grant(node: &Node, file: &str, fetched: &Value) -> Result<String> {
    let digest = fetched["digest"].as_str().context("a digest")?;
    let grant = granted("pinned-gateway", digest)?.replacen(
        "name: pinned-gateway",
        &format!("name: {file}"),
        1,
    );
    node.put_grant(format!("{file}.yaml"), &grant)?;
    Ok(digest.to_owned())
}

/// A node with the first version, for which there is a grant in this file; the version's digest, and a container that it
/// has attached.
fn attached_under(file: &str) -> Result<(UriFixture, String, Container)> {
    let (fixture, _, first) = UriFixture::fetched()?;
    let digest = grant(&fixture.node, file, &first)?;
    let container = fixture.node.container()?;
    attach(&fixture.node, "add", &container, 0)?;
    Ok((fixture, digest, container))
}

fn attach(node: &Node, command: &str, container: &Container, status: i32) -> Result<String> {
    let netns = container.netns();
    node.exits(&["net", command, "named", text(&netns)?], status)
}

/// What is kept of replaced versions.
fn kept(node: &Node) -> usize {
    let kept = node.root().join("var/lib/weir/plugins/.kept");
    fs::read_dir(kept).map_or(0, Iterator::count)
}

/// The line of `pinned-gateway` in `weir plugin list`, which ends with this status.
fn listed(node: &Node, status: i32) -> Result<Value> {
    let listed = node.json(&["plugin", "list"], status)?;
    let mut lines = listed.as_array().context("a list")?.iter();
    let line = lines.find(|line| line["name"] == "pinned-gateway");
    line.cloned().context("a line of it")
}

/// `weir plugin list` shows the version that is kept for one attachment, under the grant that names it.
fn check_listed(
    node: &Node,
    (old, old_file): (&str, &str),
    (new, new_file): (&str, &str),
) -> Result<()> {
    let line = listed(node, 0)?;
    let named = |line: &Value, file: &str| {
        let grants = line["grants"].as_array().context("its grants")?;
        let [grant] = &grants[..] else {
            bail!("{line:#}");
        };
        let from = grant["from"].as_str().context("a file")?;
        ensure!(
            from.ends_with(&format!("/{file}")) && grant["state"] == "in-force",
            "{line:#}"
        );
        Ok(())
    };
    assert_eq!(line["digest"], new);
    named(&line, &format!("{new_file}.yaml"))?;
    let kept = line["kept"].as_array().context("kept versions")?;
    assert_eq!(kept.len(), 1, "{line:#}");
    assert_eq!(
        (&kept[0]["digest"], &kept[0]["attachments"]),
        (&json!(old), &json!(1))
    );
    named(&kept[0], &format!("{old_file}.yaml"))?;
    let text = node.exits(&["plugin", "list"], 0)?;
    assert_contains(
        &text,
        &[
            &format!("kept       {old} for 1 attachment\n"),
            &format!("{old_file}.yaml"),
        ],
    );
    Ok(())
}

/// Whatever the files of the two grants are called.
#[test]
fn an_attachment_is_detached_by_the_version_that_made_it() -> Result<()> {
    [("b-old", "a-new"), ("a-old", "b-new")]
        .into_iter()
        .try_for_each(detached_by_its_version)
}

fn detached_by_its_version((old_file, new_file): (&str, &str)) -> Result<()> {
    let (fixture, old, before) = attached_under(old_file)?;
    let node = &fixture.node;
    let after = node.container()?;

    let new = grant(node, new_file, &fixture.update_to(2)?)?;
    assert_ne!(old, new);
    assert_eq!(kept(node), 1);
    attach(node, "add", &after, 0)?;
    check_listed(node, (&old, old_file), (&new, new_file))?;
    assert_eq!(ran(node, "ADD"), [&old[..], &new]);

    attach(node, "check", &before, 0)?;
    attach(node, "del", &before, 0)?;
    assert_eq!(ran(node, "DEL"), [&old[..]]);
    attach(node, "del", &after, 0)?;
    assert_eq!(ran(node, "DEL"), [&old[..], &new]);
    // Nothing is left that another installation would have to keep.
    fixture.update_to(3)?;
    assert_eq!(kept(node), 0);
    Ok(())
}

/// Who goes back to a version that is kept has it once, and its grant is in force.
#[test]
fn a_version_that_is_installed_again_is_not_listed_as_kept() -> Result<()> {
    let (fixture, old, _container) = attached_under("old")?;
    let node = &fixture.node;
    let new = fixture.update_to(2)?["digest"].clone();
    let line = listed(node, 0)?;
    assert_eq!(
        (&line["digest"], &line["kept"][0]["digest"]),
        (&new, &json!(old))
    );
    // To those who ask which grants there are, it is one for a kept version, and nothing to fix.
    let grants = node.json(&["grants", "list", "--plugin", "pinned-gateway"], 0)?;
    assert_eq!(grants[0]["state"], "for-kept-version", "{grants:#}");
    fixture.publish_version(1)?;
    fixture.fetch(&["--update", "--allow-downgrade"])?;
    let line = listed(node, 0)?;
    assert_eq!(line["digest"], old);
    assert_eq!(line["kept"], Value::Null, "{line:#}");
    assert_eq!(line["grants"][0]["state"], "in-force", "{line:#}");
    Ok(())
}

/// A grant that does not apply does not look as if it did: for another component, or beside a document that is not valid.
#[test]
fn a_grant_is_listed_with_its_state() -> Result<()> {
    let (fixture, digest, _container) = attached_under("own")?;
    let node = &fixture.node;
    let other = format!("sha256:{}", "0".repeat(64));
    grant(node, "other", &json!({ "digest": other }))?;
    let states = |line: &Value| [0, 1].map(|at| line["grants"][at]["state"].clone());
    let line = listed(node, 0)?;
    assert_eq!(states(&line), ["other-digest", "in-force"], "{line:#}");
    let because = line["grants"][0]["because"].as_str().unwrap_or_default();
    assert_contains(because, &[&other, &digest]);
    let text = node.exits(&["plugin", "list"], 0)?;
    assert_contains(&text, &["other.yaml (other digest), ", "own.yaml\n"]);
    assert_contains(&text, &["built in   sha256:", "grant      shipped\n"]);

    node.put_grant("bad.yaml", "not a grant")?;
    let line = listed(node, 3)?;
    assert_eq!(states(&line), ["other-digest", "stopped"], "{line:#}");
    Ok(())
}

/// Another version does not take the place of a damaged one, and nobody is told to remove the good one.
#[test]
fn a_damaged_kept_version_is_named() -> Result<()> {
    let (fixture, old, container) = attached_under("old")?;
    let node = &fixture.node;
    grant(node, "new", &fixture.update_to(2)?)?;
    let kept = node.root().join("var/lib/weir/plugins/.kept");
    let version = fs::read_dir(&kept)?.next().context("a version")??.path();
    for file in ["manifest.json", "code.cwasm"] {
        let whole = fs::read(version.join(file))?;
        fs::remove_file(version.join(file))?;
        let line = listed(node, 3)?;
        let netns = container.netns();
        let said = node.stderr(&["net", "check", "named", text(&netns)?], 1)?;
        for error in [
            line["kept"][0]["error"].as_str().context("an error")?,
            &said,
        ] {
            assert_contains(error, &["damaged", &old, "install that component again"]);
            assert!(!error.contains("plugin remove"), "{error}");
        }
        fs::write(version.join(file), whole)?;
    }
    attach(node, "check", &container, 0)?;
    let removed = node.json(&["plugin", "remove", "pinned-gateway"], 0)?;
    assert_eq!(removed["attachments"], 1);
    Ok(())
}

/// Also of a plugin that stays as it is, and of a network that was not asked about.
#[test]
fn a_fetch_names_the_networks_that_no_grant_covers() -> Result<()> {
    let (fixture, _, first) = UriFixture::fetched()?;
    let node = &fixture.node;
    let kept = || -> Result<Value> {
        let kept = fixture.fetch(&[])?;
        ensure!(kept["state"] == "kept", "{kept:#}");
        Ok(kept["not_covered"].clone())
    };
    assert_eq!(kept()?, json!(["named"]));
    grant(node, "own", &first)?;
    assert_eq!(kept()?, Value::Null);
    let updated = fixture.update_to(2)?;
    assert_eq!(updated["not_covered"], json!(["named"]), "{updated:#}");
    node.put_grant("bad.yaml", "not a grant")?;
    let text = node.exits(&["net", "fetch", "named"], 0)?;
    assert_contains(&text, &["kept plugin pinned-gateway", "bad.yaml"]);
    let kept = fixture.fetch(&[])?;
    assert_contains(kept["error"].as_str().unwrap_or_default(), &["bad.yaml"]);
    assert_eq!(kept["not_covered"], json!(["named"]));
    Ok(())
}

/// A version that may not run any more does not, not even to clean up: the one in its place does.
#[test]
fn a_kept_version_runs_under_a_grant_of_its_own_alone() -> Result<()> {
    let (fixture, _, container) = attached_under("b-old")?;
    let node = &fixture.node;
    let new = grant(node, "a-new", &fixture.update_to(2)?)?;
    fs::remove_file(node.grants().join("b-old.yaml"))?;
    attach(node, "del", &container, 0)?;
    assert_eq!(ran(node, "DEL"), [new]);
    Ok(())
}

/// An update needs room for both versions. Without it the old one stays, whole and in use, and nothing else.
#[test]
fn an_update_on_a_full_disk_leaves_the_old_version() -> Result<()> {
    let (fixture, _) = UriFixture::with_plugin()?;
    let node = &fixture.node;
    let plugins = node.root().join("var/lib/weir/plugins");
    on_small_disk(plugins.clone(), "size=8m,mode=755", || {
        let old = grant(node, "old", &fixture.fetch(&[])?)?;
        fixture.publish_version(2)?;
        let ballast = plugins.join(".ballast");
        fs::write(&ballast, vec![0; 8 << 20]).expect_err("the disk is full");
        let said = fixture.refused(&["--update"])?;
        assert_contains(&said, &["network `named`", "No space left on device"]);
        assert_eq!(fixture.fetch(&[])?["digest"], old);
        let container = node.container()?;
        attach(node, "add", &container, 0)?;
        attach(node, "del", &container, 0)?;

        fs::remove_file(&ballast)?;
        assert_eq!(fixture.fetch(&["--update"])?["state"], "updated");
        let left = fs::read_dir(&plugins)?.map(|entry| Ok(entry?.file_name()));
        let mut left = left.collect::<Result<Vec<_>>>()?;
        left.sort();
        assert_eq!(left, [".attached", ".key", "pinned-gateway"]);
        Ok(())
    })
}

/// A kill after the exchange leaves the replaced version where the next installation finds it.
#[test]
fn a_kill_does_not_lose_a_version_that_is_needed() -> Result<()> {
    let (fixture, old, container) = attached_under("b-old")?;
    let node = &fixture.node;
    let plugins = node.root().join("var/lib/weir/plugins");
    fixture.update_to(2)?;
    let kept_as = fs::read_dir(plugins.join(".kept"))?
        .next()
        .context("one")??
        .path();
    fs::rename(kept_as, plugins.join(".new"))?;
    let file = component("route-override");
    node.weir(&["plugin", "add", text(&file)?, "--name", "another"])?;
    assert_eq!(kept(node), 1);
    attach(node, "del", &container, 0)?;
    assert_eq!(ran(node, "DEL"), [old]);

    // GC forgets what is not valid.
    let next = fixture.fetch(&[])?;
    grant(node, "a-new", &next)?;
    attach(node, "add", &container, 0)?;
    let newest = fixture.update_to(3)?;
    grant(node, "0-newest", &newest)?;
    assert_eq!(kept(node), 1);
    node.exits(&["net", "gc", "named"], 0)?;
    fixture.update_to(1)?;
    assert_eq!(kept(node), 0);
    Ok(())
}
