//! TLS with registries: the authorities that weir trusts.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use rustls::crypto::ring;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::BuilderVerifierExt;

use super::error::{Error, Result};

/// TLS that trusts the authorities of a file alone, or those of the system.
pub(crate) fn trusting(authorities: Option<&Path>) -> Result<ClientConfig> {
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("the provider has the default versions");
    let builder = match authorities {
        Some(file) => builder.with_root_certificates(read(file)?),
        None => builder.with_platform_verifier().map_err(|e| {
            let why = format!("the system has none: {e}; give --ca-file");
            unusable(Path::new("/etc/ssl/certs"), why)
        })?,
    };
    Ok(builder.with_no_client_auth())
}

fn read(file: &Path) -> Result<RootCertStore> {
    let bytes = fs::read(file).map_err(|e| unusable(file, e.to_string()))?;
    let mut store = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(&bytes) {
        let certificate = certificate.map_err(|e| unusable(file, e.to_string()))?;
        let added = store.add(certificate);
        added.map_err(|e| unusable(file, e.to_string()))?;
    }
    if store.is_empty() {
        return Err(unusable(file, "it has no certificate".to_owned()));
    }
    Ok(store)
}

fn unusable(file: &Path, why: String) -> Error {
    Error::Authorities {
        file: file.to_owned(),
        why: why.into(),
    }
}
