//! A connection to the API server, with the credentials that it was opened with.

use std::time::Duration;

use kube::Client;
use rustls::crypto::ring;
use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;

use super::ask::Ask;
use super::credentials::{Credentials, Source};
use super::failure::Failure;
use super::repeat::Limits;

/// What calls share.
pub(super) struct Session {
    /// None only while it is dropped.
    runtime: Option<Runtime>,
    client: Client,
    credentials: Credentials,
    limits: Limits,
}

impl Session {
    /// Reads the credentials. Nobody is asked yet.
    pub(super) fn open(source: &Source, limits: Limits) -> Result<Self, Failure> {
        // Where somebody was first, it is the same one: weir is built with no other.
        let _ = ring::default_provider().install_default();
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| Failure::of_connection(&error))?;
        let credentials = source.read().map_err(Failure::Credentials)?;
        Ok(Self {
            client: client(&runtime, &credentials, limits)?,
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
        self.client = client(self.runtime(), &credentials, self.limits)?;
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
        let response = self.client.send(request).await;
        let response = response.map_err(|error| Failure::of_connection(&error))?;
        let (head, body) = response.into_parts();
        let body = body.collect_bytes().await;
        let body = body.map_err(|error| Failure::of_connection(&error))?;
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

fn client(runtime: &Runtime, credentials: &Credentials, limits: Limits) -> Result<Client, Failure> {
    let mut config = credentials.config.clone();
    config.connect_timeout = Some(limits.request);
    // `repeat` has the bounds.
    config.default_retry = false;
    let _inside = runtime.enter();
    Client::try_from(config)
        .map_err(|error| Failure::Credentials(format!("the credentials cannot be used: {error}")))
}
