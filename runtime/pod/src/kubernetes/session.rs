//! A connection to the API server, with the credentials that it was opened with.

use std::sync::Arc;
use std::time::Duration;

use http_body_util::BodyExt;
use rustls::crypto::ring;
use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;

use super::ask::Ask;
use super::connection::Connection;
use super::credentials::{Credentials, Source};
use super::failure::Failure;
use super::repeat::Limits;
use super::tls;

/// What calls share.
pub(super) struct Session {
    /// None only while it is dropped.
    runtime: Option<Runtime>,
    connection: Connection,
    credentials: Credentials,
    limits: Limits,
}

impl Session {
    /// Reads the credentials. Nobody is asked yet.
    pub(super) fn open(source: &Source, limits: Limits) -> Result<Self, Failure> {
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| Failure::of_connection(&error))?;
        let credentials = source.read().map_err(Failure::Credentials)?;
        Ok(Self {
            connection: connection(&runtime, &credentials, limits)?,
            runtime: Some(runtime),
            credentials,
            limits,
        })
    }

    /// Reads the credentials anew. Whether there are others now, which are used from here on.
    pub(super) fn renew(&mut self, source: &Source) -> Result<bool, Failure> {
        let credentials = source.read().map_err(Failure::Credentials)?;
        if credentials.are_those(&self.credentials) {
            return Ok(false);
        }
        self.connection = connection(self.runtime(), &credentials, self.limits)?;
        self.credentials = credentials;
        Ok(true)
    }

    /// Sends one request, and waits for the whole answer.
    pub(super) fn send(&self, ask: &Ask, limit: Duration) -> Result<Vec<u8>, Failure> {
        let answered = async { timeout(limit, self.exchange(ask)).await };
        let answered = self.runtime().block_on(answered);
        answered.unwrap_or(Err(Failure::Timeout(limit)))
    }

    async fn exchange(&self, ask: &Ask) -> Result<Vec<u8>, Failure> {
        let request = ask.request();
        let request = request.map_err(|error| Failure::of_connection(&error))?;
        let response = self.connection.send(request).await;
        let response = response.map_err(|error| Failure::of_connection(&error))?;
        let (head, body) = response.into_parts();
        let body = body.collect().await;
        let body = body.map_err(|error| Failure::of_connection(&error))?;
        let body = body.to_bytes();
        if head.status.is_success() {
            return Ok(body.into());
        }
        let retry_after = head.headers.get(http::header::RETRY_AFTER);
        let retry_after = retry_after.and_then(|value| value.to_str().ok()?.parse().ok());
        Err(Failure::refused(head.status.as_u16(), retry_after, &body))
    }

    fn runtime(&self) -> &Runtime {
        self.runtime.as_ref().expect("it is there until the end")
    }
}

impl Drop for Session {
    /// Without waiting for a name that is being looked up.
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

fn connection(
    runtime: &Runtime,
    credentials: &Credentials,
    limits: Limits,
) -> Result<Connection, Failure> {
    let _inside = runtime.enter();
    let provider = Arc::new(ring::default_provider());
    let tls = tls::of(
        &credentials.config,
        credentials.identity.as_ref(),
        &provider,
    );
    let connection = tls.and_then(|tls| {
        let headers = credentials.headers.clone();
        Connection::new(&credentials.config, tls, headers, limits.request)
    });
    connection
        .map_err(|error| Failure::Credentials(format!("the credentials cannot be used: {error}")))
}
