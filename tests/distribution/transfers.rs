//! Push and pull, and what other tools see.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread;

use anyhow::{Result, anyhow};
use serde_json::{Value, json};
use weir_distribution::{Artifact, Interface, Metadata, Options, Reference};
use weir_kit::{assert_contains, assert_contains_without, component};

use crate::registry::{Registry, overwrite, skopeo};
use crate::{Case, User, text};

#[test]
fn a_plugin_is_pushed_pulled_and_installed() -> Result<()> {
    let case = Case::of(Registry::start()?)?;
    let push = [
        "plugin",
        "push",
        text(&case.file)?,
        &case.reference,
        "--source",
        "https://git.example/pinned-gateway",
        "--licenses",
        "Apache-2.0",
        "--annotation",
        "org.example.team=network",
    ];
    let pushed = case.user.json(&push)?;
    // Once more, with the same time: the same artifact.
    assert_eq!(case.user.json(&push)?["artifact"], pushed["artifact"]);

    let pulled = case.user.json(&["plugin", "pull", &case.reference])?;
    assert_eq!(pulled["artifact"], pushed["artifact"]);
    assert_eq!(pulled["component"], pushed["component"]);
    let files = ["pinned-gateway.wasm", "pinned-gateway.wasm.origin.json"];
    assert_eq!(
        pulled["files"],
        json!({ "component": files[0], "origin": files[1] })
    );
    assert_eq!(case.user.files()?, files);
    assert_eq!(
        fs::read(case.user.file("pinned-gateway.wasm"))?,
        fs::read(&case.file)?
    );
    let annotations = &pulled["annotations"];
    for (key, value) in [
        (
            "org.opencontainers.image.source",
            "https://git.example/pinned-gateway",
        ),
        ("org.opencontainers.image.licenses", "Apache-2.0"),
        ("org.opencontainers.image.title", "pinned-gateway"),
        ("org.opencontainers.image.created", "2026-01-01T00:00:00Z"),
        ("org.example.team", "network"),
    ] {
        assert_eq!(annotations[key], value, "{annotations:#}");
    }
    assert!(annotations["org.opencontainers.image.version"].is_string());

    let again = case.user.failure(&["plugin", "pull", &case.reference])?;
    assert_contains(&again, &["`pinned-gateway.wasm` exists", "--replace"]);
    case.user
        .json(&["plugin", "pull", &case.reference, "--replace"])?;
    let added = case.user.json(&["plugin", "add", "pinned-gateway.wasm"])?;
    assert_eq!(added["digest"], pulled["component"]);

    // By its digest, under another name.
    let artifact = pushed["artifact"].as_str().unwrap_or_default();
    let pinned = case
        .registry
        .reference(&format!("plugins/pinned-gateway@{artifact}"));
    case.user
        .json(&["plugin", "pull", &pinned, "pinned.wasm"])?;
    let both = [&files[..], &["pinned.wasm", "pinned.wasm.origin.json"]].concat();
    assert_eq!(case.user.files()?, both);
    Ok(())
}

/// The other commands are tried in `standard_output`, without a registry.
#[test]
fn a_full_disk_is_reported() -> Result<()> {
    let Case {
        user,
        reference,
        file,
        ..
    } = &Case::of(Registry::start()?)?;
    for words in [
        ["plugin", "push", text(file)?, reference],
        ["plugin", "pull", reference, "pulled.wasm"],
        ["plugin", "save", reference, "saved.tar"],
        ["plugin", "load", "saved.tar", "loaded.wasm"],
    ] {
        let full = File::options().write(true).open("/dev/full")?;
        let output = user.command(&words)?.stdout(full).output()?;
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_contains(&errors, &["cannot write to standard output: No space left"]);
        assert_eq!(output.status.code(), Some(1), "{words:?}: {errors}");
    }
    Ok(())
}

#[test]
fn other_tools_read_what_is_pushed() -> Result<()> {
    let (case, pushed) = Case::pushed()?;
    let docker = format!("docker://{}", case.reference);
    let raw = skopeo(&["inspect", "--tls-verify=false", "--raw", &docker])?;
    let manifest: Value = serde_json::from_slice(&raw)?;
    assert_eq!(
        manifest["config"]["mediaType"],
        "application/vnd.wasm.config.v0+json"
    );
    let layers = manifest["layers"].as_array();
    assert_eq!(layers.map(Vec::len), Some(1), "{manifest:#}");
    assert_eq!(manifest["layers"][0]["mediaType"], "application/wasm");
    assert_eq!(manifest["layers"][0]["digest"], pushed["component"]);

    // A copy by another tool, into a layout and back into the registry, is the same artifact.
    let archive = case.user.file("copied.tar");
    let layout = format!("oci-archive:{}", text(&archive)?);
    skopeo(&["copy", "--src-tls-verify=false", &docker, &layout])?;
    let loaded = case.user.json(&["plugin", "load", "copied.tar"])?;
    assert_eq!(loaded["artifact"], pushed["artifact"]);
    assert_eq!(
        fs::read(case.user.file("pinned-gateway.wasm"))?,
        fs::read(&case.file)?
    );
    let copy = case.registry.reference("copies/pinned-gateway:1");
    let target = format!("docker://{copy}");
    skopeo(&["copy", "--dest-tls-verify=false", &layout, &target])?;
    let pulled = case.user.json(&["plugin", "pull", &copy, "copy.wasm"])?;
    assert_eq!(pulled["artifact"], pushed["artifact"]);
    Ok(())
}

#[test]
fn what_a_plugin_requests_is_shown_without_it() -> Result<()> {
    let (case, pushed) = Case::pushed()?;
    // The registry has lost it.
    let component = pushed["component"].as_str().unwrap_or_default();
    fs::remove_file(case.registry.blob(component))?;
    let described = case
        .user
        .json(&["plugin", "pull", &case.reference, "--describe"])?;
    assert_eq!(described["capabilities"], pushed["capabilities"]);
    assert!(
        described["capabilities"]
            .as_array()
            .is_some_and(|all| !all.is_empty())
    );
    let error = case.user.failure(&["plugin", "pull", &case.reference])?;
    assert_contains(&error, &["pull `localhost:", "404"]);
    assert!(case.user.files()?.is_empty());
    Ok(())
}

#[test]
fn a_proposed_grant_comes_beside_the_plugin_and_is_not_in_force() -> Result<()> {
    let case = Case::of(Registry::start()?)?;
    let grant = weir_kit::house().join("examples/pinned-gateway/grant.yaml");
    let push = [&case.push()?[..], &["--grant"]].concat();
    case.user.json(&[&push[..], &[text(&grant)?]].concat())?;
    let pulled = case.user.json(&["plugin", "pull", &case.reference])?;
    assert_eq!(
        pulled["files"],
        json!({
            "component": "pinned-gateway.wasm",
            "grant": "pinned-gateway.grant.yaml",
            "origin": "pinned-gateway.wasm.origin.json",
        })
    );
    assert_eq!(
        fs::read(case.user.file("pinned-gateway.grant.yaml"))?,
        fs::read(&grant)?
    );
    let added = case.user.json(&["plugin", "add", "pinned-gateway.wasm"])?;
    assert_eq!(added["granted"], false, "{added:#}");
    let shown = case
        .user
        .output(&["plugin", "pull", &case.reference, "--describe"])?;
    let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
    assert_contains(&shown, &["proposes", "kind: PluginGrant"]);

    // A component that cannot be written leaves no proposal either, or the one that was there.
    fs::create_dir(case.user.file("directory"))?;
    let proposal = case.user.file("directory.grant.yaml");
    for former in [None, Some("former")] {
        former
            .map(|former| fs::write(&proposal, former))
            .transpose()?;
        let pull = ["plugin", "pull", &case.reference, "directory", "--replace"];
        let error = case.user.failure(&pull)?;
        assert_contains(&error, &["write `directory`"]);
        assert_eq!(fs::read_to_string(&proposal).ok().as_deref(), former);
    }

    // Another artifact without one does not leave this proposal beside another component.
    let bare = case.registry.reference("plugins/pinned-gateway:1.3.0");
    case.user
        .json(&["plugin", "push", text(&case.file)?, &bare])?;
    let error = case.user.failure(&["plugin", "pull", &bare, "--replace"])?;
    assert_contains(&error, &["pinned-gateway.grant.yaml", "remove it"]);

    // Neither the grant of another component nor a file that is not a grant is pushed.
    let other = case.user.file("other.yaml");
    let digest = format!("digest: sha256:{}", "0".repeat(64));
    let named = fs::read_to_string(&grant)?.replace("# digest: sha256:…", &digest);
    fs::write(&other, named)?;
    let error = case.user.failure(&[&push[..], &[text(&other)?]].concat())?;
    assert_contains(&error, &["for another component"]);
    let broken = case.user.file("broken.yaml");
    fs::write(&broken, "kind: Nothing\n")?;
    let error = case
        .user
        .failure(&[&push[..], &[text(&broken)?]].concat())?;
    assert_contains(&error, &["broken.yaml:1:1: missing key `apiVersion`"]);
    Ok(())
}

#[test]
fn only_a_plugin_of_this_weir_is_pushed_or_pulled() -> Result<()> {
    let (user, registry) = (User::new()?, Registry::start()?);
    for (name, why) in [
        ("stranger", "stranger:house/backdoor"),
        ("sockets", "wasi:sockets"),
    ] {
        let reference = registry.reference(&format!("plugins/{name}:1"));
        let file = component(name);
        let error = user.failure(&["plugin", "push", text(&file)?, &reference])?;
        assert_contains(&error, &[name, why]);
        // Others push it.
        let parsed: Reference = reference.parse()?;
        let interface = Interface::default();
        let artifact = Artifact::new(fs::read(&file)?, interface, &Metadata::default())?;
        weir_distribution::Registry::new(&parsed, Options::default())?.push(&artifact)?;
        let error = user.failure(&["plugin", "pull", &reference])?;
        assert_contains(&error, &[&format!("pull `{reference}`"), why]);
        let error = user.failure(&["plugin", "save", &reference, "saved"])?;
        assert_contains(&error, &[why]);
        assert!(user.files()?.is_empty(), "{:?}", user.files());
    }
    let garbage = user.file("garbage.wasm");
    fs::write(&garbage, "not a component")?;
    let error = user.failure(&["plugin", "push", "garbage.wasm", &registry.reference("a:1")])?;
    assert_contains(&error, &["garbage.wasm", "not a WebAssembly component"]);
    Ok(())
}

/// Who reviews an artifact by what it requests must not be misled.
#[test]
fn an_artifact_that_hides_a_capability_is_not_pulled() -> Result<()> {
    let (user, registry) = (User::new()?, Registry::start()?);
    let reference: Reference = registry.reference("plugins/pinned-gateway:1").parse()?;
    let interface = Interface {
        imports: vec!["weir:cni/log@0.2.0".to_owned()],
        ..Interface::default()
    };
    let artifact = Artifact::new(
        fs::read(component("pinned-gateway"))?,
        interface,
        &Metadata::default(),
    )?;
    weir_distribution::Registry::new(&reference, Options::default())?.push(&artifact)?;
    let error = user.failure(&["plugin", "pull", &reference.to_string()])?;
    assert_contains(
        &error,
        &["states the capabilities `log`", "the component imports"],
    );
    assert!(user.files()?.is_empty());
    Ok(())
}

#[test]
fn what_changed_in_the_registry_is_not_pulled() -> Result<()> {
    let (case, pushed) = Case::pushed()?;
    let mut changed = fs::read(&case.file)?;
    if let Some(last) = changed.last_mut() {
        *last ^= 1;
    }
    let component = pushed["component"].as_str().unwrap_or_default();
    overwrite(&case.registry.blob(component), &changed)?;
    let error = case.user.failure(&["plugin", "pull", &case.reference])?;
    assert_contains(
        &error,
        &["the component has digest", "instead of", component],
    );
    assert!(case.user.files()?.is_empty());
    Ok(())
}

/// The rest of the upload meets a closed connection, which is an error and not a signal that ends weir.
#[test]
fn a_registry_that_hangs_up_during_an_upload_is_reported() -> Result<()> {
    let user = User::new()?;
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let reference = format!("{}/plugins/pinned-gateway:1", listener.local_addr()?);
    let server = thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream?;
            let mut head = [0; 4096];
            let read = stream.read(&mut head)?;
            let answer = match &head[..read.min(4)] {
                b"HEAD" => "404 Not Found\r\n",
                b"POST" => "202 Accepted\r\nlocation: /upload\r\n",
                // Without an answer, and with the most of the body not read.
                _ => return Ok(()),
            };
            let rest = "content-length: 0\r\nconnection: close\r\n\r\n";
            stream.write_all(format!("HTTP/1.1 {answer}{rest}").as_bytes())?;
        }
        Ok::<_, std::io::Error>(())
    });
    let file = component("pinned-gateway");
    let error = user.failure(&["plugin", "push", text(&file)?, &reference])?;
    assert_contains(&error, &["push `", "cannot be reached"]);
    server
        .join()
        .map_err(|_| anyhow!("the server panicked"))??;
    Ok(())
}

#[test]
fn what_is_not_there_is_named() -> Result<()> {
    let (user, registry) = (User::new()?, Registry::start()?);
    let missing = registry.reference("plugins/nothing:1");
    let error = user.failure(&["plugin", "pull", &missing])?;
    assert_contains(&error, &["has no", &missing, "check the name and the tag"]);
    let away = {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        format!("{}/plugins/pinned-gateway:1", listener.local_addr()?)
    };
    let error = user.failure(&["plugin", "pull", &away])?;
    assert_contains(&error, &[&away, "cannot be reached"]);
    let file = component("pinned-gateway");
    let error = user.failure(&["plugin", "push", text(&file)?, &away])?;
    assert_contains(&error, &["push `", &away, "cannot be reached"]);
    let wrong = user.output(&["plugin", "pull", "pinned-gateway:1"])?;
    assert_eq!(wrong.status.code(), Some(2));
    let said = String::from_utf8_lossy(&wrong.stderr).into_owned();
    assert_contains_without(
        &said,
        &["names no registry", "REGISTRY/NAME:TAG"],
        &["panicked"],
    );
    Ok(())
}
