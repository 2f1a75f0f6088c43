//! The kubeconfig of the delegating plugin, made from the service account that is mounted into a pod.

use std::fs;
use std::net::Ipv6Addr;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::json;

/// The address of the API server, which kubelet sets in every container.
const HOST: &str = "KUBERNETES_SERVICE_HOST";
const PORT: &str = "KUBERNETES_SERVICE_PORT";

/// Returns a kubeconfig with the token and the authority of the service account mounted at a directory. Errors: what is
/// missing.
pub fn of_service_account(directory: &Path) -> Result<String> {
    let read = |name: &str| {
        let path = directory.join(name);
        fs::read_to_string(&path).with_context(|| {
            format!(
                "read `{}` of the service account: run this in a pod that has one mounted, or name a \
                 kubeconfig that is on the node with --kubeconfig",
                path.display()
            )
        })
    };
    let (token, authority) = (read("token")?, read("ca.crt")?);
    let token = token.trim();
    ensure!(
        !token.is_empty() && !token.contains(char::is_whitespace),
        "`{}` has no token",
        directory.join("token").display()
    );
    let (host, port) = (variable(HOST)?, variable(PORT)?);
    Ok(render(&server(&host, &port)?, token, &authority))
}

fn variable(name: &str) -> Result<String> {
    match std::env::var(name) {
        Ok(value) if !value.is_empty() => Ok(value),
        _ => bail!(
            "{name} is not set: a kubelet sets it in every container; set it to where the API server \
             is reached from the node, or name a kubeconfig that is on the node with --kubeconfig"
        ),
    }
}

/// An IPv6 address has brackets in a URL.
fn server(host: &str, port: &str) -> Result<String> {
    ensure!(
        port.parse::<u16>().is_ok_and(|port| port != 0),
        "{PORT}={port} is not a port"
    );
    Ok(match host.parse::<Ipv6Addr>() {
        Ok(address) => format!("https://[{address}]:{port}"),
        Err(_) => format!("https://{host}:{port}"),
    })
}

/// JSON is YAML, and nothing in it needs to be escaped by hand.
fn render(server: &str, token: &str, authority: &str) -> String {
    let kubeconfig = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{ "name": "cluster", "cluster": {
            "server": server,
            "certificate-authority-data": BASE64_STANDARD.encode(authority),
        } }],
        "users": [{ "name": "weir", "user": { "token": token } }],
        "contexts": [{ "name": "weir", "context": { "cluster": "cluster", "user": "weir" } }],
        "current-context": "weir",
    });
    format!("{kubeconfig:#}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_of_ipv6_has_brackets() -> Result<()> {
        assert_eq!(server("10.96.0.1", "443")?, "https://10.96.0.1:443");
        assert_eq!(server("fd00::1", "6443")?, "https://[fd00::1]:6443");
        assert_eq!(server("api.example", "443")?, "https://api.example:443");
        for port in ["", "0", "https", "65536"] {
            assert!(server("10.96.0.1", port).is_err(), "{port}");
        }
        Ok(())
    }
}
