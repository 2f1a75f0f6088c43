//! Transfers for callers that wait, with a limit for all of one.

use std::future::Future;

use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;

use super::connection::Limits;
use super::error::{Error, Result};

pub(crate) struct Blocking {
    /// None only while it is dropped.
    runtime: Option<Runtime>,
    limits: Limits,
}

impl Blocking {
    /// Sends nothing yet. `host` is the server, for an error.
    pub(crate) fn new(host: &str, limits: Limits) -> Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|e| Error::Unreachable {
            host: host.into(),
            why: e.to_string().into(),
        })?;
        Ok(Self {
            runtime: Some(runtime),
            limits,
        })
    }

    pub(crate) fn run<T>(&self, work: impl Future<Output = Result<T>>) -> Result<T> {
        let limit = self.limits.total;
        let runtime = self.runtime.as_ref().expect("only drop takes it");
        runtime.block_on(async {
            let done = timeout(limit, work).await;
            done.unwrap_or(Err(Error::Deadline { limit }))
        })
    }
}

impl Drop for Blocking {
    /// Does not wait for a name lookup that is under way.
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
