//! Plugins that are not built in: components installed on a node, and grants put in force.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use super::installed::InstalledCache;
use super::memory::{Measured, measure};
use super::node::Node;
use super::{binary, component, house};

/// A grant that a test writes: YAML below `capabilities:` and `limits:`, in flow style.
#[derive(Clone, Debug)]
pub struct Grant<'a> {
    pub plugin: &'a str,
    pub networks: &'a str,
    pub capabilities: &'a str,
    pub limits: &'a str,
    /// The same capabilities, on networks of NetworkAttachmentDefinitions as well.
    pub for_tenants: bool,
}

impl<'a> Grant<'a> {
    /// A grant of nothing, on every network, with ordinary limits.
    pub fn nothing(plugin: &'a str) -> Self {
        Self {
            plugin,
            networks: r#"["*"]"#,
            capabilities: "{}",
            limits: "{}",
            for_tenants: false,
        }
    }

    /// The same for tenants, on every network.
    #[must_use]
    pub fn for_tenants(self) -> Self {
        Self {
            networks: r#"["*", "*/*"]"#,
            for_tenants: true,
            ..self
        }
    }

    /// The document, for a component of this digest.
    pub fn document(&self, digest: &str) -> String {
        let Self {
            plugin,
            networks,
            capabilities,
            limits,
            for_tenants,
        } = self;
        let tenants = if *for_tenants {
            format!("\n  tenants: {{ capabilities: {capabilities} }}")
        } else {
            String::new()
        };
        format!(
            "apiVersion: weir.dev/v1alpha1
kind: PluginGrant
metadata:
  name: {plugin}
spec:
  plugin:
    name: {plugin}
    digest: {digest}
  networks: {networks}
  capabilities: {capabilities}{tenants}
  limits: {limits}
"
        )
    }
}

/// The component of an example that says that it is another version. Errors: its own is not there exactly once.
pub fn of_version(example: &str, version: &str) -> Result<Vec<u8>> {
    let mut bytes = fs::read(component(example))?;
    let own = env!("CARGO_PKG_VERSION").as_bytes();
    let places: Vec<usize> = (0..bytes.len())
        .filter(|place| bytes[*place..].starts_with(own))
        .collect();
    let [place] = places[..] else {
        bail!("{example} has its version {} times", places.len());
    };
    ensure!(version.len() == own.len(), "`{version}` has another length");
    bytes[place..place + own.len()].copy_from_slice(version.as_bytes());
    Ok(bytes)
}

/// The grant of an example, for a component.
pub fn granted(example: &str, digest: &str) -> Result<String> {
    let place = "# digest: sha256:…";
    changed("examples", example, place, &format!("digest: {digest}"))
}

/// The grant of an example or a plugin, with this in place of what is there.
fn changed(directory: &str, name: &str, old: &str, new: &str) -> Result<String> {
    let file = house().join(directory).join(name).join("grant.yaml");
    let text = fs::read_to_string(file)?;
    ensure!(text.contains(old), "the grant of {name} has no `{old}`");
    Ok(text.replace(old, new))
}

impl Node {
    /// Runs weir's command line on the node, in the calling thread's namespace.
    pub fn command(&self, words: &[&str]) -> Result<Output> {
        let mut weir = Command::new(binary());
        weir.args(words).env("WEIR_ROOT", self.root());
        weir.output().context("run weir")
    }

    /// Runs weir's command line in the node's namespace, which must exit with this status. Returns what it printed on
    /// standard output.
    #[track_caller]
    pub fn stdout(&self, words: &[&str], status: i32) -> Result<String> {
        Ok(String::from_utf8(self.exited(words, status)?.stdout)?)
    }

    /// Runs it in the same way with `--output json`, and returns the value that it printed.
    #[track_caller]
    pub fn json(&self, words: &[&str], status: i32) -> Result<Value> {
        let printed = self.stdout(&[words, &["--output", "json"]].concat(), status)?;
        serde_json::from_str(&printed).with_context(|| printed.clone())
    }

    /// Runs it in the same way, and returns what it printed on standard error.
    #[track_caller]
    pub fn stderr(&self, words: &[&str], status: i32) -> Result<String> {
        Ok(String::from_utf8(self.exited(words, status)?.stderr)?)
    }

    /// Runs it in the same way, and returns everything that it printed.
    #[track_caller]
    pub fn exits(&self, words: &[&str], status: i32) -> Result<String> {
        let output = self.exited(words, status)?;
        Ok(String::from_utf8([output.stdout, output.stderr].concat())?)
    }

    #[track_caller]
    fn exited(&self, words: &[&str], status: i32) -> Result<Output> {
        let output = self.inside(|| self.command(words))?;
        assert_eq!(output.status.code(), Some(status), "{words:?}: {output:?}");
        Ok(output)
    }

    /// Runs it in the node's namespace, and measures its memory; see [`memory`](super::memory).
    pub fn measured(&self, words: &[&str]) -> Result<Measured> {
        let mut weir = Command::new(binary());
        weir.args(words).env("WEIR_ROOT", self.root());
        self.inside(|| measure(&mut weir, b""))
    }

    /// Runs weir's command line in the node's namespace, and returns what it printed. Errors: its
    /// own.
    pub fn weir(&self, words: &[&str]) -> Result<String> {
        let output = self.inside(|| self.command(words))?;
        let errors = String::from_utf8_lossy(&output.stderr);
        ensure!(
            output.status.success(),
            "weir {}: {errors}",
            words.join(" ")
        );
        Ok(String::from_utf8(output.stdout)?)
    }

    /// Installs a built component and makes weir answer to its name. Returns the component's digest.
    ///
    /// The node's log has no record of it.
    pub fn install_plugin(&self, name: &str) -> Result<String> {
        let file = component(name);
        self.share_key()?;
        let kept = InstalledCache::of(name, &file)?;
        if !kept.put(&self.installed(name))? {
            // On another node: this one's log is to be the same whether its test was the first or not.
            let first = Node::create()?;
            first.share_key()?;
            let shown = file.to_str().context("the component's path is text")?;
            first.weir(&["plugin", "add", shown, "--name", name])?;
            kept.keep(&first.installed(name))?;
            kept.put(&self.installed(name))?;
        }
        self.link_plugin(name)?;
        self.digest(name)
    }

    /// Gives the node the key by which the plugins are sealed that tests share.
    fn share_key(&self) -> Result<()> {
        let key = self.root().join("var/lib/weir/plugins/.key");
        if key.exists() {
            return Ok(());
        }
        fs::create_dir_all(key.parent().context("a directory")?)?;
        fs::write(&key, [7; 32])?;
        Ok(fs::set_permissions(key, Permissions::from_mode(0o600))?)
    }

    /// Makes weir answer to a plugin's name.
    pub fn link_plugin(&self, name: &str) -> Result<()> {
        let link = self.bin_dir().join(name);
        symlink("weir", &link).with_context(|| format!("link `{}`", link.display()))
    }

    /// The digest of an installed plugin.
    pub fn digest(&self, name: &str) -> Result<String> {
        let manifest = fs::read(self.installed(name).join("manifest.json"))?;
        let manifest: serde_json::Value = serde_json::from_slice(&manifest)?;
        Ok(manifest["digest"]
            .as_str()
            .context("a manifest has a digest")?
            .to_owned())
    }

    /// Where an installed plugin's files are.
    pub fn installed(&self, name: &str) -> PathBuf {
        self.root().join("var/lib/weir/plugins").join(name)
    }

    /// Where the grants of the administrator are.
    pub fn grants(&self) -> PathBuf {
        self.root().join("etc/weir/grants.d")
    }

    /// Writes a document into the grants of the administrator.
    pub fn put_grant(&self, file: impl AsRef<Path>, document: &str) -> Result<()> {
        fs::create_dir_all(self.grants())?;
        fs::write(self.grants().join(file), document).context("write a grant")
    }

    /// Lets a plugin inside the binary run an IPAM plugin besides those of its shipped grant.
    pub fn let_run_ipam(&self, plugin: &str, ipam: &str) -> Result<()> {
        self.put_grant(format!("{plugin}.yaml"), &grant_with_ipam(plugin, ipam)?)
    }

    /// Puts a grant in the place of the one that is shipped for a plugin inside the binary.
    pub fn put_grant_of_standard(&self, plugin: &str, capabilities: &str) -> Result<()> {
        let document = format!(
            "apiVersion: weir.dev/v1alpha1
kind: PluginGrant
metadata: {{ name: {plugin} }}
spec:
  plugin: {{ name: {plugin} }}
  networks: ['*']
  capabilities: {capabilities}
"
        );
        self.put_grant(format!("{plugin}.yaml"), &document)
    }

    /// Installs a component and puts a grant for it in force.
    pub fn install_with(&self, grant: &Grant<'_>) -> Result<()> {
        let digest = self.install_plugin(grant.plugin)?;
        self.put_grant(format!("{}.yaml", grant.plugin), &grant.document(&digest))
    }
}

/// The shipped grant of a plugin inside the binary, with an IPAM plugin that it may run besides.
fn grant_with_ipam(plugin: &str, ipam: &str) -> Result<String> {
    changed("plugins", plugin, "ipam: [", &format!("ipam: [{ipam}, "))
}
