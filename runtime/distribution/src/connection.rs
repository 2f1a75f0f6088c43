//! HTTP requests and their answers, each within limits of time and size.

use std::error::Error as StdError;
use std::io;
use std::time::Duration;

use http::{Request, Uri};
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use rustls::ClientConfig;
use tokio::time::timeout;

use super::error::{Error, Result, host_of};

/// How long weir waits for a registry.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// For a connection.
    pub connect: Duration,
    /// For the head of an answer, and for each part of its body.
    pub idle: Duration,
    /// For all that one command transfers.
    pub total: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            idle: Duration::from_secs(30),
            total: Duration::from_secs(300),
        }
    }
}

pub(crate) struct Connection {
    client: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
    limits: Limits,
}

/// An answer whose body is not read yet.
pub(crate) struct Answer {
    /// Where it came from, after redirects.
    pub url: Uri,
    pub head: http::response::Parts,
    body: Incoming,
    idle: Duration,
}

impl Connection {
    /// Sends nothing yet.
    pub(crate) fn new(tls: ClientConfig, limits: Limits) -> Self {
        let mut connector = HttpConnector::new();
        connector.enforce_http(false);
        connector.set_connect_timeout(Some(limits.connect));
        let connector = HttpsConnectorBuilder::new()
            .with_tls_config(tls)
            .https_or_http()
            .enable_http1()
            .wrap_connector(connector);
        Self {
            client: Client::builder(TokioExecutor::new()).build(connector),
            limits,
        }
    }

    /// Sends a request and waits for the head of its answer. What is sent counts against the limit of the whole transfer only.
    pub(crate) async fn send(&self, request: Request<Full<Bytes>>, sends: usize) -> Result<Answer> {
        let url = request.uri().clone();
        let limit = if sends == 0 {
            self.limits.idle
        } else {
            self.limits.total
        };
        let answered = timeout(limit, self.client.request(request)).await;
        let answered = answered.map_err(|_| slow(&url, limit))?;
        let (head, body) = answered.map_err(|e| unreachable(&url, &e))?.into_parts();
        Ok(Answer {
            url,
            head,
            body,
            idle: self.limits.idle,
        })
    }
}

impl Answer {
    /// Reads the whole body. Errors: it is longer than `limit`, in bytes. `what` is its name in an error.
    pub(crate) async fn read(mut self, what: &'static str, limit: u64) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        while let Some(part) = self.next().await? {
            if (bytes.len() + part.len()) as u64 > limit {
                return Err(Error::TooLong {
                    url: (&self.url).into(),
                    what,
                    limit,
                });
            }
            bytes.extend_from_slice(&part);
        }
        Ok(bytes)
    }

    /// The next part of the body; none at its end.
    pub(crate) async fn next(&mut self) -> Result<Option<Bytes>> {
        loop {
            let frame = timeout(self.idle, self.body.frame()).await;
            let frame = frame.map_err(|_| slow(&self.url, self.idle))?;
            let Some(frame) = frame else {
                return Ok(None);
            };
            let frame = frame.map_err(|e| unreachable(&self.url, &e))?;
            // Trailers have no data.
            if let Ok(part) = frame.into_data() {
                return Ok(Some(part));
            }
        }
    }
}

fn slow(url: &Uri, limit: Duration) -> Error {
    Error::Slow {
        host: host_of(url).into(),
        limit,
    }
}

/// The innermost reason says what happened; the outer ones, in which layer.
fn unreachable(url: &Uri, error: &(dyn StdError + 'static)) -> Error {
    let mut reason = error;
    let (mut is_of_tls, mut is_of_http) = (false, false);
    loop {
        is_of_tls |= is_about_trust(reason);
        is_of_http |= reason
            .downcast_ref::<hyper::Error>()
            .is_some_and(hyper::Error::is_parse);
        match reason.source() {
            Some(source) => reason = source,
            None => break,
        }
    }
    let (host, why) = (host_of(url).into(), reason.to_string().into());
    if is_of_tls {
        Error::Tls { host, why }
    } else if is_of_http {
        Error::Protocol {
            url: url.into(),
            why,
        }
    } else {
        Error::Unreachable { host, why }
    }
}

/// Whether a certificate is why there is no connection. What an I/O error wraps is not its source.
fn is_about_trust(error: &(dyn StdError + 'static)) -> bool {
    let wrapped = error
        .downcast_ref::<io::Error>()
        .and_then(io::Error::get_ref);
    match wrapped {
        Some(inner) => is_about_trust(inner),
        None => matches!(
            error.downcast_ref::<rustls::Error>(),
            Some(rustls::Error::InvalidCertificate(_))
        ),
    }
}
