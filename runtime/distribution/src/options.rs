//! What a user says about reaching a server.

use std::path::PathBuf;

use super::connection::Limits;
use super::credentials::Source;

/// How a registry, or another server, is reached.
#[derive(Clone, Debug, Default)]
pub struct Options {
    pub credentials: Source,
    /// The only authorities to trust, as PEM; the system's if there is no file.
    pub authorities: Option<PathBuf>,
    /// Allows servers without TLS. A registry on this machine needs no permission.
    pub plain_http: bool,
    pub limits: Limits,
}
