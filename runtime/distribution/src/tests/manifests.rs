//! Manifests and configurations of something else than a plugin, or that say what is not so.

use super::*;

/// Why what a registry has is not pulled. Its component is never asked for.
#[track_caller]
fn why(content: Content) -> String {
    let component = digest(COMPONENT).to_string();
    let server = Server::start(move |seen| content.answer(seen));
    let error = refused(&server);
    let paths = server.paths();
    assert!(
        !paths.iter().any(|path| path.contains(&component)),
        "{paths:?}"
    );
    error
}

#[test]
fn an_index_is_not_followed_even_to_itself() {
    for kind in [
        "application/vnd.oci.image.index.v1+json",
        "application/vnd.docker.distribution.manifest.list.v2+json",
    ] {
        // An index cannot hold its own digest; a registry answers with it nevertheless.
        let itself = serde_json::json!({
            "schemaVersion": 2,
            "mediaType": kind,
            "manifests": [{ "mediaType": kind, "digest": digest(b"itself").to_string(), "size": 9 }],
        });
        let content = Content {
            manifest: serde_json::to_vec(&itself).expect("JSON"),
            ..Content::honest()
        };
        let server = Server::start(move |_| Answer::ok(&content.manifest));
        let error = refused(&server);
        let named = digest(b"itself").to_string();
        assert_contains(
            &error,
            &["it is an index", &named, "digest of one manifest"],
        );
        assert_eq!(server.paths(), ["manifests/1.0"]);
    }
}

#[test]
fn two_layers_are_refused() {
    let error = why(Content::with_manifest(|manifest| {
        let layer = manifest["layers"][0].clone();
        manifest["layers"] = serde_json::json!([layer, layer]);
    }));
    assert_contains(&error, &["it has 2 layers instead of one"]);
    let error = why(Content::with_manifest(|manifest| {
        manifest["layers"] = serde_json::json!([]);
    }));
    assert_contains(&error, &["it has 0 layers instead of one"]);
}

#[test]
fn other_media_types_are_refused() {
    type Change = fn(&mut Value);
    let changes: [(Change, &str); 5] = [
        (
            |m| m["config"]["mediaType"] = "application/vnd.oci.image.config.v1+json".into(),
            "the artifact is not a WebAssembly component",
        ),
        (
            |m| m["layers"][0]["mediaType"] = "application/wasm+gzip".into(),
            "not compressed",
        ),
        (
            |m| m["layers"][0]["mediaType"] = "application/vnd.oci.image.layer.v1.tar+gzip".into(),
            "instead of `application/wasm`",
        ),
        (
            |m| m["mediaType"] = "application/vnd.docker.distribution.manifest.v2+json".into(),
            "`mediaType` is",
        ),
        (|m| m["schemaVersion"] = 1.into(), "`schemaVersion` is 1"),
    ];
    for (change, expected) in changes {
        assert_contains(&why(Content::with_manifest(change)), &[expected]);
    }
}

#[test]
fn what_is_no_manifest_is_refused() {
    let refused = |manifest: &str, expected: &str| {
        let content = Content {
            manifest: manifest.into(),
            ..Content::honest()
        };
        assert_contains(&why(content), &[expected]);
    };
    for other in ["<html>", "", "[]"] {
        refused(other, "not valid");
    }
    refused("{}", "missing field");
    let stated = |digest: &str, size: i8| {
        format!(
            r#"{{"schemaVersion":2,"config":{{"mediaType":"a","digest":"{digest}","size":{size}}},"layers":[]}}"#
        )
    };
    refused(&stated("sha256:1", 1), "is not a digest");
    refused(&stated("sha512:1", -1), "not valid");
}

#[test]
fn another_manifest_than_the_stated_one_is_refused() {
    let content = Content::honest();
    let stated = digest(b"another").to_string();
    let server = Server::start(move |seen| {
        let answer = content.answer(seen);
        if seen.path.contains("/manifests/") {
            return answer.with("docker-content-digest", stated.clone());
        }
        answer
    });
    assert_contains(
        &refused(&server),
        &["the manifest has digest", "instead of"],
    );

    let content = Content::honest();
    let server = Server::start(move |seen| content.answer(seen));
    let pinned = reference(&server).at(Version::Digest(digest(b"another")));
    let registry = Registry::new(&pinned, options()).expect("a registry");
    let error = registry.pull().expect_err("pinned").to_string();
    assert_contains(&error, &["the manifest has digest", "instead of"]);
    let pinned = reference(&server).at(Version::Digest(artifact().digest()));
    let registry = Registry::new(&pinned, options()).expect("a registry");
    assert_eq!(registry.pull().expect("it is").component, COMPONENT);
}

#[test]
fn a_configuration_that_lies_is_refused() {
    let honest = Content::honest();
    let error = why(Content {
        config: honest.config.to_ascii_uppercase(),
        ..honest
    });
    assert_contains(&error, &["the artifact's configuration has digest"]);
    let error = why(Content::with_config(|config| {
        config["layerDigests"] = serde_json::json!([digest(b"another").to_string()]);
    }));
    assert_contains(&error, &["`layerDigests`"]);
    let error = why(Content::with_config(|config| {
        config
            .as_object_mut()
            .expect("an object")
            .remove("component");
    }));
    assert_contains(&error, &["the artifact is a module"]);
    let error = why(Content::with_config(|config| {
        config["component"]["imports"] = 1.into();
    }));
    assert_contains(&error, &["configuration", "not valid"]);
    let error = why(Content::with_manifest(|manifest| {
        manifest["config"]["size"] = (1_u64 << 40).into();
    }));
    assert_contains(&error, &["its configuration has 1099511627776 bytes"]);
}

#[test]
fn a_capability_that_the_configuration_hides_is_found() {
    let artifact = artifact();
    for imported in [
        vec![],
        vec![Capability::Link, Capability::Route],
        vec![Capability::Route],
    ] {
        let error = artifact.check_requests(imported).expect_err("it differs");
        assert_contains(&error.to_string(), &["it states the capabilities `link`"]);
    }
}

#[test]
fn a_component_that_no_plugin_can_be_is_not_pushed() {
    let large = vec![0; (64 << 20) + 1];
    let made = Artifact::new(large, Interface::default(), &Metadata::default());
    assert_contains(&made.expect_err("too large").to_string(), &["64.0 MiB"]);
    let metadata = Metadata {
        grant: Some("#".repeat(5 << 20)),
        ..Metadata::default()
    };
    let made = Artifact::new(vec![0], Interface::default(), &metadata);
    let error = made.expect_err("too large").to_string();
    assert_contains(&error, &["larger than a registry takes"]);
}

/// The working group's layout, key by key: other tools read it.
#[test]
fn an_artifact_has_the_layout_of_the_working_group() {
    let artifact = artifact();
    let component = digest(COMPONENT).to_string();
    let description = &artifact.description;
    let manifest: Value = serde_json::from_slice(&description.manifest_bytes).expect("JSON");
    let config = digest(&description.config_bytes).to_string();
    let expected = serde_json::json!({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": {
            "mediaType": "application/vnd.wasm.config.v0+json",
            "digest": config,
            "size": description.config_bytes.len(),
        },
        "layers": [{
            "mediaType": "application/wasm",
            "digest": component,
            "size": COMPONENT.len(),
            "annotations": { "org.opencontainers.image.title": "labels.wasm" },
        }],
        "annotations": {
            "a.b": "c",
            "dev.weir.plugin.grant": "kind: PluginGrant",
            "org.opencontainers.image.created": "1970-01-01T00:00:00Z",
            "org.opencontainers.image.title": "labels",
        },
    });
    assert_eq!(manifest, expected);
    let config: Value = serde_json::from_slice(&description.config_bytes).expect("JSON");
    let expected = serde_json::json!({
        "created": "1970-01-01T00:00:00Z",
        "architecture": "wasm",
        "os": "wasip2",
        "layerDigests": [component],
        "component": {
            "exports": ["weir:cni/commands@0.2.0"],
            "imports": ["weir:cni/link@0.2.0", "weir:cni/types@0.2.0", "wasi:cli/exit@0.2.6"],
        },
    });
    assert_eq!(config, expected);
}
