//! Signatures that are right, and those of somebody who wants a plugin to be installed that is not his to provide.

mod conformance;
mod keyless;
mod keys;
mod policies;

use std::fs;
use std::path::PathBuf;

use tempfile::TempDir;
use weir_files::Paths;
use weir_grant::document::Digest;

use super::digest::digest;
use super::*;

const COMPONENT: &[u8] = b"the component of the tests";
const OTHER: &[u8] = b"another component";

/// A node with a policy.
struct Node {
    root: TempDir,
}

impl Node {
    /// `spec` is YAML, indented by two.
    fn new(spec: &str) -> Self {
        let node = Self {
            root: TempDir::with_prefix("weir-test-").expect("a directory"),
        };
        let document =
            format!("apiVersion: weir.dev/v1alpha1\nkind: PluginPolicy\nspec:\n{spec}\n");
        node.write("etc/weir/plugin-policy.yaml", document.as_bytes());
        node
    }

    fn write(&self, path: &str, content: &[u8]) -> PathBuf {
        let path = self.root.path().join(path);
        fs::create_dir_all(path.parent().expect("a directory")).expect("made");
        fs::write(&path, content).expect("written");
        path
    }

    fn paths(&self) -> Paths {
        Paths::below(self.root.path())
    }

    /// Decides about [`COMPONENT`] as the plugin `labels`.
    fn admit(&self, bundles: &[Vec<u8>]) -> Result<Admitted> {
        self.admit_as("labels", bundles)
    }

    fn admit_as(&self, name: &str, bundles: &[Vec<u8>]) -> Result<Admitted> {
        Policy::load(&self.paths())?.admit(&Candidate {
            name: Some(name),
            component: COMPONENT,
            manifest: None,
            bundles,
            pinned: &[],
        })
    }

    #[track_caller]
    fn refuses(&self, bundles: &[Vec<u8>], parts: &[&str]) {
        let refused = self.admit(bundles).expect_err("this must not be let in");
        weir_kit::assert_contains(&refused.to_string(), parts);
    }
}

fn key() -> SigningKey {
    SigningKey::generate().expect("a key")
}

/// A key's signature of some bytes.
fn signed(key: &SigningKey, bytes: &[u8]) -> Vec<u8> {
    let subject = Subject::new("labels.wasm", bytes);
    key.sign(&[subject]).expect("signed")
}

/// A signer of a policy.
fn signer(name: &str, plugins: &str, key: &SigningKey) -> String {
    let pem = key.public().expect("a key").to_pem();
    let pem = pem.trim().replace("\r\n", "\n").replace('\n', "\n        ");
    format!("    - name: {name}\n      plugins: [{plugins}]\n      publicKey: |\n        {pem}\n")
}

#[track_caller]
fn signer_of(admitted: Result<Admitted>) -> String {
    match admitted.expect("let in") {
        Admitted::Signed { signer, .. } => signer,
        other => panic!("{other:?}"),
    }
}
