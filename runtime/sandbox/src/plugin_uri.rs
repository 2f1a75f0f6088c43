//! The URI of a plugin: where a component is fetched from (Kurma's network specification, `aci`).
//!
//! A URI is compared byte by byte with the one that was fetched, and shown in errors and lists. So it has one spelling, and
//! nothing in it may be a secret.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// The longest URI, in bytes.
const LONGEST: usize = 2048;

/// Docker Hub, the registry of `docker:///NAME`.
const DOCKER_HUB: &str = "docker.io";

/// The namespace of a name without one, there.
const DOCKER_HUB_OWN: &str = "library";

/// A valid URI of a plugin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PluginUri {
    text: String,
    target: UriTarget,
}

/// Where a URI leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UriTarget {
    /// A file of the node, by its absolute path.
    File(PathBuf),
    /// A URL of HTTP, with TLS or without.
    Web(String),
    /// An artifact of a registry, by its reference: `registry.example.com/plugins/labels:1.2.0`.
    Artifact(String),
}

impl PluginUri {
    pub fn target(&self) -> &UriTarget {
        &self.target
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for PluginUri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FromStr for PluginUri {
    type Err = String;

    /// Errors: a sentence with the URI, without what may be a password in it.
    fn from_str(text: &str) -> Result<Self, String> {
        let target = parse(text).map_err(|why| format!("`{}` {why}", without_secret(text)))?;
        Ok(Self {
            text: text.to_owned(),
            target,
        })
    }
}

fn parse(text: &str) -> Result<UriTarget, String> {
    if text.len() > LONGEST {
        return Err(format!("is longer than {LONGEST} bytes"));
    }
    if let Some(other) = text.chars().find(|c| !is_allowed(*c)) {
        return Err(format!(
            "contains `{}`, which a URI cannot",
            other.escape_debug()
        ));
    }
    let (scheme, rest) = text.split_once("://").ok_or("is not a URI")?;
    if rest.contains(['?', '#']) {
        return Err(
            "has a query or a fragment, and a plugin's URI has neither: it is shown in errors, and must have no secret"
                .to_owned(),
        );
    }
    let (host, path) = match rest.find('/') {
        Some(at) => rest.split_at(at),
        None => (rest, ""),
    };
    if host.contains('@') {
        return Err(
            "has credentials, which it may not: `weir net fetch` uses those of `docker login` for registries"
                .to_owned(),
        );
    }
    match scheme {
        "file" => file(host, path),
        "http" | "https" => web(text, host, path),
        "docker" => docker(host, path),
        "oci" => oci(host, path),
        _ => Err(
            "has an unknown scheme; expected `file`, `http`, `https`, `docker` or `oci`, in lower case"
                .to_owned(),
        ),
    }
}

/// The printable characters of ASCII that a URI may have (RFC 3986).
fn is_allowed(c: char) -> bool {
    c.is_ascii_graphic() && !matches!(c, '"' | '<' | '>' | '\\' | '^' | '`' | '{' | '|' | '}')
}

/// `file:///usr/lib/weir/labels.wasm`.
fn file(host: &str, path: &str) -> Result<UriTarget, String> {
    if !host.is_empty() {
        return Err(format!(
            "names the host `{host}`; expected a file of this node, as `file:///…`"
        ));
    }
    if path.contains('%') {
        return Err("has an escape; the path of a file is taken as it is".to_owned());
    }
    check_path(path)?;
    Ok(UriTarget::File(PathBuf::from(path)))
}

/// `https://example.com/labels.wasm`.
fn web(text: &str, host: &str, path: &str) -> Result<UriTarget, String> {
    if host.is_empty() {
        return Err("names no host".to_owned());
    }
    check_path(path)?;
    Ok(UriTarget::Web(text.to_owned()))
}

/// `docker:///user/labels:1.2.0` on Docker Hub, `docker://registry.example.com/labels:1.2.0` elsewhere.
fn docker(host: &str, path: &str) -> Result<UriTarget, String> {
    if !host.is_empty() {
        return oci(host, path);
    }
    check_path(path)?;
    let name = path.trim_start_matches('/');
    Ok(UriTarget::Artifact(if name.contains('/') {
        format!("{DOCKER_HUB}/{name}")
    } else {
        format!("{DOCKER_HUB}/{DOCKER_HUB_OWN}/{name}")
    }))
}

/// `oci://registry.example.com/plugins/labels:1.2.0`. The registry's client checks the rest.
fn oci(host: &str, path: &str) -> Result<UriTarget, String> {
    if host.is_empty() {
        return Err("names no registry".to_owned());
    }
    check_path(path)?;
    Ok(UriTarget::Artifact(format!("{host}{path}")))
}

/// Errors: a path that does not lead to something, or that others would read as another.
fn check_path(path: &str) -> Result<(), String> {
    let mut parts = path.split('/').skip(1);
    if path.is_empty() || parts.clone().all(str::is_empty) {
        return Err("names nothing; expected a path".to_owned());
    }
    if parts.any(|part| matches!(part, "" | "." | "..")) {
        return Err("has a path with `.`, `..` or an empty part".to_owned());
    }
    Ok(())
}

/// A URI that is not valid, for an error: what stands where a password may is left out.
fn without_secret(text: &str) -> String {
    let text: String = text.chars().take(LONGEST).collect();
    let Some((scheme, rest)) = text.split_once("://") else {
        return text.escape_debug().to_string();
    };
    let rest = match rest.rsplit_once('@') {
        Some((_, after)) if !after.starts_with("sha256:") => format!("…@{after}"),
        _ => rest.to_owned(),
    };
    let rest = match rest.split_once(['?', '#']) {
        Some((before, _)) => format!("{before}?…"),
        None => rest,
    };
    format!("{scheme}://{rest}").escape_debug().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(text: &str) -> UriTarget {
        let uri: PluginUri = text.parse().unwrap_or_else(|why| panic!("{why}"));
        assert_eq!(uri.to_string(), text);
        uri.target
    }

    #[test]
    fn each_scheme_leads_somewhere() {
        let digest = format!("sha256:{}", "a".repeat(64));
        let artifact = |text: &str| UriTarget::Artifact(text.to_owned());
        assert_eq!(
            target("file:///usr/lib/weir/labels.wasm"),
            UriTarget::File("/usr/lib/weir/labels.wasm".into())
        );
        for web in [
            "http://localhost:80/labels.wasm",
            "https://r.example/a/%20.wasm",
        ] {
            assert_eq!(target(web), UriTarget::Web(web.to_owned()));
        }
        assert_eq!(
            target("docker:///user/labels:1.2"),
            artifact("docker.io/user/labels:1.2")
        );
        assert_eq!(
            target("docker:///labels"),
            artifact("docker.io/library/labels")
        );
        for scheme in ["docker", "oci"] {
            let pinned = format!("r.example:5000/a/labels@{digest}");
            assert_eq!(target(&format!("{scheme}://{pinned}")), artifact(&pinned));
        }
    }

    #[test]
    fn what_could_lead_elsewhere_is_refused() {
        for (text, why) in [
            ("labels", "is not a URI"),
            ("ftp://r.example/x.wasm", "unknown scheme"),
            ("HTTPS://r.example/x.wasm", "unknown scheme"),
            ("://r.example/x.wasm", "unknown scheme"),
            ("file://r.example/x.wasm", "names the host `r.example`"),
            ("file://etc/x.wasm", "names the host `etc`"),
            ("file:///a/../x.wasm", "`..`"),
            ("file:///a//x.wasm", "an empty part"),
            ("file:///a/", "an empty part"),
            ("file:///%2e%2e/x.wasm", "an escape"),
            ("file:///", "names nothing"),
            ("https:///x.wasm", "names no host"),
            ("https://r.example", "names nothing"),
            ("https://r.example/", "names nothing"),
            ("https://r.example/a/./x", "`.`"),
            ("https://r.example/x.wasm?token=secret", "a query"),
            ("https://r.example/x.wasm#secret", "a fragment"),
            ("oci:///labels:1", "names no registry"),
            ("docker://", "names nothing"),
            ("https://r.example/a b", "contains ` `"),
            ("https://r.example/\u{e9}", "contains `é`"),
            ("https://r.example\\x/y", "contains `\\\\`"),
            ("https://r.example/\n", "contains `\\n`"),
        ] {
            let said = text.parse::<PluginUri>().expect_err(text);
            assert!(said.contains(why), "{text}: {said}");
            assert!(!said.contains('\n'), "{said}");
        }
        let long = format!("https://r.example/{}", "a".repeat(LONGEST));
        assert!(long.parse::<PluginUri>().is_err());
    }

    #[test]
    fn a_password_is_not_repeated() {
        for text in [
            "https://user:hunter2@r.example/x.wasm",
            "ftp://user:hunter2@r.example/x.wasm",
            "oci://user:hunter2@r.example/x:1",
            "https://user:hunter2/y@r.example/..",
            "https://r.example/x?token=hunter2",
            "https://r.example/x y#hunter2",
        ] {
            let said = text.parse::<PluginUri>().expect_err(text);
            assert!(!said.contains("hunter2"), "{said}");
            assert!(said.contains("r.example"), "{said}");
        }
        let said = "https://user@r.example/x".parse::<PluginUri>();
        assert!(said.expect_err("a user").contains("has credentials"));
    }
}
