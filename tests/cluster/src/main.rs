//! A real cluster for tests: does there what `weir-apiserver` does by itself, as far as one can.
//!
//! The argument is a kubeconfig of somebody who may make namespaces, roles and what is in them. All
//! happens in namespaces of its own, which it removes when its standard input ends. It speaks as
//! `weir-apiserver` does: commands of JSON on standard input, answers on standard output, and first how
//! weir reaches the API server, as a user who may do what weir needs and no more.

mod api;
mod control;
mod namespace;

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use kube::Config;
use kube::config::Kubeconfig;
use rustls::crypto::ring;
use serde_json::json;
use tokio::runtime::Builder;

use self::api::Api;
use self::namespace::Namespaces;

fn main() -> Result<()> {
    let path = std::env::args_os().nth(1).map(PathBuf::from);
    let Some(path) = path else {
        bail!("usage: weir-cluster KUBECONFIG");
    };
    let _ = ring::default_provider().install_default();
    let kubeconfig = Kubeconfig::read_from(&path);
    let kubeconfig = kubeconfig.with_context(|| path.display().to_string())?;
    let config = Config::try_from(kubeconfig)?;
    let runtime = Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(run(config))
}

async fn run(config: Config) -> Result<()> {
    let api = Api::new(config.clone())?;
    api.expect_definitions().await?;
    let mut namespaces = Namespaces::new();
    let obeyed = obey(&config, &api, &mut namespaces).await;
    let removed = namespaces.remove(&api).await;
    obeyed.and(removed)
}

async fn obey(config: &Config, api: &Api, namespaces: &mut Namespaces) -> Result<()> {
    let token = namespaces.make_first(api).await?;
    control::say(&json!({
        "server": config.cluster_url.to_string().trim_end_matches('/'),
        "serverName": config.tls_server_name,
        "ca": authority(config),
        "token": token,
        "namespace": namespaces.first(),
    }))?;
    control::obey(api, namespaces).await
}

/// In PEM; empty where the system's are meant.
fn authority(config: &Config) -> String {
    let certificates = config.root_cert.iter().flatten();
    certificates.map(|der| pem(der)).collect()
}

fn pem(der: &[u8]) -> String {
    let text = BASE64_STANDARD.encode(der);
    let lines: Vec<String> = (text.as_bytes().chunks(64))
        .map(|line| String::from_utf8_lossy(line).into_owned())
        .collect();
    format!(
        "-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n",
        lines.join("\n")
    )
}
