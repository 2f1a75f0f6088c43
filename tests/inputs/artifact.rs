//! Plugins from registries and archives: any description of one gives an artifact or an error, and a component from an
//! archive is the one that its manifest names.

use weir_distribution::{Descriptor, Manifest, digest, fuzzing};

/// What the manifests of the seeds name as their component.
const COMPONENT: &[u8] = b"\0asm\x0d\0\x01\0";

const CONFIG: &str = "application/vnd.wasm.config.v0+json";

/// One input.
pub fn check(input: &[u8]) {
    let Some((part, said)) = input.split_first() else {
        return;
    };
    match part {
        b'a' => archive(said),
        b'h' => drop(fuzzing::challenge(said)),
        b'm' => manifest(said),
        b's' => drop(fuzzing::signature(said, &digest(COMPONENT))),
        _ => configuration(said),
    }
}

fn archive(bytes: &[u8]) {
    let Ok(artifact) = fuzzing::archive(bytes) else {
        return;
    };
    let named = artifact.description.manifest.component();
    assert_eq!(digest(&artifact.component), named.digest);
    assert_eq!(artifact.component.len() as u64, named.size);
    assert!(artifact.signatures.bundles.len() <= 64);
}

fn manifest(bytes: &[u8]) {
    let Ok(manifest) = Manifest::parse(bytes) else {
        return;
    };
    assert_eq!(manifest.component().media_type, "application/wasm");
    let again = serde_json::to_vec(&manifest).expect("a manifest is JSON");
    Manifest::parse(&again).expect("what was written can be read");
}

/// A configuration in an artifact that is right otherwise.
fn configuration(bytes: &[u8]) {
    let manifest = Manifest {
        schema_version: 2,
        media_type: None,
        config: descriptor(CONFIG, bytes),
        layers: vec![descriptor("application/wasm", COMPONENT)],
        annotations: Default::default(),
    };
    let manifest = serde_json::to_vec(&manifest).expect("a manifest is JSON");
    if let Ok(description) = fuzzing::description(manifest, bytes.to_vec()) {
        let _ = description.capabilities();
        assert_eq!(description.config.layer_digests, [digest(COMPONENT)]);
    }
}

fn descriptor(media_type: &str, bytes: &[u8]) -> Descriptor {
    Descriptor {
        media_type: media_type.to_owned(),
        digest: digest(bytes),
        size: bytes.len() as u64,
        annotations: Default::default(),
    }
}
