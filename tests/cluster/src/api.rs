//! Requests of the API server, as JSON.

use anyhow::{Context, Result, bail};
use http::{Method, Request};
use kube::{Client, Config, Error};
use serde_json::Value;

const DEFINITIONS: &str = "/apis/k8s.cni.cncf.io/v1";
const MERGE_PATCH: &str = "application/merge-patch+json";

/// The API server.
pub struct Api(Client);

impl Api {
    pub fn new(config: Config) -> Result<Self> {
        Ok(Self(Client::try_from(config)?))
    }

    /// Fails unless there can be NetworkAttachmentDefinitions.
    pub async fn expect_definitions(&self) -> Result<()> {
        match self.get(DEFINITIONS).await? {
            Some(_) => Ok(()),
            None => bail!(
                "the cluster knows no NetworkAttachmentDefinitions: install the CustomResourceDefinition in examples/kubernetes"
            ),
        }
    }

    /// None where there is no such object.
    pub async fn get(&self, path: &str) -> Result<Option<Value>> {
        or_none(self.ask(Method::GET, path, "", &Value::Null).await)
    }

    pub async fn create(&self, path: &str, object: &Value) -> Result<Value, Error> {
        self.ask(Method::POST, path, "application/json", object)
            .await
    }

    pub async fn patch(&self, path: &str, patch: &Value) -> Result<Value> {
        Ok(self.ask(Method::PATCH, path, MERGE_PATCH, patch).await?)
    }

    /// Also where there is no such object.
    pub async fn delete(&self, path: &str) -> Result<()> {
        or_none(self.ask(Method::DELETE, path, "", &Value::Null).await).map(|_| ())
    }

    async fn ask(
        &self,
        method: Method,
        path: &str,
        content_type: &str,
        body: &Value,
    ) -> Result<Value, Error> {
        let body = match body {
            Value::Null => Vec::new(),
            body => body.to_string().into_bytes(),
        };
        let mut request = Request::builder().method(method).uri(path);
        if !content_type.is_empty() {
            request = request.header(http::header::CONTENT_TYPE, content_type);
        }
        let request = request.body(body).map_err(Error::HttpError)?;
        self.0.request(request).await
    }
}

fn or_none(answered: Result<Value, Error>) -> Result<Option<Value>> {
    match answered {
        Ok(answer) => Ok(Some(answer)),
        Err(Error::Api(status)) if status.code == 404 => Ok(None),
        Err(error) => Err(error).context("the API server"),
    }
}
