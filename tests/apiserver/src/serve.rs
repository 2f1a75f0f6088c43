//! Connections, and one request after the other on each.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, bail};
use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

use crate::access::{Access, service_account};
use crate::answer::{Body, JSON, about_the_api, object, refused, stream, text, unfinished};
use crate::fault::{Answer, Ordered};
use crate::patch;
use crate::route::{Route, parameters};
use crate::status::{Status, success};
use crate::store::{Store, Update};
use crate::tls;
use crate::watch::Watch;
use crate::world::{self, World};

/// Serves connections for as long as the program runs.
pub async fn serve(listener: TcpListener, acceptor: TlsAcceptor, world: World) {
    loop {
        // A connection that ended before it was accepted does not matter.
        if let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(connection(stream, acceptor.clone(), world.clone()));
        }
    }
}

/// Errors end the connection, which is what the client has to see of them.
async fn connection(stream: TcpStream, acceptor: TlsAcceptor, world: World) -> Result<()> {
    stream.set_nodelay(true)?;
    let stream = acceptor.accept(stream).await?;
    let certificates = stream.get_ref().1.peer_certificates();
    let certificate = certificates.and_then(|chain| chain.first());
    let holder = Arc::new(certificate.and_then(tls::common_name));
    let service = service_fn(move |request| {
        let client = Client {
            world: world.clone(),
            holder: holder.clone(),
        };
        client.answer(request)
    });
    http1::Builder::new()
        .serve_connection(TokioIo::new(stream), service)
        .await?;
    Ok(())
}

/// Who is at the other end.
struct Client {
    world: World,
    /// Of a client certificate.
    holder: Arc<Option<String>>,
}

/// A request, read.
struct ReceivedRequest {
    method: Method,
    route: Route,
    user: String,
    content_type: String,
    accept: String,
    parameters: BTreeMap<String, String>,
    body: Bytes,
}

impl Client {
    async fn answer(self, request: Request<Incoming>) -> Result<Response<Body>> {
        let user = self.user(&request);
        self.note(&request, user.as_deref());
        let (head, body) = request.into_parts();
        let body = body.collect().await?.to_bytes();
        let header = |name| head.headers.get(name).and_then(|value| value.to_str().ok());
        let path = head.uri.path();
        let Some(route) = Route::of(path) else {
            return Ok(about_the_api(path, user.as_deref()));
        };
        let ordered = self.world.lock().faults.take(head.method.as_str(), &route);
        let received = ReceivedRequest {
            method: head.method.clone(),
            route,
            user: user.unwrap_or_default(),
            content_type: header(CONTENT_TYPE).unwrap_or_default().to_owned(),
            accept: header(ACCEPT).unwrap_or_default().to_owned(),
            parameters: parameters(&head.uri),
            body,
        };
        match ordered {
            None => Ok(self.respond(&received)),
            Some(ordered) => self.fail(&received, ordered).await,
        }
    }

    /// By a token, or else by a certificate.
    fn user(&self, request: &Request<Incoming>) -> Option<String> {
        let authorization = request.headers().get(AUTHORIZATION);
        let Some(authorization) = authorization.and_then(|value| value.to_str().ok()) else {
            return (*self.holder).clone();
        };
        let token = authorization.strip_prefix("Bearer ")?;
        self.world.lock().access.user(token)
    }

    fn note(&self, request: &Request<Incoming>, user: Option<&str>) {
        let content_type = request.headers().get(CONTENT_TYPE);
        let content_type = content_type.and_then(|value| value.to_str().ok());
        self.world.lock().requests.push(world::Request {
            verb: request.method().to_string(),
            path: request.uri().path().to_owned(),
            content_type: content_type.unwrap_or_default().to_owned(),
            user: user.unwrap_or_default().to_owned(),
        });
    }

    /// Answers as a test ordered. An error cuts the connection.
    async fn fail(&self, received: &ReceivedRequest, ordered: Ordered) -> Result<Response<Body>> {
        let answered = if ordered.after {
            Some(self.respond(received))
        } else {
            None
        };
        match ordered.answer {
            Answer::Hang => std::future::pending().await,
            Answer::Cut => bail!("cut by a test"),
            Answer::CutInside => Ok(unfinished()),
            Answer::Say { status, body } => Ok(text(StatusCode::from_u16(status)?, body)),
            Answer::Delay(milliseconds) => {
                tokio::time::sleep(Duration::from_millis(milliseconds)).await;
                Ok(answered.unwrap_or_else(|| self.respond(received)))
            }
            Answer::Refuse { .. } => {
                let status = ordered.answer.status();
                Ok(refused(&status.expect("it is one")))
            }
        }
    }

    fn respond(&self, received: &ReceivedRequest) -> Response<Body> {
        self.carry_out(received)
            .unwrap_or_else(|status| refused(&status))
    }

    fn carry_out(&self, received: &ReceivedRequest) -> Result<Response<Body>, Status> {
        let route = &received.route;
        if received.user.is_empty() {
            return Err(Status::unauthorized());
        }
        let is_watch = matches!(received.parameter("watch"), Some("true" | "1"));
        let verb = route.verb(&received.method, is_watch);
        let verb = verb.ok_or_else(Status::method_not_allowed)?;
        let mut known = self.world.lock();
        let known = &mut *known;
        if !known
            .access
            .allows(&received.user, route, verb, &known.store)
        {
            let namespace = route.namespace.as_deref();
            let about = route.about();
            return Err(Status::forbidden(&about, &received.user, verb, namespace));
        }
        let store = &mut known.store;
        let answer = match verb {
            "get" => store.get(route)?,
            "list" => list(received, store)?,
            "watch" => return self.watch(received, store),
            "create" if route.subresource == Some("token") => {
                let token = token(route, &mut known.access, store)?;
                return Ok(object(StatusCode::CREATED, &token));
            }
            "create" => {
                let created = store.create(route, received.json()?)?;
                return Ok(object(StatusCode::CREATED, &received.shape(created)));
            }
            "update" => store.update(route, received.json()?, Update::Put)?,
            "patch" => {
                let present = store.get(route)?;
                let patched =
                    patch::apply(route, &received.content_type, &received.body, &present)?;
                store.update(route, patched, Update::Patch)?
            }
            _ => {
                let options: Value = serde_json::from_slice(&received.body).unwrap_or_default();
                let gone = store.delete(route, &options["preconditions"])?;
                match route.resource.group {
                    "" => gone,
                    _ => success(&route.about(), &gone["metadata"]["uid"]),
                }
            }
        };
        Ok(object(StatusCode::OK, &received.shape(answer)))
    }

    fn watch(&self, received: &ReceivedRequest, store: &Store) -> Result<Response<Body>, Status> {
        let version = match received.parameter("resourceVersion") {
            None | Some("" | "0") => store.version(),
            Some(version) => version.parse().map_err(|_| {
                Status::bad_request(format!("resourceVersion: Invalid value: {version:?}"))
            })?,
        };
        let (since, changes) = store.watch(version)?;
        let lasts = received.parameter("timeoutSeconds");
        let lasts = lasts.and_then(|seconds| seconds.parse().ok());
        let watch = Watch {
            route: received.route.clone(),
            lasts: lasts.map(Duration::from_secs),
            since,
            changes,
        };
        Ok(stream(watch.body()))
    }
}

impl ReceivedRequest {
    fn parameter(&self, name: &str) -> Option<&str> {
        self.parameters.get(name).map(String::as_str)
    }

    /// The fields of `fieldSelector`, as places in an object, and their values.
    fn selected(&self) -> Result<Vec<(&'static str, &str)>, Status> {
        if self
            .parameter("labelSelector")
            .is_some_and(|it| !it.is_empty())
        {
            return Err(Status::bad_request(
                "this stand-in does not select by labels",
            ));
        }
        let selector = self.parameter("fieldSelector").unwrap_or_default();
        let terms = selector.split(',').filter(|term| !term.is_empty());
        terms
            .map(|term| {
                let (field, value) = term.split_once('=').unwrap_or((term, ""));
                let place = SELECTABLE.iter().find(|(name, _)| *name == field);
                let (_, place) = place.ok_or_else(|| {
                    Status::bad_request(format!("field label not supported: {field}"))
                })?;
                Ok((*place, value.trim_start_matches('=')))
            })
            .collect()
    }

    fn json(&self) -> Result<Value, Status> {
        if self.content_type.split(';').next() != Some(JSON) {
            return Err(Status::unsupported_media_type(JSON));
        }
        serde_json::from_slice(&self.body)
            .map_err(|error| Status::bad_request(format!("the body is not JSON: {error}")))
    }

    /// The metadata alone, for who asks for that first.
    fn shape(&self, mut object: Value) -> Value {
        let first = self.accept.split(',').next().unwrap_or_default();
        if !first.contains("as=PartialObjectMetadata;") || object["kind"] == "Status" {
            return object;
        }
        json!({
            "kind": "PartialObjectMetadata",
            "apiVersion": "meta.k8s.io/v1",
            "metadata": object["metadata"].take(),
        })
    }
}

/// A `TokenRequest` that is granted.
fn token(route: &Route, access: &mut Access, store: &Store) -> Result<Value, Status> {
    store.get(route)?;
    let of = |part: &Option<String>| part.clone().unwrap_or_default();
    let user = service_account(&of(&route.namespace), &of(&route.name));
    Ok(json!({
        "kind": "TokenRequest",
        "apiVersion": "authentication.k8s.io/v1",
        "metadata": { "name": route.name, "namespace": route.namespace },
        "status": { "token": access.issue(&user) },
    }))
}

fn list(received: &ReceivedRequest, store: &Store) -> Result<Value, Status> {
    let mut items = store.list(&received.route);
    for (field, value) in received.selected()? {
        items.retain(|item| item.pointer(field).and_then(Value::as_str) == Some(value));
    }
    let resource = received.route.resource;
    Ok(json!({
        "kind": format!("{}List", resource.kind),
        "apiVersion": resource.api_version(),
        "metadata": { "resourceVersion": store.version().to_string() },
        "items": items,
    }))
}

/// What lists can be selected by.
const SELECTABLE: [(&str, &str); 4] = [
    ("metadata.name", "/metadata/name"),
    ("metadata.namespace", "/metadata/namespace"),
    ("involvedObject.name", "/involvedObject/name"),
    ("involvedObject.uid", "/involvedObject/uid"),
];
