//! Registries, archives and files that lie, break off or attack; what a real registry answers is tested with one, in
//! `tests/distribution`.

mod archives;
mod downloads;
mod manifests;
mod secrets;
mod signatures;
mod uploads;
mod websites;

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;
use weir_grant::Capability;
use weir_grant::document::Digest;
use weir_kit::assert_contains;
use weir_kit::http_server::{Answer, Seen, Server};

use super::*;

/// The content of the tests' component: nobody looks into it here.
const COMPONENT: &[u8] = b"a component, of which a registry may send a part";

fn artifact() -> Artifact {
    let interface = Interface {
        imports: vec![
            "weir:cni/link@0.2.0".to_owned(),
            "weir:cni/types@0.2.0".to_owned(),
            "wasi:cli/exit@0.2.6".to_owned(),
        ],
        exports: vec!["weir:cni/commands@0.2.0".to_owned()],
        target: None,
    };
    let metadata = Metadata {
        name: "labels".to_owned(),
        annotations: BTreeMap::from([("a.b".to_owned(), "c".to_owned())]),
        grant: Some("kind: PluginGrant".to_owned()),
        ..Metadata::default()
    };
    Artifact::new(COMPONENT.to_vec(), interface, &metadata).expect("an artifact")
}

/// What a registry answers.
#[derive(Clone)]
struct Content {
    manifest: Vec<u8>,
    config: Vec<u8>,
    component: Vec<u8>,
}

impl Content {
    fn honest() -> Self {
        let artifact = artifact();
        Self {
            manifest: artifact.description.manifest_bytes,
            config: artifact.description.config_bytes,
            component: artifact.component,
        }
    }

    /// The same with a manifest in which a test changed something.
    fn with_manifest(change: impl FnOnce(&mut Value)) -> Self {
        let honest = Self::honest();
        Self {
            manifest: changed(&honest.manifest, change),
            ..honest
        }
    }

    /// The same with a configuration in which a test changed something, which the manifest names.
    fn with_config(change: impl FnOnce(&mut Value)) -> Self {
        let config = changed(&Self::honest().config, change);
        let named = Self::with_manifest(|manifest| {
            manifest["config"]["digest"] = digest(&config).to_string().into();
            manifest["config"]["size"] = config.len().into();
        });
        Self { config, ..named }
    }

    /// What an honest server answers to a request for one of these.
    fn answer(&self, seen: &Seen) -> Answer {
        let manifest = artifact_named(&self.manifest);
        let [config, component] = match manifest {
            Some(digests) => digests,
            None => return Answer::ok(&self.manifest),
        };
        if seen.path.contains("/manifests/") {
            Answer::ok(&self.manifest)
        } else if seen.path.ends_with(&config) {
            Answer::ok(&self.config)
        } else if seen.path.ends_with(&component) {
            Answer::ok(&self.component)
        } else {
            Answer::status(404)
        }
    }
}

/// The digests of configuration and layer in a manifest.
fn artifact_named(manifest: &[u8]) -> Option<[String; 2]> {
    let manifest: Value = serde_json::from_slice(manifest).ok()?;
    let digest = |descriptor: &Value| descriptor["digest"].as_str().map(str::to_owned);
    Some([
        digest(&manifest["config"])?,
        digest(&manifest["layers"][0])?,
    ])
}

fn changed(json: &[u8], change: impl FnOnce(&mut Value)) -> Vec<u8> {
    let mut value: Value = serde_json::from_slice(json).expect("JSON");
    change(&mut value);
    serde_json::to_vec(&value).expect("JSON")
}

fn reference(server: &Server) -> Reference {
    let text = format!("{}/plugins/labels:1.0", server.address);
    text.parse().expect("a reference")
}

/// Options for tests: what waits does not wait long.
fn options() -> Options {
    Options {
        credentials: CredentialSource::Anonymous,
        limits: Limits {
            connect: Duration::from_secs(2),
            idle: Duration::from_secs(5),
            total: Duration::from_secs(20),
        },
        ..Options::default()
    }
}

fn registry(server: &Server, options: Options) -> Registry {
    Registry::new(&reference(server), options).expect("a registry")
}

/// Redirects end, and lead only to what is allowed, with `refused` for the error of a download from a server.
fn refuses_redirects(refused: impl Fn(&Server) -> String) {
    let circle = Server::start(|seen| Answer::status(302).with("location", seen.path.clone()));
    assert_contains(&refused(&circle), &["the sixth redirect"]);
    assert_eq!(circle.seen().len(), 6);
    for (location, expected) in [
        ("http://192.0.2.1/x", "has no TLS; --plain-http"),
        ("http://plain.example/labels.wasm", "has no TLS"),
        ("ftp://127.0.0.1/x", "not a URL of HTTP"),
        ("ftp://localhost/labels.wasm", "not a URL of HTTP"),
        ("file:///etc/shadow", "without a `Location` that is a URL"),
        ("//127.0.0.1/x", "without a `Location` that is a URL"),
        ("x", "without a `Location` that is a URL"),
    ] {
        let server = Server::start(move |_| Answer::status(302).with("location", location));
        assert_contains(&refused(&server), &[expected]);
    }
}

/// Pulls what a server answers, and returns why that fails.
#[track_caller]
fn refused(server: &Server) -> String {
    let pulled = registry(server, options()).pull();
    pulled.expect_err("this must not be pulled").to_string()
}
