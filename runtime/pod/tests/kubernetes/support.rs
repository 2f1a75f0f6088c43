//! What these tests share.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use tempfile::TempDir;
use weir_cni::Error;
use weir_files::Paths;
use weir_kit::{ApiServer, assert_contains};
use weir_pod::cluster::PodName;
use weir_pod::kubernetes::{Kubernetes, Limits};

/// Where a configuration says that the kubeconfig is.
pub(crate) const KUBECONFIG: &str = "/etc/weir.kubeconfig";

/// Bounds that a test can wait for.
pub(crate) const SHORT: Limits = Limits {
    request: Duration::from_millis(500),
    call: Duration::from_secs(2),
};

/// A directory that stands for `/`.
pub(crate) struct Root(TempDir);

impl Root {
    pub(crate) fn new() -> Result<Self> {
        Ok(Self(TempDir::with_prefix("weir-kubernetes-")?))
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn paths(&self) -> Paths {
        Paths::below(self.0.path())
    }

    /// Writes a file, whose path is as if this were `/`.
    pub(crate) fn write(&self, path: &str, content: &str) -> Result<()> {
        let place = self.paths().resolve(Path::new(path));
        fs::create_dir_all(place.parent().context("a directory")?)?;
        fs::write(&place, content).with_context(|| place.display().to_string())
    }

    /// The cluster of this kubeconfig, which is written anew.
    pub(crate) fn cluster(&self, kubeconfig: &str, limits: Limits) -> Result<Kubernetes> {
        self.write(KUBECONFIG, kubeconfig)?;
        let path = Some(Path::new(KUBECONFIG));
        Ok(Kubernetes::connect(path, &self.paths(), limits))
    }
}

/// An API server, and weir as its client.
pub(crate) struct Scene {
    pub server: ApiServer,
    pub root: Root,
    pub cluster: Kubernetes,
}

impl Scene {
    pub(crate) fn new(limits: Limits) -> Result<Self> {
        let server = ApiServer::start()?;
        let root = Root::new()?;
        let cluster = root.cluster(&server.kubeconfig(), limits)?;
        Ok(Self {
            server,
            root,
            cluster,
        })
    }

    /// A pod in the server's namespace, made here.
    pub(crate) fn pod(&self, name: &str) -> Result<PodName> {
        let namespace = self.server.namespace();
        let uid = self.server.create_pod(namespace, name, &[])?;
        Ok(PodName {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            uid: Some(uid),
        })
    }
}

/// Fails unless an error says all of this, in its message or in its details.
pub(crate) fn expect_said(error: &Error, words: &[&str]) {
    let said = error.to_string();
    assert_contains(&said, words);
}
