//! How a command reaches a registry.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use weir_distribution::{CredentialSource, Limits, Options, Reference, Registry};

#[derive(Args)]
pub struct RegistryArguments {
    /// A file with credentials, as Docker's config.json or a pull secret's .dockerconfigjson [default: your own config.json and
    /// the credential helpers that it names].
    #[arg(long, value_name = "FILE", conflicts_with = "anonymous")]
    credentials: Option<PathBuf>,
    /// Use no credentials.
    #[arg(long)]
    anonymous: bool,
    /// A file with the authorities to trust, as PEM [default: those that the system trusts].
    #[arg(long, value_name = "FILE")]
    ca_file: Option<PathBuf>,
    /// Use no TLS. A registry on this machine is reached without TLS anyway, unless --ca-file is given.
    #[arg(long, conflicts_with = "ca_file")]
    plain_http: bool,
    /// The limit for the whole transfer, such as 90s or 10m.
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = humantime::parse_duration)]
    timeout: Duration,
}

impl RegistryArguments {
    /// Returns the registry that a reference names. Sends nothing yet.
    pub fn open(&self, reference: &Reference) -> Result<Registry> {
        Ok(Registry::new(reference, self.options())?)
    }

    /// Returns how a server is reached.
    pub fn options(&self) -> Options {
        let credentials = match &self.credentials {
            Some(file) => CredentialSource::File(file.clone()),
            None if self.anonymous => CredentialSource::Anonymous,
            None => CredentialSource::User,
        };
        let limits = Limits {
            total: self.timeout,
            ..Limits::default()
        };
        Options {
            credentials,
            authorities: self.ca_file.clone(),
            plain_http: self.plain_http,
            limits,
        }
    }
}
