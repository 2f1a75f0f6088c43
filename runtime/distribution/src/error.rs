//! Why an artifact was not moved.

use std::fmt::{self, Display};
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bytesize::ByteSize;
use http::{StatusCode, Uri};
use weir_grant::document::Digest;
use weir_grant::text::printable;

pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A text of a server or a file, in which nothing controls a terminal or ends a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text(String);

impl From<String> for Text {
    fn from(text: String) -> Self {
        Self::from(text.as_str())
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Self(printable(text))
    }
}

impl Deref for Text {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self)
    }
}

/// The URL of a server for an error, without what may be a secret: a query, as in the signed URL of a storage service, and a user
/// with a password.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerUrl(Text);

impl From<&Uri> for ServerUrl {
    fn from(url: &Uri) -> Self {
        let scheme = url.scheme_str().unwrap_or("http");
        Self(format!("{scheme}://{}{}", host_of(url), url.path()).into())
    }
}

impl fmt::Display for ServerUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// `host` or `host:port` of a URL, for an error.
pub(crate) fn host_of(url: &Uri) -> String {
    let host = url.host().unwrap_or_default();
    match url.port() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    }
}

/// Why an artifact was not moved. Each says where, why, and what to do; the caller says what failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(
        "`{text}` does not name an artifact: {why}; expected REGISTRY/NAME:TAG or REGISTRY/NAME@sha256:…, such as \
         `registry.example.com/plugins/labels:1.2.0`"
    )]
    Reference { text: Text, why: Text },
    #[error(
        "server `{host}` cannot be reached: {why}; check the name and the network, give --ca-file for one with an \
         authority of its own, and --plain-http for one without TLS"
    )]
    Unreachable { host: Text, why: Text },
    #[error(
        "server `{host}` cannot be trusted: {why}; give --ca-file for one with an authority of its own, and the name that its certificate \
         is for"
    )]
    Tls { host: Text, why: Text },
    #[error("server `{host}` did not answer within {}; try again, or give a longer --timeout", seconds(*.limit))]
    Slow { host: Text, limit: Duration },
    #[error("not done within {}, the limit for the whole transfer; give a longer --timeout", seconds(*.limit))]
    Deadline { limit: Duration },
    #[error(
        "`{url}` ended the download of {digest} after {received} of {size} bytes, {attempts} times; try again later"
    )]
    Truncated {
        url: ServerUrl,
        digest: Digest,
        received: u64,
        size: u64,
        attempts: u32,
    },
    #[error(
        "`{url}` answers with more than {limit} bytes, the most for {what}: the server is not to be trusted"
    )]
    TooLong {
        url: ServerUrl,
        what: &'static str,
        limit: u64,
    },
    #[error("`{url}` answers {status}{}", saying(.said))]
    Status {
        url: ServerUrl,
        status: StatusCode,
        said: Text,
    },
    #[error("`{url}` breaks the protocol: {why}")]
    Protocol { url: ServerUrl, why: Text },
    #[error("`{url}` cannot be downloaded: {why}")]
    Url { url: Text, why: Text },
    #[error("`{url}` redirects to `{to}`: {why}")]
    Redirect {
        url: ServerUrl,
        to: ServerUrl,
        why: &'static str,
    },
    #[error(
        "registry `{host}` wants credentials: {had}; `docker login {host}` stores some, or give --credentials FILE"
    )]
    Unauthorized { host: Text, had: Text },
    #[error("registry `{host}` does not allow {action} `{repository}`: {had}{}", saying(.said))]
    Forbidden {
        host: Text,
        repository: Text,
        action: &'static str,
        had: Text,
        said: Text,
    },
    #[error("registry `{host}` has no `{name}`: check the name and the tag")]
    Missing { host: Text, name: Text },
    #[error("the credentials of `{from}` for registry `{host}` cannot be used: {why}")]
    Credentials { from: Text, host: Text, why: Text },
    #[error("the authorities in `{}` cannot be used: {why}; expected certificates as PEM", .file.display())]
    Authorities { file: PathBuf, why: Text },
    #[error(
        "{what} has digest {found} instead of {expected}: it was changed or damaged, and nothing of it is kept"
    )]
    Digest {
        what: Text,
        expected: Digest,
        found: Digest,
    },
    #[error(
        "{what} has {found} bytes instead of the {expected} that its descriptor states, and nothing of it is kept"
    )]
    Size {
        what: Text,
        expected: u64,
        found: u64,
    },
    #[error(
        "its component has {}, more than the {} that a plugin may have; it was not downloaded",
        iec(*.size),
        iec(*.limit)
    )]
    TooLarge { size: u64, limit: u64 },
    #[error("{what}: {why}")]
    NotAPlugin { what: &'static str, why: Text },
    #[error("a signature of it is not valid: {why}")]
    NotASignature { why: Text },
    #[error(
        "it is an index, which names {} and is itself no plugin; give the digest of one manifest: REGISTRY/NAME@DIGEST",
        listed(.manifests)
    )]
    Index { manifests: Vec<String> },
    #[error("`{}` cannot be {done}: {why}", .path.display())]
    File {
        path: PathBuf,
        done: &'static str,
        why: Text,
    },
    #[error("`{}` is not an image layout that weir reads: {why}", .path.display())]
    Layout { path: PathBuf, why: Text },
}

impl Error {
    /// A file that cannot be read or written.
    pub(crate) fn file(path: &Path, done: &'static str, why: impl Display) -> Self {
        Self::File {
            path: path.to_owned(),
            done,
            why: why.to_string().into(),
        }
    }
}

fn seconds(limit: Duration) -> String {
    format!("{} s", limit.as_secs_f32())
}

fn saying(said: &str) -> String {
    if said.is_empty() {
        return String::new();
    }
    format!(", and says `{said}`")
}

fn iec(bytes: u64) -> String {
    ByteSize::b(bytes).display().iec().to_string()
}

fn listed(manifests: &[String]) -> String {
    if manifests.is_empty() {
        return "nothing".to_owned();
    }
    printable(&manifests.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_servers_text_stays_in_its_line() {
        let error = Error::Protocol {
            url: (&Uri::from_static("http://127.0.0.1/v2/")).into(),
            why: "no\nweir: plugin labels is installed\r\x1b[2K".into(),
        };
        assert_eq!(
            error.to_string(),
            "`http://127.0.0.1/v2/` breaks the protocol: no\\nweir: plugin labels is installed\\r\\u{1b}[2K"
        );
    }

    #[test]
    fn a_url_shows_no_secret() {
        for (url, shown) in [
            (
                "https://storage.example/a/b?signature=secret",
                "https://storage.example/a/b",
            ),
            (
                "https://user:secret@registry.example:5000/v2/",
                "https://registry.example:5000/v2/",
            ),
            ("http://secret@[::1]:80/", "http://[::1]:80/"),
        ] {
            let url = Uri::from_static(url);
            assert_eq!(ServerUrl::from(&url).to_string(), shown);
            assert!(!host_of(&url).contains("secret"));
        }
    }
}
