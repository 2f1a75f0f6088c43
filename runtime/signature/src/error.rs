//! Why a signature does not count. Each says which check failed.

use std::fmt;
use std::path::PathBuf;

use weir_files::file_trust::Untrusted;
use weir_grant::diagnostic::Diagnostic;
use weir_grant::document::Digest;

pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a signature does not count, or a plugin may not be installed. The caller says of which plugin.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("the signature is larger than {limit} bytes, the most for a bundle")]
    TooLarge { limit: usize },
    #[error("the signature is not a sigstore bundle: {0}")]
    Bundle(String),
    #[error(
        "the signature is a statement of type `{found}`, which does not say that the plugin is released; expected `{expected}`"
    )]
    Statement {
        found: String,
        expected: &'static str,
    },
    #[error("the signature is for another component: for {}, not for {}", either(.signed), either(.wanted))]
    OtherDigest {
        signed: Vec<String>,
        wanted: Vec<String>,
    },
    #[error("the signature was made with a key, not with a certificate for an identity")]
    NotKeyless,
    #[error("the signature was made with a certificate for an identity, not with a key")]
    NotByKey,
    #[error("the signature was not made with that key, or was changed: {0}")]
    Key(String),
    #[error("the certificate's identity is {found}, not `{expected}`")]
    Identity { expected: String, found: String },
    #[error("the certificate's issuer is {found}, not `{expected}`")]
    Issuer { expected: String, found: String },
    #[error("the signature does not verify by the trust root: {0}")]
    Proof(String),
    #[error("the signature is not in a transparency log, which `requireLog` asks for")]
    NotLogged,
    #[error("a key cannot be used: {0}")]
    UnusableKey(String),
    #[error("the trust root `{}` cannot be used: {why}", .path.display())]
    TrustRoot { path: PathBuf, why: String },
    #[error("{0}")]
    Policy(Invalid),
    #[error("the policy `{}` is not used: {why}", .path.display())]
    Untrusted { path: PathBuf, why: Untrusted },
    #[error("{what} {digest} is refused: {by} names it below `refused`{}", because(.reason))]
    Refused {
        /// `component` or `artifact`.
        what: &'static str,
        digest: Digest,
        by: String,
        reason: String,
    },
    #[error(
        "it is not signed; {policy}. A component that you have checked yourself can be named by its digest: `--digest {digest}` of `weir \
         plugin add`, `weir plugin load` and `weir net fetch`, or the artifact's in the name that is pulled"
    )]
    Unsigned { digest: Digest, policy: String },
    #[error(
        "it is signed, but there is no policy `{}` that names a signer for it. `weir plugin verify --key FILE` checks a signature \
         with a key; a component that you have checked yourself can be named by its digest: `--digest {digest}` of `weir plugin add`, \
         `weir plugin load` and `weir net fetch`, or the artifact's in the name that is pulled",
        .path.display()
    )]
    NoPolicy { digest: Digest, path: PathBuf },
    #[error("{by} names no signer for it; {}", found(.known))]
    NoSigner { by: String, known: Option<String> },
    #[error("no signer that {by} names for it has signed it: {}", .why.join("; "))]
    NotAccepted { by: String, why: Vec<String> },
}

/// A policy with mistakes.
#[derive(Debug)]
pub struct Invalid {
    pub(crate) path: PathBuf,
    pub(crate) mistakes: Vec<Diagnostic>,
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the policy for plugins is not valid")?;
        let mut before = ": ";
        for mistake in &self.mistakes {
            write!(f, "{before}{}:{mistake}", self.path.display())?;
            before = "\n  ";
        }
        Ok(())
    }
}

fn because(reason: &str) -> String {
    if reason.is_empty() {
        return String::new();
    }
    format!(": {reason}")
}

fn found(known: &Option<String>) -> String {
    match known {
        Some(known) => format!("it is signed by `{known}`, who may provide others"),
        None => "its signer is not in the policy".to_owned(),
    }
}

fn either(digests: &[String]) -> String {
    match digests {
        [] => "nothing".to_owned(),
        digests => digests.join(" or "),
    }
}
