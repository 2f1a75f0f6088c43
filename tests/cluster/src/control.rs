//! The commands of `weir-apiserver` that a real cluster can carry out; its `control` has their table.

use std::io::{self, BufRead, Write};

use anyhow::{Result, bail};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::api::Api;
use crate::namespace::Namespaces;

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Command {
    #[serde(rename = "do")]
    what: String,
    #[serde(default)]
    resource: String,
    #[serde(default)]
    namespace: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    object: Value,
    #[serde(default)]
    patch: Value,
}

/// Carries out commands until there are no more.
pub async fn obey(api: &Api, namespaces: &mut Namespaces) -> Result<()> {
    for line in io::stdin().lock().lines() {
        let done = carry_out(&line?, api, namespaces).await;
        say(&match done {
            Ok(answer) => json!({ "ok": answer }),
            Err(error) => json!({ "error": format!("{error:#}") }),
        })?;
    }
    Ok(())
}

/// One line on standard output.
pub fn say(document: &Value) -> Result<()> {
    let mut output = io::stdout().lock();
    writeln!(output, "{document}")?;
    Ok(output.flush()?)
}

async fn carry_out(line: &str, api: &Api, namespaces: &mut Namespaces) -> Result<Value> {
    let command: Command = serde_json::from_str(line)?;
    if command.resource.is_empty() {
        let what = command.what;
        bail!("{what:?} needs the stand-in: a real cluster does not do that");
    }
    namespaces.expect_own(&command.namespace)?;
    let collection = command.collection()?;
    let object = format!("{collection}/{}", command.name);
    Ok(match &*command.what {
        "create" => {
            namespaces.ensure(api, &command.namespace).await?;
            let object = command.typed_object()?;
            namespaces.create(api, &collection, &object).await?
        }
        "get" => api.get(&object).await?.unwrap_or_default(),
        "list" => {
            let mut list = api.get(&collection).await?.unwrap_or_default();
            list["items"].take()
        }
        "patch" => api.patch(&object, &command.patch).await?,
        "delete" => {
            api.delete(&object).await?;
            Value::Null
        }
        other => bail!("no command {other:?} is known here"),
    })
}

impl Command {
    fn collection(&self) -> Result<String> {
        let version = match &*self.resource {
            "pods" | "events" => "/api/v1",
            "network-attachment-definitions" => "/apis/k8s.cni.cncf.io/v1",
            other => bail!("no resource {other:?} is known here"),
        };
        let namespace = &self.namespace;
        Ok(format!(
            "{version}/namespaces/{namespace}/{}",
            self.resource
        ))
    }

    /// The API server needs its type.
    fn typed_object(&self) -> Result<Value> {
        let (version, kind) = match &*self.resource {
            "pods" => ("v1", "Pod"),
            "events" => ("v1", "Event"),
            "network-attachment-definitions" => {
                ("k8s.cni.cncf.io/v1", "NetworkAttachmentDefinition")
            }
            other => bail!("no resource {other:?} is known here"),
        };
        let mut object = self.object.clone();
        object["apiVersion"] = version.into();
        object["kind"] = kind.into();
        Ok(object)
    }
}
