//! URIs that lead elsewhere, or to what may not be installed: one error, and nothing is installed.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use anyhow::{Context, Result};
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;
use serde_json::json;
use weir_kit::{assert_contains, assert_lacks, component};

use crate::registry::Registry;
use crate::text;
use crate::uris::{UriFixture, list, other};

#[test]
fn what_is_no_plugins_uri_is_refused() -> Result<()> {
    let fixture = UriFixture::create()?;
    let container = fixture.node.container()?;
    let netns = container.netns();
    let add = ["net", "add", "named", crate::text(&netns)?];
    for (uri, why) in [
        ("ftp://r.example/x.wasm", "unknown scheme"),
        ("https://user:hunter2@r.example/x.wasm", "has credentials"),
        ("https://r.example/x.wasm?token=hunter2", "a query"),
        ("https://r.example", "names nothing"),
        ("file://r.example/x.wasm", "`file:///…`"),
        ("file:///a/../x.wasm", "`..`"),
        ("oci:///x:1", "names no registry"),
        ("https://r.example/\u{202e}x", "a URI cannot"),
    ] {
        fixture.put_network(uri)?;
        let said = fixture.refused(&[])?;
        assert_contains(&said, &["network `named`", why]);
        let at_add = fixture.node.stderr(&add, 1)?;
        assert_contains(&at_add, &["205", why]);
        assert_lacks(&(said + &at_add), &["hunter2", "\u{202e}", "panicked"]);
    }
    for uri in ["oci://registry/x:1", "https://user:hunter2/x.wasm"] {
        fixture.put_network(uri)?;
        let said = fixture.refused(&[])?;
        assert_lacks(&said, &["panicked", "Connection refused"]);
    }
    assert!(fixture.installed()?.is_empty());
    Ok(())
}

#[test]
fn a_file_must_be_roots_own() -> Result<()> {
    let fixture = UriFixture::create()?;
    let bytes = fs::read(component("pinned-gateway"))?;
    let file = fixture.node.write("srv/pinned-gateway.wasm", &bytes)?;
    let directory = fixture.node.root().join("srv");
    fixture.put_network("file:///srv/pinned-gateway.wasm")?;
    for (path, mode) in [(&file, 0o666), (&directory, 0o777)] {
        let before = fs::metadata(path)?.permissions();
        fs::set_permissions(path, Permissions::from_mode(mode))?;
        assert_contains(&fixture.refused(&[])?, &["mode 0", "chmod go-w"]);
        fs::set_permissions(path, before)?;
    }
    // weir does not wait for what is not a file either.
    fs::remove_file(&file)?;
    mkfifo(&file, Mode::S_IRUSR)?;
    assert_contains(&fixture.refused(&[])?, &["not a regular file"]);
    fs::remove_file(&file)?;
    fs::create_dir(&file)?;
    assert_contains(&fixture.refused(&[])?, &["not a regular file"]);
    fs::remove_dir(&file)?;
    assert_contains(&fixture.refused(&[])?, &["No such file"]);

    File::create(&file)?.set_len(1 << 30)?;
    assert_contains(&fixture.refused(&[])?, &["larger than 64.0 MiB"]);
    // A signature is read as well.
    fs::write(&file, &bytes)?;
    let signature = directory.join("pinned-gateway.wasm.sigstore.json");
    mkfifo(&signature, Mode::S_IRUSR)?;
    assert_contains(
        &fixture.refused(&[])?,
        &["sigstore.json", "not a regular file"],
    );
    fs::remove_file(signature)?;
    assert!(fixture.installed()?.is_empty());
    fixture.fetch(&[])?;
    Ok(())
}

/// A configuration that others can write does not choose what is fetched.
#[test]
fn only_what_root_wrote_is_fetched() -> Result<()> {
    let (fixture, uri) = UriFixture::with_plugin()?;
    let file = fixture.node.root().join("etc/cni/net.d/50-named.conflist");
    fs::set_permissions(&file, Permissions::from_mode(0o666))?;
    let path = crate::text(&file)?;
    for words in [&["net", "fetch", "named"][..], &["net", "fetch", path]] {
        assert_contains(&fixture.node.stderr(words, 1)?, &["not trusted", "0666"]);
    }
    let said = fixture.node.exits(&["net", "fetch"], 0)?;
    assert_contains(&said, &["not trusted", "0666"]);
    assert!(fixture.web.requested_paths().is_empty() && fixture.installed()?.is_empty());
    fs::set_permissions(&file, Permissions::from_mode(0o644))?;
    let fetched = fixture.node.json(&["net", "fetch", path], 0)?;
    assert_eq!(fetched[0]["uri"], uri);
    Ok(())
}

#[test]
fn a_uri_takes_no_others_name() -> Result<()> {
    let (fixture, uri) = UriFixture::with_plugin()?;
    fixture.fetch(&[])?;
    // Another URI of a plugin with the same name.
    let bytes = fs::read(component("pinned-gateway"))?;
    fixture.web.put("/other.wasm", &other(&bytes));
    let second = fixture.web.url("/other.wasm");
    fixture.put_network(&second)?;
    for words in [&[][..], &["--update"]] {
        let said = fixture.refused(words)?;
        assert_contains(
            &said,
            &["`pinned-gateway` is installed already", &uri, "--name"],
        );
    }
    for (name, why) in [
        ("bridge", "built into weir"),
        ("weir", "weir itself"),
        ("../x", "plugin name"),
    ] {
        assert_contains(&fixture.refused(&["--name", name])?, &[why]);
    }
    let fetched = fixture.fetch(&["--name", "pinned-gateway-next"])?;
    assert_eq!(fetched["name"], "pinned-gateway-next");
    assert_eq!(
        fixture.installed()?,
        ["pinned-gateway", "pinned-gateway-next"]
    );
    // It keeps that name.
    assert_contains(
        &fixture.refused(&["--name", "x"])?,
        &["`pinned-gateway-next`"],
    );
    assert_eq!(fixture.fetch(&["--update"])?["name"], "pinned-gateway-next");

    // One that was added from a file is not replaced either, and one that is replaced by a file is the URI's no more.
    let file = component("pinned-gateway");
    let file = crate::text(&file)?;
    fixture.node.weir(&[
        "plugin",
        "add",
        file,
        "--name",
        "pinned-gateway-next",
        "--replace",
    ])?;
    let said = fixture.refused(&["--name", "pinned-gateway-next"])?;
    assert_contains(
        &said,
        &[
            "`pinned-gateway-next` is installed already",
            "by `weir plugin add`",
        ],
    );

    // A component that calls itself as a built-in one.
    fixture
        .web
        .put("/bridge.wasm", &other(&fs::read(component("bridge"))?));
    fixture.put_network(&fixture.web.url("/bridge.wasm"))?;
    assert_contains(
        &fixture.refused(&[])?,
        &["`bridge`", "built into weir", "--name"],
    );
    Ok(())
}

/// A network's URI names another tag of the same repository: that is an update, unless another network needs the old one.
#[test]
fn another_tag_is_an_update() -> Result<()> {
    let fixture = UriFixture::create()?;
    let node = &fixture.node;
    let registry = node.inside(Registry::start)?;
    let file = component("pinned-gateway");
    let later = node.write("later.wasm", other(&fs::read(&file)?))?;
    let push = |file: &Path, tag: &str| {
        let reference = registry.reference(&format!("plugins/pinned-gateway:{tag}"));
        node.weir(&["plugin", "push", text(file)?, &reference])?;
        Ok::<_, anyhow::Error>(format!("oci://{reference}"))
    };
    let (old, new) = (push(&file, "1.2.0")?, push(&later, "1.3.0")?);
    fixture.put_network(&old)?;
    let first = fixture.fetch(&[])?;
    fixture.put_network(&new)?;
    assert_contains(
        &fixture.refused(&[])?,
        &[&old, "--update replaces it with this version"],
    );
    let mut another = list(&old);
    another["name"] = "another".into();
    let file = node.put_network("60-another.conflist", &another)?;
    assert_contains(
        &fixture.refused(&["--update"])?,
        &[&old, "which network `another` names"],
    );
    fs::remove_file(file)?;
    let second = fixture.fetch(&["--update"])?;
    assert_eq!(
        (&second["state"], &second["name"]),
        (&"updated".into(), &first["name"])
    );
    assert!(
        second["digest"] != first["digest"] && second["uri"] == new,
        "{second:#}"
    );
    assert_eq!(fixture.fetch(&[])?["state"], "kept");
    Ok(())
}

#[test]
fn the_policy_decides_as_for_any_plugin() -> Result<()> {
    let (fixture, _) = UriFixture::with_plugin()?;
    let policy = |spec: serde_json::Value| -> Result<()> {
        let document =
            json!({ "apiVersion": "weir.dev/v1alpha1", "kind": "PluginPolicy", "spec": spec });
        let written = fixture
            .node
            .write("etc/weir/plugin-policy.yaml", document.to_string());
        written.map(drop)
    };
    policy(json!({ "unsigned": ["others"] }))?;
    let said = fixture.refused(&[])?;
    assert_contains(
        &said,
        &[
            "is not installed as plugin `pinned-gateway`",
            "not signed",
            "plugin-policy.yaml",
        ],
    );
    // It asked for a signature, too.
    assert_eq!(
        fixture.web.requested_paths(),
        ["/pinned-gateway.wasm", "/pinned-gateway.wasm.sigstore.json"]
    );
    assert!(fixture.installed()?.is_empty());

    let digest = weir_sandbox::digest(&fs::read(component("pinned-gateway"))?).to_string();
    let zero = format!("sha256:{}", "0".repeat(64));
    assert_contains(
        &fixture.refused(&["--digest", &zero])?,
        &[&digest, "not sha256:00"],
    );
    policy(json!({ "refused": [{ "digest": digest, "reason": "it was broken" }] }))?;
    assert_contains(
        &fixture.refused(&["--digest", &digest])?,
        &["it was broken"],
    );
    policy(json!({ "unsigned": ["others"] }))?;
    let fetched = fixture.fetch(&["--digest", &digest])?;
    assert_eq!(fetched["trusted"]["pinned"]["by"], "--digest");

    // An update is let in by the policy as well.
    fixture.publish_version(2)?;
    assert_contains(
        &fixture.refused(&["--update"])?,
        &["stays as it is", "not signed"],
    );
    // A repair needs no new permission, but not even that brings back what is refused.
    fs::write(
        fixture.node.installed("pinned-gateway").join("code.cwasm"),
        "",
    )?;
    assert_eq!(fixture.fetch(&[])?["state"], "repaired");
    fs::write(
        fixture.node.installed("pinned-gateway").join("code.cwasm"),
        "",
    )?;
    policy(json!({ "refused": [{ "digest": digest, "reason": "it was broken" }] }))?;
    assert_contains(&fixture.refused(&[])?, &["it was broken"]);
    Ok(())
}

#[test]
fn what_the_command_line_cannot_mean_is_refused() -> Result<()> {
    let (fixture, _) = UriFixture::with_plugin()?;
    assert_contains(
        &fixture.node.stderr(&["net", "fetch", "nowhere"], 1)?,
        &["no such network: `nowhere`", "podNetworks"],
    );
    let plain = json!({ "cniVersion": "1.1.0", "name": "plain", "type": "bridge" });
    fixture.node.put_network("60-plain.conf", &plain)?;
    assert_contains(
        &fixture.node.stderr(&["net", "fetch", "plain"], 1)?,
        &["names no plugin by a URI"],
    );
    fixture.node.put_network(
        "70-two.conf",
        &json!({ "cniVersion": "1.1.0", "name": "two", "type": "oci://r.example/two:1" }),
    )?;
    assert_contains(
        &fixture.node.stderr(&["net", "fetch", "--name", "x"], 1)?,
        &["for one plugin, and 2"],
    );
    let full = File::options().write(true).open("/dev/full")?;
    let output = fixture.node.inside(|| {
        let mut weir = std::process::Command::new(weir_kit::binary());
        weir.args(["net", "fetch", "named"])
            .env("WEIR_ROOT", fixture.node.root());
        weir.stdout(full).output().context("run weir")
    })?;
    let said = String::from_utf8_lossy(&output.stderr);
    assert_contains(&said, &["cannot write to standard output: No space left"]);
    Ok(())
}
