//! What the test says: one JSON document a line on standard input, and one for an answer on standard output,
//! `{"ok": …}` or `{"error": "…"}`.
//!
//! | `do` | keys | answer |
//! |---|---|---|
//! | `create` | `resource`, `namespace`, `object` | the object |
//! | `get` | `resource`, `namespace`, `name` | the object, or null |
//! | `list` | `resource`, `namespace` | the objects |
//! | `patch` | `resource`, `namespace`, `name`, `patch` | the object after the merge patch |
//! | `delete` | `resource`, `namespace`, `name` | null, also where it is not there |
//! | `faults` | `faults` | null; in place of those before (`fault`) |
//! | `requests` | | all since the last `forget-requests` (`world`) |
//! | `forget-requests` | | null |
//! | `rules` | `rules`, `user`? | null; the user's only rules (`access`) |
//! | `token` | `user`? | a new token |
//! | `revoke` | `token` | null; it is valid no longer |
//! | `certificate` | `user`? | `certificate` and `key` in PEM |
//!
//! A namespace is made where it is missing. A user that is not named is weir's; `admin` may do everything.

use std::fmt::Display;

use anyhow::{Context, Result};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, stdin, stdout};

use crate::access::{Rule, WEIR};
use crate::fault::Fault;
use crate::route::{Route, resource};
use crate::status::Status;
use crate::store::Update;
use crate::tls::Authority;
use crate::world::World;

#[derive(Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case", deny_unknown_fields)]
enum Command {
    Create {
        resource: String,
        namespace: String,
        object: Value,
    },
    Get(ObjectName),
    List {
        resource: String,
        namespace: String,
    },
    Patch {
        resource: String,
        namespace: String,
        name: String,
        patch: Value,
    },
    Delete(ObjectName),
    Faults {
        faults: Vec<Fault>,
    },
    Requests,
    ForgetRequests,
    Rules {
        rules: Vec<Rule>,
        #[serde(default = "weir")]
        user: String,
    },
    Token {
        #[serde(default = "weir")]
        user: String,
    },
    Revoke {
        token: String,
    },
    Certificate {
        #[serde(default = "weir")]
        user: String,
    },
}

#[derive(Deserialize)]
struct ObjectName {
    resource: String,
    namespace: String,
    name: String,
}

fn weir() -> String {
    WEIR.to_owned()
}

/// Carries out commands until there are no more.
pub async fn obey(world: &World, authority: &Authority) -> Result<()> {
    let mut lines = BufReader::new(stdin()).lines();
    while let Some(line) = lines.next_line().await? {
        let done = serde_json::from_str(&line).map_err(|error| told(&error));
        let done = done.and_then(|command| carry_out(command, world, authority));
        say(&match done {
            Ok(answer) => json!({ "ok": answer }),
            Err(error) => json!({ "error": error }),
        })
        .await?;
    }
    Ok(())
}

/// One line on standard output.
pub async fn say(document: &Value) -> Result<()> {
    let mut output = stdout();
    let line = format!("{document}\n");
    output
        .write_all(line.as_bytes())
        .await
        .context("standard output")?;
    output.flush().await.context("standard output")
}

fn carry_out(command: Command, world: &World, authority: &Authority) -> Result<Value, String> {
    let mut known = world.lock();
    let done = match command {
        Command::Create {
            resource,
            namespace,
            object,
        } => {
            let route = route(&resource, &namespace, None)?;
            if let Some(namespace) = &route.namespace {
                known.store.ensure_namespace(namespace);
            }
            known.store.create(&route, object)
        }
        Command::Get(object) => or_null(known.store.get(&object.route()?)),
        Command::List {
            resource,
            namespace,
        } => Ok(known
            .store
            .list(&route(&resource, &namespace, None)?)
            .into()),
        Command::Patch {
            resource,
            namespace,
            name,
            patch,
        } => {
            let route = route(&resource, &namespace, Some(name))?;
            let present = known.store.get(&route).map_err(|status| refused(&status))?;
            let mut new = present;
            json_patch::merge(&mut new, &patch);
            known.store.update(&route, new, Update::Patch)
        }
        Command::Delete(object) => {
            let gone = known.store.delete(&object.route()?, &Value::Null);
            or_null(gone).map(|_| Value::Null)
        }
        Command::Faults { faults } => {
            known.faults.set(faults);
            Ok(Value::Null)
        }
        Command::Requests => Ok(json!(known.requests)),
        Command::ForgetRequests => {
            known.requests.clear();
            Ok(Value::Null)
        }
        Command::Rules { rules, user } => {
            known.access.set_rules(&user, rules);
            Ok(Value::Null)
        }
        Command::Token { user } => Ok(known.access.issue(&user).into()),
        Command::Revoke { token } => {
            known.access.revoke(&token);
            Ok(Value::Null)
        }
        Command::Certificate { user } => {
            let made = authority.certificate_of(&user);
            let (certificate, key) = made.map_err(|error| told(&error))?;
            Ok(json!({ "certificate": certificate, "key": key }))
        }
    };
    done.map_err(|status| refused(&status))
}

impl ObjectName {
    fn route(self) -> Result<Route, String> {
        route(&self.resource, &self.namespace, Some(self.name))
    }
}

fn route(plural: &str, namespace: &str, name: Option<String>) -> Result<Route, String> {
    let resource = resource(plural).ok_or_else(|| format!("no resource {plural:?} is served"))?;
    Ok(Route {
        resource,
        namespace: resource.is_namespaced.then(|| namespace.to_owned()),
        name,
        subresource: None,
    })
}

fn or_null(done: Result<Value, Status>) -> Result<Value, Status> {
    match done {
        Err(status) if status.code == 404 => Ok(Value::Null),
        done => done,
    }
}

fn refused(status: &Status) -> String {
    status.body()["message"].to_string()
}

fn told(error: &impl Display) -> String {
    error.to_string()
}
