//! One call over gRPC, with messages that are read from JSON and written as JSON.

use std::time::Duration;

use anyhow::{Context, Result};
use prost::Message;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tonic::Request;
use tonic::client::Grpc;
use tonic::transport::{Channel, Endpoint};
use tonic_prost::ProstCodec;

/// How long it may take: a runtime starts or stops a whole pod meanwhile.
const TIMEOUT: Duration = Duration::from_secs(120);

/// A call that is to be made.
pub struct Call<'a> {
    pub socket: &'a str,
    pub method: &'a str,
    /// JSON.
    pub request: &'a str,
}

impl Call<'_> {
    /// Makes it, by a service of the CRI that has the method. Returns the response.
    pub async fn make<Q, A>(&self, service: &str) -> Result<String>
    where
        Q: Message + DeserializeOwned + 'static,
        A: Message + Default + Serialize + 'static,
    {
        let request: Q = serde_json::from_str(self.request).context("the request")?;
        let path = format!("/{service}/{}", self.method).parse()?;
        let mut grpc = Grpc::new(self.connect().await?);
        grpc.ready().await?;
        let codec = ProstCodec::<Q, A>::default();
        let response = grpc.unary(Request::new(request), path, codec).await?;
        Ok(serde_json::to_string(&response.into_inner())?)
    }

    async fn connect(&self) -> Result<Channel> {
        let endpoint = Endpoint::from_shared(format!("unix://{}", self.socket))?;
        let connected = endpoint.timeout(TIMEOUT).connect().await;
        connected.with_context(|| format!("connect to {}", self.socket))
    }
}
