//! HTTP requests to one API server, for one user.

use std::error::Error;
use std::io::Cursor;
use std::time::Duration;

use http::response::Parts;
use http::{HeaderMap, Request, Uri};
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper_rustls::{FixedServerNameResolver, HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use rustls::pki_types::ServerName;

use super::credentials::Credentials;
use super::tls;

pub(super) type Body = Full<Cursor<Vec<u8>>>;

/// The client of one API server, for one user.
pub(super) struct Connection {
    client: Client<HttpsConnector<HttpConnector>, Body>,
    server: Uri,
    user: HeaderMap,
}

impl Connection {
    /// Sends nothing yet. `limit` is for connecting.
    ///
    /// Errors: the part of the credentials that cannot be used.
    pub(super) fn new(credentials: &Credentials, limit: Duration) -> Result<Self, String> {
        let config = &credentials.config;
        let mut connector = HttpConnector::new();
        connector.enforce_http(false);
        connector.set_connect_timeout(Some(limit));
        let mut builder = HttpsConnectorBuilder::new()
            .with_tls_config(tls::of(config, credentials.identity.as_ref())?)
            .https_or_http();
        if let Some(name) = &config.tls_server_name {
            let expected = ServerName::try_from(name.clone());
            let expected = expected.map_err(|error| format!("tls-server-name: {error}"))?;
            builder = builder.with_server_name_resolver(FixedServerNameResolver::new(expected));
        }
        let connector = builder.enable_http1().wrap_connector(connector);
        Ok(Self {
            client: Client::builder(TokioExecutor::new()).build(connector),
            server: config.cluster_url.clone(),
            user: credentials.headers.clone(),
        })
    }

    /// Sends a request for a path of the API server, and reads the whole answer. Errors: no answer.
    pub(super) async fn send(
        &self,
        mut request: Request<Body>,
    ) -> Result<(Parts, Bytes), Box<dyn Error + Send + Sync>> {
        *request.uri_mut() = below(&self.server, request.uri())?;
        let user = self.user.iter();
        let user = user.map(|(name, value)| (name.clone(), value.clone()));
        request.headers_mut().extend(user);
        let (head, body) = self.client.request(request).await?.into_parts();
        Ok((head, body.collect().await?.to_bytes()))
    }
}

/// The URL of a path of the API server, which may itself be below a path.
fn below(server: &Uri, path: &Uri) -> Result<Uri, http::Error> {
    let mut url = Uri::builder();
    if let Some(scheme) = server.scheme() {
        url = url.scheme(scheme.clone());
    }
    if let Some(authority) = server.authority() {
        url = url.authority(authority.clone());
    }
    let base = server.path().trim_end_matches('/');
    url.path_and_query(format!("{base}{path}")).build()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_api_server_may_be_below_a_path() {
        let url = |server: &'static str| {
            let path = Uri::from_static("/api/v1/pods?limit=1");
            below(&Uri::from_static(server), &path).unwrap().to_string()
        };
        assert_eq!(url("https://a:6443"), "https://a:6443/api/v1/pods?limit=1");
        assert_eq!(
            url("https://a/k8s/c/"),
            "https://a/k8s/c/api/v1/pods?limit=1"
        );
    }
}
