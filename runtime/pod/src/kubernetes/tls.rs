//! TLS with the API server: the authorities that weir trusts, and its own certificate.

use std::sync::Arc;

use kube::Config;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{
    WebPkiSupportedAlgorithms, ring, verify_tls12_signature, verify_tls13_signature,
};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use rustls_platform_verifier::BuilderVerifierExt;

/// A certificate and its key, as PEM.
pub(super) struct Identity {
    pub certificate: Vec<u8>,
    pub key: Vec<u8>,
}

/// TLS as a configuration wants it. Errors: the part of it that cannot be used.
pub(super) fn of(config: &Config, identity: Option<&Identity>) -> Result<ClientConfig, String> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider));
    let builder = builder.with_safe_default_protocol_versions();
    let builder = builder.map_err(|error| error.to_string())?;
    let builder = match &config.root_cert {
        Some(authorities) => builder.with_root_certificates(store(authorities)?),
        // As other clients do: the authorities that the system trusts.
        None => builder
            .with_platform_verifier()
            .map_err(|error| error.to_string())?,
    };
    let mut tls = match identity {
        Some(identity) => {
            let (certificates, key) = identity.parse()?;
            let known = builder.with_client_auth_cert(certificates, key);
            known.map_err(|error| format!("client-certificate and client-key: {error}"))?
        }
        None => builder.with_no_client_auth(),
    };
    if config.accept_invalid_certs {
        let any = AnyCertificate(provider.signature_verification_algorithms);
        tls.dangerous().set_certificate_verifier(Arc::new(any));
    }
    Ok(tls)
}

fn store(authorities: &[Vec<u8>]) -> Result<RootCertStore, String> {
    let mut store = RootCertStore::empty();
    for authority in authorities {
        let added = store.add(CertificateDer::from(authority.as_slice()).into_owned());
        added.map_err(|error| format!("certificate-authority: {error}"))?;
    }
    Ok(store)
}

impl Identity {
    fn parse(&self) -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>), String> {
        let certificates = CertificateDer::pem_slice_iter(&self.certificate);
        let certificates: Result<Vec<_>, _> = certificates.collect();
        let certificates = certificates.map_err(|error| format!("client-certificate: {error}"))?;
        if certificates.is_empty() {
            return Err("client-certificate: it has no certificate".to_owned());
        }
        let key = PrivateKeyDer::from_pem_slice(&self.key);
        let key = key.map_err(|error| format!("client-key: {error}"))?;
        Ok((certificates, key))
    }
}

/// Accepts any certificate, where the kubeconfig says so (`insecure-skip-tls-verify`). The server must still prove that
/// it has the certificate's key.
#[derive(Debug)]
struct AnyCertificate(WebPkiSupportedAlgorithms);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signed, &self.0)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signed, &self.0)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_schemes()
    }
}
