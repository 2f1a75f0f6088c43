//! A real registry behind a server that redirects, breaks off, or has something too large: what stands between weir and
//! a registry, or what somebody put into its storage.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use weir_kit::http_server::{Answer, Seen, Server};
use weir_kit::{assert_contains, assert_contains_without};

use crate::Case;
use crate::registry::Registry;

/// What the registry answers.
struct Answered {
    status: u16,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

/// Sends a request over a connection of its own.
fn ask(registry: &str, seen: &Seen) -> Result<Answered> {
    let mut stream = TcpStream::connect(registry)?;
    // Without chunks.
    let mut head = format!("{} {} HTTP/1.0\r\n", seen.method, seen.path);
    for name in ["accept", "range", "content-type"] {
        if let Some(value) = seen.header(name) {
            head += &format!("{name}: {value}\r\n");
        }
    }
    head += &format!("content-length: {}\r\n\r\n", seen.body.len());
    stream.write_all(&[head.as_bytes(), &seen.body].concat())?;
    let mut answer = BufReader::new(stream);
    let mut line = String::new();
    answer.read_line(&mut line)?;
    let status = line.split(' ').nth(1).context("a status")?.parse()?;
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        answer.read_line(&mut line)?;
        match line.trim().split_once(": ") {
            Some((name, value)) => headers.push((name.to_lowercase(), value.to_owned())),
            None => break,
        }
    }
    let mut body = Vec::new();
    answer.read_to_end(&mut body)?;
    Ok(Answered {
        status,
        headers,
        body,
    })
}

/// The registry's answer, to be passed on.
fn passed_on(registry: &str, seen: &Seen) -> Answer {
    let answered = ask(registry, seen).expect("the registry answers");
    let mut answer = Answer::status(answered.status).with_body(&answered.body);
    for (name, value) in answered.headers {
        for known in ["content-type", "content-range", "docker-content-digest"] {
            if name == known {
                answer = answer.with(known, value.clone());
            }
        }
    }
    answer
}

/// The reference of the plugin by another server.
fn by(server: &Server) -> String {
    format!("{}/plugins/pinned-gateway:1.2.0", server.address)
}

#[test]
fn a_registry_that_keeps_its_blobs_elsewhere_is_followed() -> Result<()> {
    let (case, pushed) = Case::pushed()?;
    let registry = case.registry.host();
    // As a registry of a cloud does: the link is valid for a moment, for whoever has it.
    let front = Server::start(move |seen| {
        if seen.path.contains("/blobs/") {
            let to = format!("http://{registry}{}?X-Signature=secret", seen.path);
            return Answer::status(307).with("location", to);
        }
        passed_on(&registry, seen)
    });
    let pulled = case.user.json(&["plugin", "pull", &by(&front)])?;
    assert_eq!(pulled["component"], pushed["component"]);

    // The storage is gone: the error names it, and not what gives access to it.
    let component = pushed["component"].as_str().context("a digest")?;
    fs::remove_file(case.registry.blob(component))?;
    let error = case.user.failure(&["plugin", "pull", &by(&front), "x"])?;
    assert_contains_without(
        &error,
        &[&case.registry.host(), "404"],
        &["secret", "X-Signature"],
    );
    Ok(())
}

#[test]
fn a_download_that_breaks_off_goes_on_where_it_ended() -> Result<()> {
    let (case, pushed) = Case::pushed()?;
    let registry = case.registry.host();
    let size = fs::metadata(&case.file)?.len();
    let half = usize::try_from(size / 2)?;
    let component = pushed["component"].as_str().context("a digest")?.to_owned();
    let front = Server::start({
        let (component, first) = (component.clone(), AtomicUsize::new(0));
        move |seen| {
            let answer = passed_on(&registry, seen);
            let is_component = seen.path.ends_with(&component);
            if is_component && first.fetch_add(1, Ordering::Relaxed) == 0 {
                answer.broken_off(half)
            } else {
                answer
            }
        }
    });
    let pulled = case.user.json(&["plugin", "pull", &by(&front)])?;
    assert_eq!(pulled["component"], component);
    assert_eq!(
        fs::read(case.user.file("pinned-gateway.wasm"))?,
        fs::read(&case.file)?
    );
    let requests = front.seen().into_iter();
    let ranges: Vec<Option<String>> = requests
        .filter(|seen| seen.path.ends_with(&component))
        .map(|seen| seen.header("range").map(str::to_owned))
        .collect();
    assert_eq!(ranges, [None, Some(format!("bytes={half}-"))]);

    // One that never gets further is given up, and leaves nothing.
    let registry = case.registry.host();
    let stuck = Server::start(move |seen| {
        let answer = passed_on(&registry, seen);
        match (seen.path.ends_with(&component), seen.header("range")) {
            (false, _) => answer,
            (true, None) => answer.broken_off(half),
            (true, Some(_)) => answer.broken_off(0),
        }
    });
    let error = case
        .user
        .failure(&["plugin", "pull", &by(&stuck), "x.wasm"])?;
    assert_contains(&error, &["ended the download", "5 times"]);
    assert!(!case.user.file("x.wasm").exists());
    Ok(())
}

/// SHA-256 of a gibibyte of zeros.
const GIBIBYTE: &str = "sha256:49bc20df15e412a64472421e13fe86ff1c5165e18b2afccf160d4dc19fe68a14";

/// A plugin in a registry whose component is a gibibyte.
fn of_a_gibibyte() -> Result<Case> {
    let (case, pushed) = Case::pushed()?;
    let artifact = pushed["artifact"].as_str().context("a digest")?;
    let mut manifest: Value = serde_json::from_slice(&fs::read(case.registry.blob(artifact))?)?;
    manifest["layers"][0]["digest"] = json!(GIBIBYTE);
    manifest["layers"][0]["size"] = json!(1 << 30);
    let blob = case.registry.blob(GIBIBYTE);
    fs::create_dir_all(blob.parent().context("a directory")?)?;
    File::create(&blob)?.set_len(1 << 30)?;
    case.registry.link("plugins/pinned-gateway", GIBIBYTE)?;
    let put = Seen {
        method: "PUT".to_owned(),
        path: "/v2/plugins/pinned-gateway/manifests/1.2.0".to_owned(),
        headers: [(
            "content-type".to_owned(),
            "application/vnd.oci.image.manifest.v1+json".to_owned(),
        )]
        .into(),
        body: manifest.to_string().into(),
    };
    let answered = ask(&case.registry.host(), &put)?;
    let said = String::from_utf8_lossy(&answered.body);
    ensure!(answered.status == 201, "{said}");
    Ok(case)
}

/// Hostile: a component that fills the node's memory, or its disk.
#[test]
fn a_gibibyte_is_not_downloaded() -> Result<()> {
    let case = of_a_gibibyte()?;
    let error = case.user.failure(&["plugin", "pull", &case.reference])?;
    assert_contains(&error, &["1.0 GiB", "64.0 MiB", "it was not downloaded"]);
    // Nor if its size is a lie.
    let (case, pushed) = Case::pushed()?;
    let component = pushed["component"].as_str().context("a digest")?;
    let blob = File::options()
        .write(true)
        .open(case.registry.blob(component))?;
    blob.set_len(1 << 30)?;
    let error = case.user.failure(&["plugin", "pull", &case.reference])?;
    let stated = format!("instead of the {}", pushed["size"]);
    assert_contains(&error, &["the component has", &stated]);
    assert!(case.user.files()?.is_empty());
    Ok(())
}

/// The registry goes away between two requests.
#[test]
fn a_registry_that_goes_away_is_named() -> Result<()> {
    let case = Case::of(Registry::start()?)?;
    case.user.json(&case.push()?)?;
    let (host, reference) = (case.registry.host(), case.reference.clone());
    drop(case.registry);
    let error = case.user.failure(&["plugin", "pull", &reference])?;
    assert_contains(&error, &[&host, "cannot be reached"]);
    assert!(case.user.files()?.is_empty());
    Ok(())
}
