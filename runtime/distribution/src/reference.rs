//! The name of an artifact in a registry.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use weir_grant::document::Digest;

use super::error::Error;

/// The tag of a reference without one.
const LATEST: &str = "latest";

/// The longest repository and the longest tag, in bytes (OCI distribution specification, "Pulling manifests").
const LONGEST_REPOSITORY: usize = 255;
const LONGEST_TAG: usize = 128;

/// The name of an artifact in a registry: `registry.example.com:5000/plugins/labels:1.2.0`.
///
/// The registry is always named: there is none that is meant when it is left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    registry: String,
    repository: String,
    version: Version,
}

/// Which artifact of a repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Version {
    /// A name that the registry may give to another artifact at any time.
    Tag(String),
    /// The artifact whose manifest has this digest, and no other.
    Digest(Digest),
}

impl Reference {
    /// Host and port of the registry, as they are written.
    pub fn registry(&self) -> &str {
        &self.registry
    }

    /// The path of the artifact in the registry, such as `plugins/labels`.
    pub fn repository(&self) -> &str {
        &self.repository
    }

    pub fn version(&self) -> &Version {
        &self.version
    }

    /// The last part of the repository.
    pub fn name(&self) -> &str {
        self.repository.rsplit('/').next().unwrap_or_default()
    }

    /// The same repository at another version.
    pub fn at(&self, version: Version) -> Self {
        Self {
            version,
            ..self.clone()
        }
    }

    /// Host and port of the server. Docker Hub's has another name than its references.
    pub(crate) fn server(&self) -> &str {
        if self.is_docker_hub() {
            return "registry-1.docker.io";
        }
        &self.registry
    }

    pub(crate) fn is_docker_hub(&self) -> bool {
        matches!(self.registry.as_str(), "docker.io" | "index.docker.io")
    }

    /// Whether the registry is on this machine.
    pub(crate) fn is_loopback(&self) -> bool {
        is_loopback(host(&self.registry))
    }
}

/// Whether a host is this machine, by its name or address alone: nothing is looked up.
pub(crate) fn is_loopback(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']');
    let address: Option<IpAddr> = address.parse().ok();
    host == "localhost" || address.is_some_and(|address| address.is_loopback())
}

/// The host of `host:port`.
fn host(registry: &str) -> &str {
    match registry.rsplit_once(':') {
        Some((host, _)) if !registry.ends_with(']') => host,
        _ => registry,
    }
}

impl FromStr for Reference {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        parse(text).map_err(|why| Error::Reference {
            text: text.into(),
            why: why.into(),
        })
    }
}

fn parse(text: &str) -> Result<Reference, String> {
    if let Some((scheme, _)) = text.split_once("://") {
        return Err(format!("it starts with `{scheme}://`"));
    }
    let (name, digest) = match text.split_once('@') {
        Some((name, digest)) => (name, Some(digest.parse::<Digest>()?)),
        None => (text, None),
    };
    let (registry, path) = name
        .split_once('/')
        .filter(|(registry, _)| is_registry(registry))
        .ok_or("it names no registry")?;
    let (repository, tag) = match path.rsplit_once(':') {
        Some((repository, tag)) => (repository, Some(tag)),
        None => (path, None),
    };
    if repository.len() > LONGEST_REPOSITORY || !repository.split('/').all(is_part) {
        return Err(format!(
            "`{repository}` is not a repository: lower-case letters and digits, separated by `.`, `_`, `-` or `/`"
        ));
    }
    if let Some(tag) = tag.filter(|tag| !is_tag(tag)) {
        return Err(format!(
            "`{tag}` is not a tag: at most {LONGEST_TAG} letters, digits, `.`, `_` and `-`"
        ));
    }
    // With a digest, a tag is a remark for people.
    let version = match digest {
        Some(digest) => Version::Digest(digest),
        None => Version::Tag(tag.unwrap_or(LATEST).to_owned()),
    };
    Ok(Reference {
        registry: registry.to_owned(),
        repository: repository.to_owned(),
        version,
    })
}

/// A first part with a dot or a port is a host, otherwise it belongs to the repository, as in other clients.
fn is_registry(text: &str) -> bool {
    let host = host(text);
    let port = text.strip_prefix(host).unwrap_or_default();
    let has_port = (port.strip_prefix(':')).is_some_and(|port| port.parse::<u16>().is_ok());
    let is_named = has_port || host.contains('.') || host == "localhost" || host.starts_with('[');
    is_named && (port.is_empty() || has_port) && (is_host_name(host) || is_ipv6(host))
}

fn is_host_name(host: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-');
    !host.is_empty() && !host.starts_with(['.', '-']) && host.bytes().all(allowed)
}

fn is_ipv6(host: &str) -> bool {
    let address = (host.strip_prefix('[')).and_then(|host| host.strip_suffix(']'));
    address.is_some_and(|address| address.parse::<std::net::Ipv6Addr>().is_ok())
}

/// One part of a repository: groups of letters and digits, separated by one `.`, one or two `_`, or any number of `-`.
fn is_part(part: &str) -> bool {
    let is_word = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let separators = part.split(|c: char| c.is_ascii() && is_word(c as u8));
    let are_valid = separators
        .filter(|separator| !separator.is_empty())
        .all(|separator| {
            matches!(separator, "." | "_" | "__") || separator.bytes().all(|byte| byte == b'-')
        });
    let ends = |byte: Option<&u8>| byte.is_some_and(|byte| is_word(*byte));
    let bytes = part.as_bytes();
    are_valid && ends(bytes.first()) && ends(bytes.last())
}

fn is_tag(tag: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    !tag.is_empty()
        && tag.len() <= LONGEST_TAG
        && !tag.starts_with(['.', '-'])
        && tag.bytes().all(allowed)
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mark = match self.version {
            Version::Tag(_) => ':',
            Version::Digest(_) => '@',
        };
        write!(
            f,
            "{}/{}{mark}{}",
            self.registry, self.repository, self.version
        )
    }
}

/// The tag or the digest, as in URLs.
impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tag(tag) => f.write_str(tag),
            Self::Digest(digest) => digest.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Reference {
        text.parse().unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn registry_repository_and_version_are_told_apart() {
        let digest = format!("sha256:{}", "a".repeat(64));
        for (text, registry, repository, version) in [
            ("localhost/a", "localhost", "a", "latest"),
            ("localhost:5000/a/b:1.0", "localhost:5000", "a/b", "1.0"),
            ("r.example/a__b/c-d:v1_2", "r.example", "a__b/c-d", "v1_2"),
            ("[::1]:5000/a:x", "[::1]:5000", "a", "x"),
            ("r.example/a:1.0@DIGEST", "r.example", "a", "DIGEST"),
        ] {
            let text = text.replace("DIGEST", &digest);
            let reference = parsed(&text);
            assert_eq!(reference.registry(), registry);
            assert_eq!(reference.repository(), repository);
            let version = version.replace("DIGEST", &digest);
            assert_eq!(reference.version().to_string(), version);
        }
        assert_eq!(parsed("localhost:5000/a/b:1.0").name(), "b");
        let shown = parsed("localhost:5000/a").to_string();
        assert_eq!(shown, "localhost:5000/a:latest");
    }

    #[test]
    fn what_could_lead_elsewhere_is_no_reference() {
        for (text, why) in [
            ("", "names no registry"),
            ("labels", "names no registry"),
            ("plugins/labels:1.0", "names no registry"),
            ("/a:1", "names no registry"),
            ("user@r.example/a:1", "is not a digest"),
            ("r.example:99999/a:1", "names no registry"),
            ("r.example?x=/a:1", "names no registry"),
            ("[::g]:5000/a", "names no registry"),
            ("oci://r.example/a:1", "starts with `oci://`"),
            ("r.example/../etc:1", "not a repository"),
            ("r.example/a//b:1", "not a repository"),
            ("r.example/A:1", "not a repository"),
            ("r.example/a?b:1", "not a repository"),
            ("r.example/a..b:1", "not a repository"),
            ("r.example/a-:1", "not a repository"),
            ("r.example/a:..", "not a tag"),
            ("r.example/a:x y", "not a tag"),
            ("r.example/a:", "not a tag"),
            ("r.example/a@sha512:00", "not a digest"),
        ] {
            let error = text.parse::<Reference>().expect_err(text).to_string();
            assert!(error.contains(why), "{text}: {error}");
        }
        let long = format!("r.example/a:{}", "t".repeat(LONGEST_TAG + 1));
        assert!(long.parse::<Reference>().is_err());
    }

    #[test]
    fn this_machine_is_known_by_its_name_and_addresses() {
        for registry in [
            "localhost",
            "localhost:5000",
            "127.1.2.3:5000",
            "[::1]:5000",
        ] {
            assert!(parsed(&format!("{registry}/a")).is_loopback(), "{registry}");
        }
        for registry in [
            "localhost.example",
            "128.0.0.1:5000",
            "[::2]:1",
            "r.example",
        ] {
            assert!(
                !parsed(&format!("{registry}/a")).is_loopback(),
                "{registry}"
            );
        }
    }
}
