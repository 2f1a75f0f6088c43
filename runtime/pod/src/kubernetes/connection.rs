//! Requests on their way to the API server: where it is, and what each of them says of who asks.

use std::io::Cursor;
use std::time::Duration;

use http::{HeaderMap, Request, Response, Uri};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper_rustls::{FixedServerNameResolver, HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::{Client, Error};
use hyper_util::rt::TokioExecutor;
use kube::Config;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;

/// What is sent.
pub(super) type Body = Full<Cursor<Vec<u8>>>;

/// A way to one API server, for one user.
pub(super) struct Connection {
    client: Client<HttpsConnector<HttpConnector>, Body>,
    server: Uri,
    user: HeaderMap,
}

impl Connection {
    /// Nobody is asked yet. `limit` is for the connection itself.
    ///
    /// Errors: what of the configuration cannot be used.
    pub(super) fn new(
        config: &Config,
        tls: ClientConfig,
        user: HeaderMap,
        limit: Duration,
    ) -> Result<Self, String> {
        let mut connector = HttpConnector::new();
        connector.enforce_http(false);
        connector.set_connect_timeout(Some(limit));
        let mut builder = HttpsConnectorBuilder::new()
            .with_tls_config(tls)
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
            user,
        })
    }

    /// Sends a request for a path of the API server. Errors: there is no answer.
    pub(super) async fn send(
        &self,
        mut request: Request<Body>,
    ) -> Result<Response<Incoming>, Unsent> {
        *request.uri_mut() = below(&self.server, request.uri())?;
        let user = self.user.iter();
        let user = user.map(|(name, value)| (name.clone(), value.clone()));
        request.headers_mut().extend(user);
        Ok(self.client.request(request).await?)
    }
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unsent {
    #[error(transparent)]
    Address(#[from] http::Error),
    #[error(transparent)]
    Connection(#[from] Error),
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
