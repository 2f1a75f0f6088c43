//! Signatures, and the policy that decides what is installed.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use anyhow::{Context, Result};
use serde_json::{Value, json};
use weir_kit::guest::{Grant, of_version};
use weir_kit::sigstore::{Identity, Sigstore};
use weir_kit::{assert_contains, assert_contains_without, assert_lacks};

use crate::registry::skopeo;
use crate::{Case, User, text};

/// A key, as `openssl genpkey` writes it, in the working directory. Returns its public half.
fn key(user: &User, name: &str) -> Result<String> {
    let pair = rcgen::KeyPair::generate()?;
    let file = user.file(name);
    fs::write(&file, pair.serialize_pem())?;
    fs::set_permissions(&file, Permissions::from_mode(0o600))?;
    Ok(pair.public_key_pem())
}

/// A signer of a policy: its name, the plugins that it may provide, and its key.
fn signer(name: &str, plugins: &[&str], public_key: &str) -> Value {
    json!({ "name": name, "plugins": plugins, "publicKey": public_key })
}

/// The words that install the component under a name, with a signature.
fn add_with<'a>(bundle: &'a str, name: &'a str) -> [&'a str; 8] {
    [
        "plugin",
        "add",
        "pinned-gateway.wasm",
        "--replace",
        "--bundle",
        bundle,
        "--name",
        name,
    ]
}

/// Checks what is shown of something that is signed by a key.
#[track_caller]
fn assert_signed(trusted: &Value, signer: &str) {
    let signed = &trusted["signed"];
    let proof = signed["proof"].as_str().unwrap_or_default();
    assert!(proof.starts_with("key sha256:"), "{trusted}");
    assert_eq!(signed["signer"], signer);
}

/// Puts a policy in force. JSON is YAML.
pub fn put_policy(user: &User, spec: &Value) -> Result<()> {
    let policy = json!({ "apiVersion": "weir.dev/v1alpha1", "kind": "PluginPolicy", "spec": spec });
    let file = user.path("root").join("etc/weir/plugin-policy.yaml");
    Ok(fs::write(file, policy.to_string())?)
}

/// What is installed, by `weir plugin list`: the line of `pinned-gateway`.
fn installed(user: &User) -> Result<Value> {
    let listed = user.json(&["plugin", "list"])?;
    let lines = listed.as_array().context("a list")?.iter();
    let mut own = lines.filter(|line| line["name"] == "pinned-gateway");
    Ok(own.next().cloned().unwrap_or_default())
}

/// The plugin store's directories.
fn store(user: &User) -> Result<Vec<String>> {
    let mut names = Vec::new();
    let plugins = user.path("root").join("var/lib/weir/plugins");
    if plugins.exists() {
        for entry in fs::read_dir(plugins)? {
            names.push(entry?.file_name().to_string_lossy().into_owned());
        }
    }
    names.retain(|name| name != ".key");
    Ok(names)
}

/// A plugin in a registry, and a policy by which the key in `release.pem` may provide it.
fn released() -> Result<(Case, Value)> {
    let (case, pushed) = Case::pushed()?;
    let public = key(&case.user, "release.pem")?;
    let signers = json!([signer("release", &["pinned-gateway"], &public)]);
    put_policy(&case.user, &json!({ "signers": signers }))?;
    Ok((case, pushed))
}

#[test]
fn a_signed_plugin_goes_from_its_author_to_a_node() -> Result<()> {
    let (case, pushed) = released()?;
    let user = &case.user;

    // Before it is signed, nobody gets it.
    let refused = user.failure(&["plugin", "pull", &case.reference])?;
    let component = pushed["component"].as_str().context("a digest")?;
    assert_contains(&refused, &["pull `", "not signed", component]);
    assert_eq!(user.files()?, ["release.pem"]);

    let origin = case.by_digest(&pushed)?;
    let sign = ["plugin", "sign", &origin, "--key", "release.pem"];
    let signed = user.json(&sign)?;
    assert_eq!(signed["artifact"], pushed["artifact"]);
    // A second signature of the same artifact does not replace the first.
    user.json(&sign)?;
    let verified = user.json(&["plugin", "verify", &case.reference])?;
    assert_signed(&verified["trusted"], "release");

    let pulled = user.json(&["plugin", "pull", &case.reference])?;
    assert_signed(&pulled["trusted"], "release");
    let files = [
        "pinned-gateway.wasm",
        "pinned-gateway.wasm.origin.json",
        "pinned-gateway.wasm.sigstore.json",
        "release.pem",
    ];
    assert_eq!(user.files()?, files);
    user.json(&["plugin", "add", "pinned-gateway.wasm"])?;
    let line = installed(user)?;
    assert_eq!(line["origin"], origin, "{line:#}");
    assert_signed(&line["trusted"], "release");
    assert_eq!(line["digest"], component);
    assert_eq!(line["grants"], json!([]));
    let shown = user.output(&["plugin", "list"])?;
    let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
    assert_contains(&shown, &[&origin, "signed by release", component]);

    // What other tools see: the list of an artifact's signatures.
    let artifact = pushed["artifact"].as_str().context("a digest")?;
    let tag = artifact.replace(':', "-");
    let list = case
        .registry
        .reference(&format!("plugins/pinned-gateway:{tag}"));
    let list = format!("docker://{list}");
    let raw = skopeo(&["inspect", "--tls-verify=false", "--raw", &list])?;
    let raw: Value = serde_json::from_slice(&raw)?;
    let manifests = raw["manifests"].as_array().context("an index")?;
    assert_eq!(manifests.len(), 2, "{raw:#}");
    let bundle = "application/vnd.dev.sigstore.bundle.v0.3+json";
    assert_eq!(manifests[0]["artifactType"], bundle);
    Ok(())
}

#[test]
fn signatures_are_carried_in_a_layout() -> Result<()> {
    let (case, pushed) = released()?;
    let user = &case.user;
    let artifact = case.by_digest(&pushed)?;
    user.json(&["plugin", "sign", &artifact, "--key", "release.pem"])?;
    for layout in ["pinned-gateway.tar", "layout"] {
        user.json(&["plugin", "save", &case.reference, layout])?;
    }
    drop(case.registry);
    for layout in ["pinned-gateway.tar", "layout"] {
        let loaded = user.json(&["plugin", "load", layout, "--replace"])?;
        assert_signed(&loaded["trusted"], "release");
    }
    user.json(&["plugin", "add", "pinned-gateway.wasm"])?;
    let line = installed(user)?;
    assert_eq!(line["origin"], pushed["artifact"]);

    // Somebody takes the signatures out.
    let index = user.file("layout").join("index.json");
    let mut changed: Value = serde_json::from_slice(&fs::read(&index)?)?;
    let manifests = changed["manifests"].as_array_mut().context("a list")?;
    manifests.truncate(1);
    fs::write(&index, changed.to_string())?;
    let refused = user.failure(&["plugin", "load", "layout", "other.wasm"])?;
    assert_contains(&refused, &["load `layout`", "not signed"]);
    assert!(!user.file("other.wasm").exists());
    Ok(())
}

/// Hostile: a registry, or somebody who may push to it, that wants a signature on a component of its own.
#[test]
fn what_a_tag_names_is_not_signed() -> Result<()> {
    let (case, _) = released()?;
    let user = &case.user;
    let refused = user.failure(&["plugin", "sign", &case.reference, "--key", "release.pem"])?;
    let name = case.registry.reference("plugins/pinned-gateway@sha256:…");
    assert_contains(
        &refused,
        &["sign `", "a tag can be moved", "plugin push", &name],
    );
    Ok(())
}

/// Verifies the component in the working directory.
const VERIFY: [&str; 5] = [
    "plugin",
    "verify",
    "pinned-gateway.wasm",
    "--key",
    "release.pub",
];

/// A file's signature is beside it, and goes to the registry with it.
#[test]
fn a_file_is_signed_and_pushed_with_its_signature() -> Result<()> {
    let case = Case::of(crate::registry::Registry::start()?)?;
    let user = &case.user;
    let public = key(user, "release.pem")?;
    fs::write(user.file("release.pub"), &public)?;
    user.put_component("pinned-gateway")?;
    let sign = [
        "plugin",
        "sign",
        "pinned-gateway.wasm",
        "--key",
        "release.pem",
    ];
    let signed = user.json(&sign)?;
    assert_eq!(signed["signature"], "pinned-gateway.wasm.sigstore.json");
    let again = user.failure(&sign)?;
    assert_contains(
        &again,
        &["`pinned-gateway.wasm.sigstore.json` exists", "--replace"],
    );

    assert_signed(&user.json(&VERIFY)?["trusted"], "release.pub");
    let pushed = user.json(&["plugin", "push", "pinned-gateway.wasm", &case.reference])?;
    assert_eq!(pushed["signatures"], 1);
    let verify = ["plugin", "verify", &case.reference, "--key", "release.pub"];
    user.json(&verify)?;
    fs::write(user.file("other.pub"), key(user, "other.pem")?)?;
    let verify = |target| ["plugin", "verify", target, "--key", "other.pub"];
    assert_contains(
        &user.failure(&verify(&case.reference))?,
        &["verify `", "not made with that key"],
    );

    // A grant for its digest lets it be installed, and says nothing of who signed it.
    let digest = pushed["component"].as_str().context("a digest")?;
    let grant = Grant::nothing("pinned-gateway").document(digest);
    fs::create_dir_all(user.path("root/etc/weir/grants.d"))?;
    fs::write(
        user.path("root/etc/weir/grants.d/pinned-gateway.yaml"),
        grant,
    )?;
    let admitted = user.json(&["plugin", "verify", "pinned-gateway.wasm"])?;
    assert!(admitted["trusted"]["pinned"].is_object(), "{admitted}");
    for target in ["pinned-gateway.wasm", &case.reference] {
        let refused = user.failure(&verify(target))?;
        assert_contains(&refused, &["verify `", "not made with that key"]);
    }
    Ok(())
}

/// As every file of the command line, it is not looked for below `WEIR_ROOT`.
#[test]
fn a_trust_root_of_the_command_line_is_the_file_that_it_names() -> Result<()> {
    let user = User::new()?;
    fs::write(user.file("release.pub"), key(&user, "release.pem")?)?;
    user.put_component("pinned-gateway")?;
    user.sign("pinned-gateway.wasm")?;
    fs::write(user.file("root.json"), "{}")?;
    fs::set_permissions(user.file("root.json"), Permissions::from_mode(0o644))?;
    let verify = [&VERIFY[..], &["--trust-root", "root.json"]].concat();
    let refused = user.failure(&verify)?;
    let file = user.file("root.json");
    assert_contains_without(&refused, &[text(&file)?], &["No such file"]);
    Ok(())
}

/// It may be beside a component that was built again.
#[test]
fn the_signature_of_another_component_is_not_pushed() -> Result<()> {
    let (case, _) = released()?;
    let user = &case.user;
    user.put_component("pinned-gateway")?;
    user.sign("pinned-gateway.wasm")?;
    fs::copy(
        weir_kit::component("route-override"),
        user.file("pinned-gateway.wasm"),
    )?;
    let refused = user.failure(&["plugin", "push", "pinned-gateway.wasm", &case.reference])?;
    assert_contains(
        &refused,
        &[
            "push a signature of `pinned-gateway.wasm`",
            "for another component",
        ],
    );
    Ok(())
}

/// Each is refused with the check that failed, leaves nothing behind, and what is installed stays.
#[test]
fn what_the_policy_does_not_allow_is_not_installed() -> Result<()> {
    let user = &User::new()?;
    let own = weir_kit::component("pinned-gateway");
    fs::copy(&own, user.file("pinned-gateway.wasm"))?;
    let (release, other) = (key(user, "release.pem")?, key(user, "other.pem")?);
    let sigstore = Sigstore::new()?;
    let root = user.path("root").join("etc/weir/trusted_root.json");
    fs::write(&root, sigstore.trust_root().to_string())?;
    let acme = Identity {
        subject: "https://git.example/acme/pinned-gateway/release.yml@refs/tags/v1",
        issuer: "https://issuer.example",
        expired: false,
    };
    let spec = json!({
        "trustRoot": "/etc/weir/trusted_root.json",
        "signers": [
            signer("release", &["pinned-gateway"], &release),
            signer("others", &["bridge-*"], &other),
            { "name": "acme", "plugins": ["mine"], "keyless": { "identity": acme.subject, "issuer": acme.issuer } },
        ],
    });
    put_policy(user, &spec)?;
    user.sign("pinned-gateway.wasm")?;
    let before = user.json(&["plugin", "add", "pinned-gateway.wasm"])?;
    assert_signed(&before["trusted"], "release");

    let bytes = fs::read(&own)?;
    for (name, identity, part) in [
        (
            "like",
            Identity {
                subject: "https://git.example/acme/pinned-gateway/release.yml@refs/tags/v1/",
                ..acme
            },
            "identity",
        ),
        (
            "issuer",
            Identity {
                issuer: "https://issuer.example/",
                ..acme
            },
            "issuer",
        ),
        (
            "expired",
            Identity {
                expired: true,
                ..acme
            },
            "certificate",
        ),
    ] {
        let bundle = sigstore.sign(&bytes, identity)?;
        fs::write(user.file(name), bundle.to_string())?;
        let refused = user.failure(&add_with(name, "mine"))?;
        assert_contains(&refused, &["plugin `mine` is not installed", part]);
    }
    let bundle = sigstore.sign(&bytes, acme)?;
    fs::write(user.file("acme"), bundle.to_string())?;
    let added = user.json(&add_with("acme", "mine"))?;
    assert_eq!(added["trusted"]["signed"]["identity"], acme.subject);
    user.json(&["plugin", "remove", "mine"])?;

    // A signature for another component, by another plugin's signer, of too many bytes; and none.
    let mut bundle = fs::read(user.file("pinned-gateway.wasm.sigstore.json"))?;
    let sign = [
        "plugin",
        "sign",
        "pinned-gateway.wasm",
        "--key",
        "other.pem",
        "--bundle",
        "by-other",
    ];
    user.json(&sign)?;
    bundle.resize((1 << 20) + 1, b' ');
    fs::write(user.file("long"), &bundle)?;
    let foreign = sigstore.sign(b"another component", acme)?;
    fs::write(user.file("foreign"), foreign.to_string())?;
    for (bundle, name, parts) in [
        (
            "by-other",
            "pinned-gateway",
            &["not made with that key"][..],
        ),
        ("by-other", "third", &["no signer", "signed by `others`"]),
        ("foreign", "mine", &["for another component"]),
        ("long", "pinned-gateway", &["larger than 1048576"]),
        ("nothing", "pinned-gateway", &["`nothing` does not exist"]),
    ] {
        assert_contains(&user.failure(&add_with(bundle, name))?, parts);
    }
    fs::remove_file(user.file("pinned-gateway.wasm.sigstore.json"))?;
    let refused = user.failure(&["plugin", "add", "pinned-gateway.wasm", "--replace"])?;
    assert_contains(&refused, &["not signed", "--digest"]);

    // Refused, although signed and pinned.
    let mut refusing = spec;
    refusing["refused"] = json!([{ "digest": before["digest"], "reason": "CVE-2026-1" }]);
    put_policy(user, &refusing)?;
    let digest = before["digest"].as_str().context("a digest")?;
    let words = [
        "plugin",
        "add",
        "pinned-gateway.wasm",
        "--replace",
        "--digest",
        digest,
    ];
    assert_contains(&user.failure(&words)?, &["is refused", "CVE-2026-1"]);

    assert_eq!(store(user)?, ["pinned-gateway"]);
    assert_eq!(installed(user)?["digest"], before["digest"]);
    assert_signed(&installed(user)?["trusted"], "release");
    Ok(())
}

#[test]
fn a_digest_is_as_good_as_a_signature() -> Result<()> {
    let (case, pushed) = Case::pushed()?;
    let user = &case.user;
    fs::remove_file(user.path("root").join("etc/weir/plugin-policy.yaml"))?;
    let refused = user.failure(&["plugin", "pull", &case.reference])?;
    assert_contains(&refused, &["not signed", "there is no policy"]);
    let artifact = pushed["artifact"].as_str().context("a digest")?;
    let pinned = case
        .registry
        .reference(&format!("plugins/pinned-gateway@{artifact}"));
    let output = user.output(&["plugin", "pull", &pinned])?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let component = pushed["component"].as_str().context("a digest")?;
    assert_contains(
        &said,
        &[&format!(
            "weir plugin add pinned-gateway.wasm --digest {component}"
        )],
    );
    let refused = user.failure(&["plugin", "add", "pinned-gateway.wasm"])?;
    assert_contains(&refused, &["not signed", component]);
    let add = ["plugin", "add", "pinned-gateway.wasm", "--digest"];
    let wrong = format!("sha256:{}", "0".repeat(64));
    let refused = user.failure(&[&add[..], &[&*wrong]].concat())?;
    assert_contains(&refused, &["is component", component, &wrong]);
    user.json(&[&add[..], &[component]].concat())?;
    assert_eq!(installed(user)?["trusted"]["pinned"]["by"], "--digest");

    // So is a grant that names the digest.
    user.json(&["plugin", "remove", "pinned-gateway"])?;
    let grant = fs::read_to_string(weir_kit::house().join("examples/pinned-gateway/grant.yaml"))?;
    let plugin = "plugin:\n    name: pinned-gateway\n";
    let named = grant.replace(plugin, &format!("{plugin}    digest: {component}\n"));
    let grants = user.path("root").join("etc/weir/grants.d");
    fs::create_dir_all(&grants)?;
    fs::write(grants.join("pinned-gateway.yaml"), named)?;
    user.json(&["plugin", "add", "pinned-gateway.wasm"])?;
    let by = installed(user)?;
    assert_contains(&by.to_string(), &["the grant `", "pinned-gateway.yaml"]);
    Ok(())
}

/// What is beside a file is not believed without a check.
#[test]
fn the_origin_of_another_component_is_refused() -> Result<()> {
    let (case, _) = Case::pushed()?;
    let user = &case.user;
    user.json(&["plugin", "pull", &case.reference])?;
    let origin = fs::read_to_string(user.file("pinned-gateway.wasm.origin.json"))?;
    let mut forged: Value = serde_json::from_str(&origin)?;
    forged["reference"] = json!("registry.example.com/acme/pinned-gateway@sha256:00");
    fs::write(
        user.file("pinned-gateway.wasm.origin.json"),
        forged.to_string(),
    )?;
    let refused = user.failure(&["plugin", "add", "pinned-gateway.wasm"])?;
    assert_contains(
        &refused,
        &[
            "pinned-gateway.wasm.origin.json",
            "does not have the digest",
        ],
    );

    fs::write(user.file("pinned-gateway.wasm.origin.json"), &origin)?;
    let other = weir_kit::component("route-override");
    fs::copy(other, user.file("pinned-gateway.wasm"))?;
    let refused = user.failure(&["plugin", "add", "pinned-gateway.wasm"])?;
    assert_contains(
        &refused,
        &["pinned-gateway.wasm.origin.json", "it is of component"],
    );
    assert!(store(user)?.is_empty());
    assert_lacks(&refused, &["installed plugin"]);
    Ok(())
}

/// A mistake in the policy lets nothing in.
#[test]
fn a_policy_with_a_mistake_or_of_somebody_else_lets_nothing_in() -> Result<()> {
    let user = &User::new()?;
    let file = weir_kit::component("pinned-gateway");
    let add = ["plugin", "add", text(&file)?];
    let policy = user.path("root").join("etc/weir/plugin-policy.yaml");
    let mut content = fs::read_to_string(&policy)?;
    fs::set_permissions(&policy, Permissions::from_mode(0o666))?;
    assert_contains(&user.failure(&add)?, &["is not used", "0666", "chmod go-w"]);
    fs::set_permissions(&policy, Permissions::from_mode(0o644))?;
    content += "  unsinged: []\n";
    fs::write(&policy, content)?;
    let refused = user.failure(&add)?;
    assert_contains(
        &refused,
        &["plugin-policy.yaml:5:3: ", "did you mean `unsigned`?"],
    );
    assert!(store(user)?.is_empty());
    Ok(())
}

/// It is shown and compared, and nothing is put in force.
#[test]
fn a_proposed_grant_is_shown_when_the_plugin_is_added() -> Result<()> {
    let user = &User::new()?;
    user.put_component("pinned-gateway")?;
    let grant = fs::read_to_string(weir_kit::house().join("examples/pinned-gateway/grant.yaml"))?;
    fs::write(user.file("pinned-gateway.grant.yaml"), &grant)?;
    let output = user.output(&["plugin", "add", "pinned-gateway.wasm"])?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let parts = [
        "its author proposes the grant in pinned-gateway.grant.yaml, which is not in force",
        "\n  neighbour - ",
        "No grant is in force",
    ];
    assert_contains(&said, &parts);
    let grants = user.path("root").join("etc/weir/grants.d");
    assert!(!grants.exists());

    // In force is one without neighbours.
    let added = user.json(&["plugin", "add", "pinned-gateway.wasm", "--replace"])?;
    assert_eq!(added["proposal"]["document"]["kind"], "PluginGrant");
    let digest = added["digest"].as_str().context("a digest")?;
    fs::create_dir_all(&grants)?;
    let own = json!({
        "apiVersion": "weir.dev/v1alpha1",
        "kind": "PluginGrant",
        "metadata": { "name": "pinned-gateway" },
        "spec": { "plugin": { "name": "pinned-gateway", "digest": digest }, "networks": ["*"] },
    });
    fs::write(grants.join("pinned-gateway.yaml"), own.to_string())?;
    let before = fs::read(grants.join("pinned-gateway.yaml"))?;
    let output = user.output(&["plugin", "add", "pinned-gateway.wasm", "--replace"])?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let parts = ["From the grant in force", "With the second, a plugin can"];
    assert_contains(&said, &parts);
    assert_eq!(fs::read(grants.join("pinned-gateway.yaml"))?, before);

    // Each grant in force is compared, also if another version replaces the one that they are for.
    for name in ["pinned-gateway", "second"] {
        let mut grant = own.clone();
        grant["metadata"]["name"] = json!(name);
        grant["spec"]["networks"] = json!([name]);
        fs::write(grants.join(format!("{name}.yaml")), grant.to_string())?;
    }
    fs::write(
        user.file("pinned-gateway.wasm"),
        of_version("pinned-gateway", "0.3.0")?,
    )?;
    let added = user.json(&["plugin", "add", "pinned-gateway.wasm", "--replace"])?;
    assert_ne!(added["digest"], digest);
    let digest = added["digest"].as_str().context("a digest")?;
    let compared = added["proposal"]["differences"].as_array();
    let compared = compared.context("a list")?.iter();
    let compared: Vec<&str> = compared
        .filter_map(|one| one["grant"].as_str()?.rsplit('/').next())
        .collect();
    assert_eq!(compared, ["pinned-gateway.yaml", "second.yaml"]);

    fs::write(user.file("pinned-gateway.grant.yaml"), "kind: Other")?;
    let refused = user.failure(&["plugin", "add", "pinned-gateway.wasm", "--replace"])?;
    assert_contains(
        &refused,
        &["not installed", "pinned-gateway.grant.yaml", "kind"],
    );
    assert_eq!(installed(user)?["digest"], digest);
    Ok(())
}
