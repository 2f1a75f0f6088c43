//! The policy: what it lets in, its mistakes, and who could have written it.

use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt, chown};

use weir_kit::assert_contains;

use super::*;

const POLICY: &str = "etc/weir/plugin-policy.yaml";

/// Why a policy is not used.
fn mistakes(spec: &str) -> String {
    let loaded = Policy::load(&Node::new(spec).paths());
    loaded.expect_err("it is wrong").to_string()
}

#[test]
fn without_a_policy_only_a_digest_lets_in() {
    let node = Node::new("  unsigned: []");
    std::fs::remove_file(node.root.path().join(POLICY)).expect("removed");
    let key = key();
    node.refuses(&[], &["not signed", "there is no policy", "--digest"]);
    node.refuses(
        &[signed(&key, COMPONENT)],
        &["it is signed, but there is no policy"],
    );
    let policy = Policy::load(&node.paths()).expect("none");
    let pinned = [(digest(COMPONENT), "--digest".to_owned())];
    let candidate = Candidate {
        name: Some("labels"),
        component: COMPONENT,
        manifest: None,
        bundles: &[],
        pinned: &pinned,
    };
    let by = "--digest".to_owned();
    assert_eq!(
        policy.admit(&candidate).expect("let in"),
        Admitted::Pinned { by }
    );
    let other = Candidate {
        component: OTHER,
        ..candidate
    };
    assert!(policy.admit(&other).is_err());
}

#[test]
fn a_policy_allows_unsigned_and_pinned_components() {
    let unsigned = Node::new("  unsigned: [la*, other]");
    assert_eq!(unsigned.admit(&[]).expect("let in"), Admitted::Unsigned);
    assert!(unsigned.admit_as("bridge-2", &[]).is_err());
    assert!(unsigned.admit_as("other-2", &[]).is_err());

    let own = digest(COMPONENT);
    let pinned = Node::new(&format!(
        "  pinned:\n    - {{plugin: labels, digest: {own}}}"
    ));
    assert!(matches!(pinned.admit(&[]), Ok(Admitted::Pinned { .. })));
    let key = key();
    let both = Node::new(&format!(
        "  pinned:\n    - {{plugin: labels, digest: {own}}}\n  signers:\n{}",
        signer("release", "labels", &key)
    ));
    let signed_too = both.admit(&[signed(&key, COMPONENT)]);
    assert_eq!(signer_of(signed_too), "release");
    let not_by_them = both.admit(&[signed(&self::key(), COMPONENT)]);
    assert!(matches!(not_by_them, Ok(Admitted::Pinned { .. })));
    // Of another name it is another plugin.
    assert!(pinned.admit_as("other", &[]).is_err());
}

/// No signer is named for the plugin, and what is wrong with the signature is not that.
#[test]
fn the_signature_of_another_component_is_said_to_be_that() {
    let key = key();
    let node = Node::new(&format!("  signers:\n{}", signer("release", "other", &key)));
    node.refuses(
        &[signed(&key, OTHER)],
        &["the signature is for another component"],
    );
    node.refuses(
        &[signed(&key, COMPONENT)],
        &["it is signed by `release`, who may provide others"],
    );
    node.refuses(
        &[signed(&self::key(), COMPONENT)],
        &["its signer is not in the policy"],
    );
}

#[test]
fn a_refused_digest_counts_before_all_else() {
    let key = key();
    let own = digest(COMPONENT);
    let node = Node::new(&format!(
        "  unsigned: [labels]\n  pinned:\n    - {{plugin: labels, digest: {own}}}\n  refused:\n    - {{digest: {own}, reason: \
         CVE-2026-1}}\n  signers:\n{}",
        signer("release", "labels", &key)
    ));
    let parts = [&format!("component {own} is refused"), "CVE-2026-1"];
    node.refuses(&[signed(&key, COMPONENT)], &parts);
    node.refuses(&[], &parts);

    // The artifact's digest counts as well.
    let manifest = b"a manifest";
    let artifact: Digest = digest(manifest);
    let node = Node::new(&format!(
        "  unsigned: [labels]\n  refused:\n    - digest: {artifact}"
    ));
    let policy = Policy::load(&node.paths()).expect("a policy");
    let refused = policy.admit(&Candidate {
        name: Some("labels"),
        component: COMPONENT,
        manifest: Some(manifest),
        bundles: &[],
        pinned: &[],
    });
    let again = policy.check_installed(&own, Some(&artifact));
    assert_contains(
        &again.expect_err("refused").to_string(),
        &["artifact", "is refused"],
    );
    policy.check_installed(&own, None).expect("not refused");
    let expected = format!("artifact {artifact} is refused");
    assert_contains(&refused.expect_err("refused").to_string(), &[&expected]);
}

/// Before anything of it runs, and it may say its name.
#[test]
fn without_a_name_it_is_decided_whether_it_may_have_any() {
    let (key, own) = (key(), digest(COMPONENT));
    let node = Node::new(&format!(
        "  signers:\n{}",
        signer("release", "labels", &key)
    ));
    let admit = |node: &Node, bundles: &[Vec<u8>]| {
        let policy = Policy::load(&node.paths())?;
        policy.admit(&Candidate {
            name: None,
            component: COMPONENT,
            manifest: None,
            bundles,
            pinned: &[],
        })
    };
    assert_eq!(
        signer_of(admit(&node, &[signed(&key, COMPONENT)])),
        "release"
    );
    for bundles in [
        vec![],
        vec![signed(&self::key(), COMPONENT)],
        vec![signed(&key, OTHER)],
    ] {
        admit(&node, &bundles).expect_err("nobody of the policy signed it");
    }
    let unsigned = Node::new("  unsigned: [la*]");
    assert_eq!(admit(&unsigned, &[]).expect("let in"), Admitted::Unsigned);
    let pinned = Node::new(&format!("  pinned: [{{plugin: labels, digest: {own}}}]"));
    assert!(matches!(admit(&pinned, &[]), Ok(Admitted::Pinned { .. })));
    let refused = Node::new(&format!(
        "  unsigned: [\"*\"]\n  refused: [{{digest: {own}}}]"
    ));
    admit(&refused, &[]).expect_err("it is refused");
}

#[test]
fn another_key_of_the_same_name_is_another_proof() {
    let (first, second) = (key(), key());
    let proof = |key: &SigningKey, plugin: &str| {
        let node = Node::new(&format!("  signers:\n{}", signer("release", "labels", key)));
        let policy = Policy::load(&node.paths()).expect("a policy");
        policy
            .proof("release", plugin)
            .expect("no trust root is needed")
    };
    let known = proof(&first, "labels").expect("it may provide that");
    assert!(known.starts_with("key sha256:"), "{known}");
    assert_eq!(proof(&first, "labels"), Some(known.clone()));
    assert_ne!(proof(&second, "labels"), Some(known));
    assert_eq!(proof(&first, "bridge-2"), None);
}

#[test]
fn a_mistake_is_found_with_its_place() {
    let said = mistakes("  unsinged: [labels]");
    assert_contains(
        &said,
        &["plugin-policy.yaml:4:3: ", "`unsinged`", "`unsigned`"],
    );
    for (spec, parts) in [
        (
            "  signers:\n    - {name: a, plugins: [b], key: c}",
            ["plugin-policy.yaml:5:31: ", "`key`"],
        ),
        (
            "  signers:\n    - {name: a, plugins: [b]}",
            ["either `publicKey` or `keyless`", ":5:"],
        ),
        (
            "  signers:\n    - {name: a, plugins: [b], publicKey: c}",
            ["publicKey", ":5:"],
        ),
        ("  unsigned: [\"l*s\"]", ["not at its end", ":4:14: "]),
        ("  unsigned: [\"\"]", ["is empty", ":4:14: "]),
        (
            "  signers:\n    - {name: a, plugins: [\"*ls\"], publicKey: c}",
            ["not at its end", ":5:27: "],
        ),
        ("  unsigned: [\"../x\"]", ["plugin name", ":4:14: "]),
        (
            "  pinned:\n    - {plugin: \"lab*\", digest: x}",
            ["plugin name", ":5:16: "],
        ),
        (
            "  unsigned: []\n  trustRoot: a",
            ["expected an absolute path", ":5:14: "],
        ),
        ("  refused: [{digest: sha256:1}]", ["digest", ":4:"]),
        (
            "  trustRoot: trusted_root.json",
            ["absolute path", "trustRoot"],
        ),
        ("  pinned: [{digest: x, plugin: y, z: 1}]", ["`z`", ":4:"]),
    ] {
        assert_contains(&mistakes(spec), &parts);
    }
    let one = mistakes(
        "  signers:\n    - {name: a, plugins: [\"*ls\"], keyless: {identity: b, issuer: c}}",
    );
    assert_eq!(one.lines().count(), 1, "{one}");
    let key = key();
    let twice = format!(
        "  unsigned: []\n  signers:\n{0}{0}",
        signer("release", "labels", &key)
    );
    let lines = twice.lines().enumerate();
    let named = lines.filter(|(_, line)| line.contains("name: release"));
    let (line, _) = named.last().expect("two lines");
    let place = format!(":{}:7: signer `release` is there twice", line + 4);
    assert_contains(&mistakes(&twice), &[&place]);
    let needed = "  signers:\n    - {name: a, plugins: [b], keyless: {identity: d, issuer: c}}\n    - {name: b, plugins: [b], keyless: {identity: d, issuer: c}}";
    assert_contains(
        &mistakes(needed),
        &["`trustRoot` is missing", "`a` and `b` need"],
    );
    let keyless = |identity: &str| {
        format!(
            "  trustRoot: /a\n  signers:\n    - name: a\n      plugins: [b]\n      keyless: {{identity: {identity:?}, issuer: c}}"
        )
    };
    for identity in [
        "*",
        "https://*",
        "https://github.com*",
        "a@*",
        "release*",
        "https:///*",
    ] {
        assert_contains(&mistakes(&keyless(identity)), &["leaves open whose it is"]);
    }
    assert!(Policy::load(&Node::new(&keyless("https://github.com/a/*")).paths()).is_ok());
    let without = keyless("a@b").replace("  trustRoot: /a\n", "");
    assert_contains(&mistakes(&without), &["which signer `a` needs"]);
}

#[test]
fn it_is_a_policy_of_this_version() {
    let node = Node::new("  unsigned: [labels]");
    for (text, part) in [
        (
            "apiVersion: weir.dev/v2\nkind: PluginPolicy\nspec: {}",
            "apiVersion",
        ),
        (
            "apiVersion: weir.dev/v1alpha1\nkind: PluginGrant\nspec: {}",
            "kind",
        ),
        ("", "empty"),
    ] {
        node.write(POLICY, text.as_bytes());
        node.refuses(&[], &["plugin-policy.yaml", part]);
    }
}

#[test]
fn a_policy_that_others_could_have_written_is_not_used() {
    let node = Node::new("  unsigned: [labels]");
    let file = node.root.path().join(POLICY);
    for mode in [0o664, 0o646] {
        std::fs::set_permissions(&file, Permissions::from_mode(mode)).expect("a mode");
        let parts = [
            "is not used",
            "plugin-policy.yaml",
            &format!("{mode:04o}"),
            "chmod go-w",
        ];
        node.refuses(&[], &parts);
    }
    std::fs::set_permissions(&file, Permissions::from_mode(0o644)).expect("a mode");
    assert!(node.admit(&[]).is_ok());
    let directory = file.parent().expect("a directory");
    std::fs::set_permissions(directory, Permissions::from_mode(0o777)).expect("a mode");
    node.refuses(&[], &["is not used", "0777"]);
    std::fs::set_permissions(directory, Permissions::from_mode(0o755)).expect("a mode");
    // Only root can give a file away.
    if chown(&file, Some(12345), None).is_ok() {
        node.refuses(&[], &["is not used", "belongs to user 12345"]);
    }
}
