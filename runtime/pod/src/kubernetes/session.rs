//! A connection to the API server, with the credentials that it was opened with.

use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;

use super::ask::Ask;
use super::connection::Connection;
use super::credentials::{Credentials, Source};
use super::failure::Failure;
use super::repeat::Limits;

/// What the calls to one API server share.
pub(super) struct Session {
    /// None only while it is dropped.
    runtime: Option<Runtime>,
    connection: Connection,
    credentials: Credentials,
    limits: Limits,
}

impl Session {
    /// Reads the credentials, and sends nothing yet.
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

    /// Reads the credentials again, and uses them if they changed. Returns whether they did.
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
        let answer = async { self.connection.send(ask.request()?).await };
        let answer = answer.await;
        let (head, body) = answer.map_err(|error| Failure::of_connection(&*error))?;
        if head.status.is_success() {
            return Ok(body.into());
        }
        let retry_after = head.headers.get(http::header::RETRY_AFTER);
        let retry_after = retry_after.and_then(|value| value.to_str().ok()?.parse().ok());
        Err(Failure::refused(head.status.as_u16(), retry_after, &body))
    }

    fn runtime(&self) -> &Runtime {
        self.runtime.as_ref().expect("only drop takes it")
    }
}

impl Drop for Session {
    /// Does not wait for a name lookup that is under way.
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
    Connection::new(credentials, limits.request)
        .map_err(|error| Failure::Credentials(format!("the credentials cannot be used: {error}")))
}
