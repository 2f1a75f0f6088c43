//! Debian's `docker-registry` on a port of its own, and `skopeo`, which reads what is in it.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, ensure};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair, KeyUsagePurpose};
use serde_json::{Value, json};
use tempfile::TempDir;
use weir_kit::wait_for;

/// `user` with the password `secret`.
const USERS: &str = "user:$2b$05$abcdefghijklmnopqrstuuOQiyCxlgf/oeuTqixKmWdcYUh4Hjl0a\n";

/// It ends when this is dropped.
pub struct Registry {
    child: Child,
    directory: TempDir,
    port: u16,
}

impl Registry {
    /// One without TLS that lets everybody in.
    pub fn start() -> Result<Self> {
        Self::with(TempDir::with_prefix("weir-registry-")?, json!({}))
    }

    /// One without TLS that asks for a password.
    pub fn guarded() -> Result<Self> {
        let directory = TempDir::with_prefix("weir-registry-")?;
        let auth = password(directory.path())?;
        Self::with(directory, json!({ "auth": auth }))
    }

    /// One with TLS, of an authority that no system trusts: [`Self::authority`].
    pub fn encrypted() -> Result<Self> {
        let directory = TempDir::with_prefix("weir-registry-")?;
        let tls = certificate(directory.path())?;
        Self::with(directory, json!({ "tls": tls }))
    }

    /// The same, and it asks for a password.
    pub fn guarded_and_encrypted() -> Result<Self> {
        let directory = TempDir::with_prefix("weir-registry-")?;
        let (tls, auth) = (certificate(directory.path())?, password(directory.path())?);
        Self::with(directory, json!({ "tls": tls, "auth": auth }))
    }

    /// The registry's configuration is YAML, of which JSON is a part.
    fn with(directory: TempDir, settings: Value) -> Result<Self> {
        let (log, data) = (directory.path().join("log"), directory.path().join("data"));
        let mut config = json!({
            "version": "0.1",
            "storage": { "filesystem": { "rootdirectory": data } },
            "http": { "addr": "127.0.0.1:0", "secret": "of the tests" },
        });
        if let Some(tls) = settings.get("tls") {
            config["http"]["tls"] = tls.clone();
        }
        if let Some(auth) = settings.get("auth") {
            config["auth"] = auth.clone();
        }
        let file = directory.path().join("config.yml");
        fs::write(&file, config.to_string())?;
        let child = Command::new("docker-registry")
            .arg("serve")
            .arg(&file)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(File::create(&log)?)
            .spawn()
            .context("run docker-registry, of Debian's package docker-registry")?;
        let mut registry = Self {
            child,
            directory,
            port: 0,
        };
        registry.port = wait_for("docker-registry listens", || {
            let said = fs::read_to_string(&log)?;
            ensure!(registry.child.try_wait()?.is_none(), "it ended: {said}");
            Ok(port(&said))
        })?;
        Ok(registry)
    }

    /// `localhost:5000`.
    pub fn host(&self) -> String {
        format!("localhost:{}", self.port)
    }

    pub fn reference(&self, rest: &str) -> String {
        format!("{}/{rest}", self.host())
    }

    /// The authority of one with TLS, as PEM.
    pub fn authority(&self) -> std::path::PathBuf {
        self.directory.path().join("authority")
    }

    /// The file in which the registry keeps a blob.
    pub fn blob(&self, digest: &str) -> std::path::PathBuf {
        let hex = digest.trim_start_matches("sha256:");
        let blobs = "data/docker/registry/v2/blobs/sha256";
        let directory = self.directory.path().join(blobs);
        directory.join(&hex[..2]).join(hex).join("data")
    }

    /// Makes a blob one of a repository's.
    pub fn link(&self, repository: &str, digest: &str) -> Result<()> {
        let hex = digest.trim_start_matches("sha256:");
        let layers = format!("data/docker/registry/v2/repositories/{repository}/_layers/sha256");
        let directory = self.directory.path().join(layers).join(hex);
        fs::create_dir_all(&directory)?;
        Ok(fs::write(directory.join("link"), digest)?)
    }
}

/// A password, in the registry's configuration.
fn password(directory: &Path) -> Result<Value> {
    let users = directory.join("users");
    fs::write(&users, USERS)?;
    Ok(json!({ "htpasswd": { "realm": "weir", "path": users } }))
}

/// A certificate for `localhost`, in the registry's configuration, and its authority in a file of that name.
fn certificate(directory: &Path) -> Result<Value> {
    let (certificate, key) = (directory.join("pem"), directory.join("key"));
    let authority_key = KeyPair::generate()?;
    let mut authority = CertificateParams::new(Vec::new())?;
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    authority.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    let known = authority.self_signed(&authority_key)?.pem();
    fs::write(directory.join("authority"), known)?;
    let issuer = Issuer::new(authority, authority_key);
    let own_key = KeyPair::generate()?;
    let own = CertificateParams::new(vec!["localhost".to_owned()])?;
    fs::write(&certificate, own.signed_by(&own_key, &issuer)?.pem())?;
    fs::write(&key, own_key.serialize_pem())?;
    Ok(json!({ "certificate": certificate, "key": key }))
}

/// The port of the line that says where the registry listens.
fn port(log: &str) -> Option<u16> {
    let (_, rest) = log.split_once("listening on 127.0.0.1:")?;
    let end = rest.find(|c: char| !c.is_ascii_digit())?;
    rest[..end].parse().ok()
}

impl Drop for Registry {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs `skopeo`, which must succeed.
pub fn skopeo(words: &[&str]) -> Result<Vec<u8>> {
    let output = Command::new("skopeo")
        .args(words)
        .output()
        .context("run skopeo, of Debian's package skopeo")?;
    ensure!(output.status.success(), "{words:?}: {output:?}");
    Ok(output.stdout)
}

/// Puts a manifest as it is into a registry's storage, in place of the one of this digest.
pub fn overwrite(path: &Path, content: &[u8]) -> Result<()> {
    ensure!(path.is_file(), "{} is not there", path.display());
    fs::write(path, content).context("write into the registry's storage")
}
