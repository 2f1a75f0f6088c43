//! The credentials for a registry: Docker's `config.json`, credential helpers, and pull secrets of Kubernetes.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use docker_credential::{CredentialRetrievalError, DockerCredential, get_credential_from_reader};
use http::HeaderValue;
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;

use super::error::{Error, Result};
use super::reference::Reference;

/// How long a credential helper may take.
const HELPER: Duration = Duration::from_secs(30);

/// The keys of a configuration that make weir run a program.
const HELPERS: [&str; 2] = ["credsStore", "credHelpers"];

/// The key under which Docker keeps the credentials of its own registry.
const DOCKER_HUB: &str = "https://index.docker.io/v1/";

/// What a credential helper prints if it has none for a registry.
const NOT_FOUND: &str = "credentials not found";

/// Where the credentials for a registry are.
#[derive(Clone, Debug, Default)]
pub enum Source {
    /// The user's own `config.json`, and the credential helpers that it names: of `$DOCKER_CONFIG`, or of `~/.docker`.
    #[default]
    User,
    /// A file of the same format, such as a pull secret's `.dockerconfigjson`. It may come from another, so no program that it
    /// names is run.
    File(PathBuf),
    Anonymous,
}

/// The credentials for one registry.
#[derive(Clone, Debug)]
pub(crate) struct Credentials {
    pub secret: Secret,
    /// Where they come from, for an error.
    from: String,
}

#[derive(Clone, Debug)]
pub(crate) enum Secret {
    None,
    Password {
        user: String,
        password: SecretString,
    },
    /// What the registry's token server takes in place of a password.
    IdentityToken(SecretString),
}

impl Credentials {
    /// Finds the credentials for a registry; none if there are none. A helper that finds them has `most` and [`HELPER`] for it.
    ///
    /// Errors: what there is cannot be read.
    pub(crate) fn find(source: &Source, reference: &Reference, most: Duration) -> Result<Self> {
        let (file, is_own) = match source {
            Source::Anonymous => return Ok(Self::none("none are to be used".to_owned())),
            Source::File(file) => (file.clone(), false),
            Source::User => match own_file() {
                Some(file) if file.is_file() => (file, true),
                _ => return Ok(Self::none("there is no `~/.docker/config.json`".to_owned())),
            },
        };
        let shown = file.display().to_string();
        let host = reference.registry();
        let failed = |why: String| Error::Credentials {
            from: shown.clone().into(),
            host: host.into(),
            why: why.into(),
        };
        let text = fs::read(&file).map_err(|e| failed(e.to_string()))?;
        let config = if is_own {
            check_helpers(&text).map_err(failed)?;
            text
        } else {
            without_helpers(&text).map_err(failed)?
        };
        let found = look_up(config, reference, most.min(HELPER)).map_err(failed)?;
        Ok(match found {
            Some(secret) => Self {
                secret,
                from: shown,
            },
            None => Self::none(format!("`{shown}` has none for it")),
        })
    }

    fn none(why: String) -> Self {
        Self {
            secret: Secret::None,
            from: why,
        }
    }

    /// What was refused, for an error.
    pub(crate) fn had(&self) -> String {
        match &self.secret {
            Secret::None => self.from.clone(),
            Secret::Password { user, .. } => {
                format!("it refuses those of user `{user}` in `{}`", self.from)
            }
            Secret::IdentityToken(_) => format!("it refuses the token in `{}`", self.from),
        }
    }

    /// The header of HTTP's basic authentication.
    pub(crate) fn basic(&self) -> Option<HeaderValue> {
        let Secret::Password { user, password } = &self.secret else {
            return None;
        };
        let pair = STANDARD.encode(format!("{user}:{}", password.expose_secret()));
        let mut header = HeaderValue::try_from(format!("Basic {pair}")).ok()?;
        header.set_sensitive(true);
        Some(header)
    }
}

/// The user's own configuration.
fn own_file() -> Option<PathBuf> {
    let home = || env::var_os("HOME").map(|home| Path::new(&home).join(".docker"));
    let directory = env::var_os("DOCKER_CONFIG").map(PathBuf::from);
    Some(directory.or_else(home)?.join("config.json"))
}

/// The configuration of another, without what would make weir run a program.
fn without_helpers(text: &[u8]) -> Result<Vec<u8>, String> {
    let mut config: Value = serde_json::from_slice(text).map_err(|e| not_valid(&e))?;
    let keys = config.as_object_mut().ok_or("it is not a JSON object")?;
    keys.retain(|key, _| !HELPERS.contains(&key.as_str()));
    serde_json::to_vec(&config).map_err(|e| not_valid(&e))
}

/// Checks the names of helpers, which become a part of a program's.
fn check_helpers(text: &[u8]) -> Result<(), String> {
    let config: Value = serde_json::from_slice(text).map_err(|e| not_valid(&e))?;
    let store = config.get("credsStore").into_iter();
    let each = config.get("credHelpers").and_then(Value::as_object);
    let each = each.into_iter().flat_map(|helpers| helpers.values());
    for helper in store.chain(each).filter_map(Value::as_str) {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
        if !helper.bytes().all(allowed) {
            return Err(format!("`{helper}` is not the name of a credential helper"));
        }
    }
    Ok(())
}

fn not_valid(error: &serde_json::Error) -> String {
    format!("it is not valid JSON: {error}")
}

/// Looks a registry up in a configuration, in a thread of its own: a helper may never end.
fn look_up(
    config: Vec<u8>,
    reference: &Reference,
    most: Duration,
) -> Result<Option<Secret>, String> {
    let (send, receive) = mpsc::channel();
    let registry = if reference.is_docker_hub() {
        DOCKER_HUB.to_owned()
    } else {
        reference.registry().to_owned()
    };
    thread::spawn(move || {
        // Nobody is there any more if it took too long.
        let _ = send.send(get_credential_from_reader(&config[..], &registry));
    });
    let found = receive.recv_timeout(most);
    let found = found.map_err(|_| {
        format!(
            "the credential helper did not answer within {} s",
            most.as_secs_f32()
        )
    })?;
    match found {
        Ok(credential) => Ok(Some(credential.into())),
        Err(CredentialRetrievalError::NoCredentialConfigured) => Ok(None),
        Err(CredentialRetrievalError::HelperFailure { stdout, .. })
            if stdout.trim_start().starts_with(NOT_FOUND) =>
        {
            Ok(None)
        }
        Err(error) => Err(explain(&error)),
    }
}

fn explain(error: &CredentialRetrievalError) -> String {
    match error {
        CredentialRetrievalError::HelperCommunicationError => {
            "its credential helper cannot be run, or ended before it read the question; is `docker-credential-…` in PATH?"
                .to_owned()
        }
        CredentialRetrievalError::MalformedHelperResponse => {
            "its credential helper did not answer with `Username` and `Secret`".to_owned()
        }
        CredentialRetrievalError::HelperFailure { helper, stderr, .. } => {
            format!("credential helper `{helper}` failed: {}", stderr.trim())
        }
        CredentialRetrievalError::ConfigReadError => {
            "its keys are not those of Docker's `config.json`".to_owned()
        }
        CredentialRetrievalError::CredentialDecodingError => {
            "`auth` is not `USER:PASSWORD` in base64".to_owned()
        }
        CredentialRetrievalError::CredentialMismatchError => {
            "`auth` is not that of `username` and `password`".to_owned()
        }
        other => other.to_string(),
    }
}

impl From<DockerCredential> for Secret {
    fn from(credential: DockerCredential) -> Self {
        match credential {
            DockerCredential::IdentityToken(token) => Self::IdentityToken(token.into()),
            DockerCredential::UsernamePassword(user, password) => Self::Password {
                user,
                password: password.into(),
            },
        }
    }
}
