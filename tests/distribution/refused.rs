//! Malicious registries, artifacts and archives: each gets one error that names the check that failed, leaves nothing anywhere,
//! and the plugin that is installed stays as it is.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use tempfile::TempDir;
use weir_distribution::digest;
use weir_kit::sigstore::{Identity, Sigstore};
use weir_kit::{assert_contains, component};

use crate::forged::Forged;
use crate::signatures::put_policy;
use crate::{User, text};

/// Who may provide `pinned-gateway` by an identity.
const ACME: Identity<'_> = Identity {
    subject: "https://git.example/acme/pinned-gateway/release.yml@refs/tags/v1.2.0",
    issuer: "https://issuer.example",
    expired: false,
};

/// A custom section, by which a component differs from the same one without it.
const SECTION: [u8; 6] = [0, 4, 3, b'o', b'l', b'd'];

/// A user who has a version of `pinned-gateway` installed, and what somebody else made for them.
struct Attacked {
    user: User,
    elsewhere: TempDir,
    component: Vec<u8>,
    before: BTreeMap<PathBuf, String>,
    listed: Value,
}

impl Attacked {
    fn new() -> Result<Self> {
        let user = User::new()?;
        let component = fs::read(component("pinned-gateway"))?;
        let elsewhere = TempDir::with_prefix("weir-forged-")?;
        let old = elsewhere.path().join("pinned-gateway.wasm");
        fs::write(&old, [&component[..], &SECTION].concat())?;
        user.json(&["plugin", "add", text(&old)?])?;
        let listed = user.json(&["plugin", "list"])?;
        Ok(Self {
            before: files(user.home.path())?,
            listed,
            user,
            elsewhere,
            component,
        })
    }

    /// The same on a node that lets in what this signer signed.
    fn with_signer(signer: &Value, trust_root: Option<&Sigstore>) -> Result<Self> {
        let mut attacked = Self::new()?;
        let mut spec = json!({ "signers": [signer] });
        if let Some(sigstore) = trust_root {
            let file = attacked.user.path("root/etc/weir/trusted_root.json");
            fs::write(file, sigstore.trust_root().to_string())?;
            spec["trustRoot"] = json!("/etc/weir/trusted_root.json");
        }
        put_policy(&attacked.user, &spec)?;
        attacked.before = files(attacked.user.home.path())?;
        Ok(attacked)
    }

    fn elsewhere(&self, name: &str) -> PathBuf {
        self.elsewhere.path().join(name)
    }

    /// Runs weir, which must fail with one error in these words and change no file.
    fn is_refused(&self, words: &[&str], parts: &[&str]) -> Result<()> {
        let complaint = self.user.failure(words)?;
        assert_contains(&complaint, parts);
        let errors = complaint.lines().filter(|line| line.starts_with("weir: "));
        assert_eq!(errors.count(), 1, "{complaint}");
        assert!(complaint.starts_with("weir: "), "{complaint}");
        let after = files(self.user.home.path())?;
        assert_eq!(after, self.before, "after {words:?}");
        assert_eq!(self.user.json(&["plugin", "list"])?, self.listed);
        Ok(())
    }

    fn does_not_load(&self, layout: &Path, parts: &[&str]) -> Result<()> {
        let layout = text(layout)?;
        let load = format!("load `{layout}`");
        self.is_refused(&["plugin", "load", layout], &[&[&*load], parts].concat())
    }

    /// It is refused as a layout and in a registry.
    fn gets(&self, forged: &Forged, parts: &[&str]) -> Result<()> {
        let layout = TempDir::with_prefix("weir-forged-")?;
        forged.write(layout.path())?;
        self.does_not_load(layout.path(), parts)?;
        let server = forged.serve()?;
        let reference = format!("{}/plugins/pinned-gateway:1.2.0", server.address);
        let pull = format!("pull `{reference}`");
        self.is_refused(
            &["plugin", "pull", &reference],
            &[&[&*pull], parts].concat(),
        )
    }

    /// It is refused as a layout, in a registry, and as a file with a signature beside it.
    fn gets_signed(&self, bundle: &Value, parts: &[&str]) -> Result<()> {
        let bundle = bundle.to_string().into_bytes();
        let forged = Forged {
            bundles: vec![bundle.clone()],
            ..Forged::of(&self.component)
        };
        self.gets(&forged, parts)?;
        let file = self.elsewhere("new.wasm");
        fs::write(&file, &self.component)?;
        fs::write(self.elsewhere("new.wasm.sigstore.json"), bundle)?;
        let add = ["plugin", "add", text(&file)?, "--replace"];
        let not_installed = "is not installed: ";
        self.is_refused(&add, &[&[not_installed], parts].concat())
    }
}

/// The files below a directory, with what is in them.
fn files(directory: &Path) -> Result<BTreeMap<PathBuf, String>> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_dir() {
            files.extend(self::files(&path)?);
        }
        let content = fs::read(&path).map(|content| digest(&content).to_string());
        files.insert(path, content.unwrap_or_default());
    }
    Ok(files)
}

fn add_as_plugin(file: &Path) -> Result<[&str; 6]> {
    let file = text(file)?;
    Ok([
        "plugin",
        "add",
        file,
        "--name",
        "pinned-gateway",
        "--replace",
    ])
}

/// Packs a layout with `tar`, under other names.
fn pack(layout: &Path, options: &[&str], archive: &Path) -> Result<()> {
    let mut tar = Command::new("tar");
    tar.arg("-C")
        .arg(layout)
        .args(options)
        .arg("-cf")
        .arg(archive);
    let status = tar.args(["oci-layout", "index.json", "blobs"]).status();
    ensure!(status.context("run tar")?.success(), "{tar:?}");
    Ok(())
}

#[test]
fn an_archive_that_leads_out_of_itself_writes_nothing() -> Result<()> {
    let attacked = Attacked::new()?;
    let layout = attacked.elsewhere("layout");
    Forged::of(&attacked.component).write(&layout)?;
    let archive = attacked.elsewhere("layout.tar");
    pack(&layout, &[], &archive)?;
    let honest = attacked.elsewhere("honest.wasm");
    attacked
        .user
        .json(&["plugin", "load", text(&archive)?, text(&honest)?])?;
    let grants = attacked.user.path("root/etc/weir/grants.d/evil.yaml");
    for name in [
        "../root/var/lib/weir/plugins/pinned-gateway/evil",
        "../../evil",
        text(&grants)?,
    ] {
        let rename = format!("--transform=s,^oci-layout$,{name},");
        pack(&layout, &["-P", &rename], &archive)?;
        attacked.does_not_load(&archive, &[name, "leads out of the archive"])?;
    }
    // A link in the place of a file, in an archive and in a directory.
    let index = layout.join("index.json");
    fs::rename(&index, attacked.elsewhere("index.json"))?;
    std::os::unix::fs::symlink(attacked.elsewhere("index.json"), &index)?;
    pack(&layout, &[], &archive)?;
    attacked.does_not_load(&archive, &["`index.json` is of type `Symlink`"])?;
    attacked.does_not_load(&layout, &["`index.json`"])
}

/// 128 MiB of zeros in 128 KiB.
fn bomb(file: &Path) -> Result<Vec<u8>> {
    let zeros = file.with_extension("zeros");
    File::create(&zeros)?.set_len(128 << 20)?;
    let mut gzip = Command::new("gzip");
    gzip.arg("-1")
        .stdin(File::open(zeros)?)
        .stdout(File::create(file)?);
    let status = gzip.stderr(Stdio::inherit()).status();
    ensure!(status.context("run gzip")?.success(), "{gzip:?}");
    Ok(fs::read(file)?)
}

#[test]
fn a_decompression_bomb_is_not_unpacked() -> Result<()> {
    let attacked = Attacked::new()?;
    let file = attacked.elsewhere("layout.tar.gz");
    let bomb = bomb(&file)?;
    attacked.does_not_load(&file, &["compressed with gzip", "does not unpack"])?;
    let layer = |kind| Forged {
        layer_types: vec![kind],
        ..Forged::of(&bomb)
    };
    let named = "application/wasm+gzip";
    attacked.gets(&layer(named), &[named, "not compressed"])?;
    attacked.gets(&layer("application/wasm"), &["not a WebAssembly component"])
}

#[test]
fn another_media_type_or_several_layers_are_refused() -> Result<()> {
    let attacked = Attacked::new()?;
    let honest = Forged::of(&attacked.component);
    let image = Forged {
        config_type: "application/vnd.oci.image.config.v1+json",
        ..honest.clone()
    };
    attacked.gets(&image, &["the artifact is not a WebAssembly component"])?;
    let module = Forged {
        layer_types: vec!["application/vnd.wasm.content.layer.v1+wasm"],
        ..honest.clone()
    };
    attacked.gets(&module, &["instead of `application/wasm`"])?;
    let two = Forged {
        layer_types: vec!["application/wasm"; 2],
        ..honest
    };
    attacked.gets(&two, &["it has 2 layers instead of one"])
}

/// Nothing can have its own digest in it; a registry answers with the same index whatever is asked for.
#[test]
fn an_index_that_leads_to_itself_is_not_followed() -> Result<()> {
    let attacked = Attacked::new()?;
    let index = "application/vnd.oci.image.index.v1+json";
    let itself = digest(b"itself").to_string();
    let inner = json!({
        "schemaVersion": 2,
        "mediaType": index,
        "manifests": [{ "mediaType": index, "digest": itself, "size": 6 }],
    });
    let forged = Forged {
        manifest: Some(inner),
        ..Forged::of(&attacked.component)
    };
    let layout = attacked.elsewhere("layout");
    forged.write(&layout)?;
    attacked.does_not_load(&layout, &[index, "an index within it is not followed"])?;
    let server = forged.serve()?;
    let reference = format!("{}/plugins/pinned-gateway:1.2.0", server.address);
    attacked.is_refused(
        &["plugin", "pull", &reference],
        &["it is an index", &itself],
    )?;
    assert_eq!(server.paths(), ["manifests/1.2.0"]);
    Ok(())
}

#[test]
fn a_component_of_another_world_is_refused() -> Result<()> {
    let attacked = Attacked::new()?;
    let empty = b"\0asm\x0d\0\x01\0".to_vec();
    let module = b"\0asm\x01\0\0\0".to_vec();
    for (bytes, why) in [
        (fs::read(component("stranger"))?, "stranger:house/backdoor"),
        (fs::read(component("sockets"))?, "wasi:sockets"),
        (empty, "is not a plugin for weir"),
        (module, "not a WebAssembly component"),
    ] {
        attacked.gets(&Forged::of(&bytes), &[why])?;
        let file = attacked.elsewhere("pinned-gateway.wasm");
        fs::write(&file, bytes)?;
        let add = add_as_plugin(&file)?;
        attacked.is_refused(&add, &["pinned-gateway.wasm", why])?;
    }
    Ok(())
}

/// What may not be installed under any name is neither compiled nor run, so it cannot fail in a way of its own.
#[test]
fn what_the_policy_refuses_is_not_compiled() -> Result<()> {
    let attacked = Attacked::with_signer(&acme(), Some(&Sigstore::new()?))?;
    // The compiler refuses it.
    let broken = b"\0asm\x0d\0\x01\0\xff".to_vec();
    let is = digest(&broken).to_string();
    attacked.gets(&Forged::of(&broken), &["it is not signed"])?;
    let file = attacked.elsewhere("pinned-gateway.wasm");
    fs::write(&file, broken)?;
    let add = add_as_plugin(&file)?;
    attacked.is_refused(&add, &["it is not signed"])?;
    let zeros = format!("sha256:{}", "0".repeat(64));
    let other = [&add[..], &["--digest", &zeros]].concat();
    attacked.is_refused(&other, &[&is, &zeros])?;
    attacked.is_refused(&["plugin", "verify", text(&file)?], &["it is not signed"])?;
    let pinned = [&add[..], &["--digest", &is]].concat();
    attacked.is_refused(&pinned, &["not a WebAssembly component"])
}

/// Also where the policy would let it in.
#[test]
fn another_component_than_the_one_that_is_wanted_is_refused() -> Result<()> {
    let attacked = Attacked::new()?;
    let is = digest(&attacked.component).to_string();
    let zeros = format!("sha256:{}", "0".repeat(64));
    let layout = TempDir::with_prefix("weir-forged-")?;
    Forged::of(&attacked.component).write(layout.path())?;
    let file = attacked.elsewhere("other.wasm");
    fs::write(&file, &attacked.component)?;
    for words in [
        ["plugin", "load", text(layout.path())?],
        ["plugin", "add", text(&file)?],
    ] {
        let words = [&words[..], &["--digest", &zeros]].concat();
        attacked.is_refused(&words, &[&is, &zeros])?;
    }
    Ok(())
}

#[test]
fn a_signature_for_another_digest_is_refused() -> Result<()> {
    let sigstore = Sigstore::new()?;
    let attacked = Attacked::with_signer(&acme(), Some(&sigstore))?;
    let for_other = sigstore.sign(b"another component", ACME)?;
    let parts = [
        "is for another component",
        &digest(b"another component").to_string(),
        &digest(&attacked.component).to_string(),
    ];
    attacked.gets_signed(&for_other, &parts)?;

    // It says that it is for this one.
    let mut relabelled = for_other;
    let own = sigstore.sign(&attacked.component, ACME)?;
    relabelled["messageSignature"]["messageDigest"] =
        own["messageSignature"]["messageDigest"].clone();
    attacked.gets_signed(&relabelled, &["does not verify by the trust root"])
}

#[test]
fn an_expired_certificate_is_refused() -> Result<()> {
    let sigstore = Sigstore::new()?;
    let attacked = Attacked::with_signer(&acme(), Some(&sigstore))?;
    let expired = Identity {
        expired: true,
        ..ACME
    };
    let bundle = sigstore.sign(&attacked.component, expired)?;
    attacked.gets_signed(&bundle, &["certificate", "trust root"])
}

#[test]
fn an_identity_that_only_looks_alike_is_refused() -> Result<()> {
    let sigstore = Sigstore::new()?;
    let attacked = Attacked::with_signer(&acme(), Some(&sigstore))?;
    let other_tag = ACME.subject.replace("tags/v1.2.0", "heads/v1.2.0");
    for subject in [
        &*other_tag,
        "https://git.example/Acme/pinned-gateway/release.yml@refs/tags/v1.2.0",
    ] {
        let identity = Identity { subject, ..ACME };
        let bundle = sigstore.sign(&attacked.component, identity)?;
        let parts = ["identity", &format!("`{subject}`"), ACME.subject];
        attacked.gets_signed(&bundle, &parts)?;
    }
    let issuer = "https://issuer.example.evil.example";
    let bundle = sigstore.sign(&attacked.component, Identity { issuer, ..ACME })?;
    attacked.gets_signed(&bundle, &["issuer", issuer])
}

/// The signer of [`ACME`] in a policy.
fn acme() -> Value {
    let keyless = json!({ "identity": ACME.subject, "issuer": ACME.issuer });
    json!({ "name": "acme", "plugins": ["pinned-gateway"], "keyless": keyless })
}
