//! One request to the API server.

use std::fmt;
use std::io::Cursor;

use http::{Method, Request};
use serde_json::Value;
use weir_cni::Error;

use super::super::codes;
use super::super::reference::Reference;
use super::connection::Body;

/// A kind of object, as in URLs and RBAC rules.
pub(super) struct Resource {
    /// The API group; empty for the core group.
    pub group: &'static str,
    pub plural: &'static str,
    /// In a sentence.
    word: &'static str,
    /// `Accept`: the part of the object that weir reads.
    accept: &'static str,
}

/// Pods. weir reads only their metadata.
pub(super) const PODS: Resource = Resource {
    group: "",
    plural: "pods",
    word: "pod",
    accept: METADATA,
};

/// Whole pods, to be written again: a write through `status` replaces all of it.
pub(super) const WHOLE_PODS: Resource = Resource {
    accept: JSON,
    ..PODS
};

/// NetworkAttachmentDefinitions (section 3.1).
pub(super) const DEFINITIONS: Resource = Resource {
    group: "k8s.cni.cncf.io",
    plural: "network-attachment-definitions",
    word: "network-attachment-definition",
    accept: JSON,
};

const EVENTS: Resource = Resource {
    plural: "events",
    word: "event about pod",
    ..PODS
};

const JSON: &str = "application/json";

/// An API server that cannot reduce the object to its metadata sends all of it.
const METADATA: &str =
    "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json";

const USER_AGENT: &str = concat!("weir/", env!("CARGO_PKG_VERSION"));

pub(super) struct Ask {
    resource: &'static Resource,
    /// The verb of RBAC.
    verb: &'static str,
    method: Method,
    /// The object, or the one that an event is about.
    object: Reference,
    /// Whether the object's subresource `status` is written.
    is_status: bool,
    body: Option<(&'static str, Vec<u8>)>,
}

impl Ask {
    pub(super) fn get(resource: &'static Resource, object: &Reference) -> Self {
        Self {
            resource,
            verb: "get",
            method: Method::GET,
            object: object.clone(),
            is_status: false,
            body: None,
        }
    }

    /// Changes an object through its `status` by a merge patch (RFC 7386), which leaves alone what it does not name.
    pub(super) fn patch_status(
        resource: &'static Resource,
        object: &Reference,
        patch: &Value,
    ) -> Self {
        let get = Self::get(resource, object);
        let ask = get.sending(
            "patch",
            Method::PATCH,
            "application/merge-patch+json",
            patch,
        );
        Self {
            is_status: true,
            ..ask
        }
    }

    /// Writes an object through its `status`. The API server refuses it if the object was written since it was read.
    pub(super) fn update_status(
        resource: &'static Resource,
        object: &Reference,
        changed: &Value,
    ) -> Self {
        let get = Self::get(resource, object);
        Self {
            is_status: true,
            ..get.sending("update", Method::PUT, JSON, changed)
        }
    }

    /// Creates an event about a pod.
    pub(super) fn create_event(pod: &Reference, event: &Value) -> Self {
        Self::get(&EVENTS, pod).sending("create", Method::POST, JSON, event)
    }

    /// The same with another verb and method, and a body of a media type.
    fn sending(
        self,
        verb: &'static str,
        method: Method,
        media_type: &'static str,
        body: &Value,
    ) -> Self {
        Self {
            verb,
            method,
            body: Some((media_type, body.to_string().into())),
            ..self
        }
    }

    /// Whether the same request can be sent again after a write conflict.
    pub(super) fn survives_conflicts(&self) -> bool {
        self.verb == "patch"
    }

    pub(super) fn request(&self) -> Result<Request<Body>, http::Error> {
        let request = Request::builder()
            .method(self.method.clone())
            .uri(self.path())
            .header(http::header::ACCEPT, self.resource.accept)
            .header(http::header::USER_AGENT, USER_AGENT);
        match &self.body {
            Some((kind, body)) => request
                .header(http::header::CONTENT_TYPE, *kind)
                .body(Body::new(Cursor::new(body.clone()))),
            None => request.body(Body::default()),
        }
    }

    fn path(&self) -> String {
        let version = if self.resource.group.is_empty() {
            "/api/v1"
        } else {
            "/apis/k8s.cni.cncf.io/v1"
        };
        let Reference { namespace, name } = &self.object;
        let collection = format!("{version}/namespaces/{namespace}/{}", self.resource.plural);
        match (self.verb, self.is_status) {
            ("create", _) => collection,
            (_, true) => format!("{collection}/{name}/status"),
            (_, false) => format!("{collection}/{name}"),
        }
    }

    /// The rule of a role that allows the request.
    pub(super) fn rule(&self) -> String {
        let Resource { group, plural, .. } = self.resource;
        let subresource = if self.is_status { "/status" } else { "" };
        format!(
            "apiGroups: [{group:?}], resources: [\"{plural}{subresource}\"], verbs: [{:?}]",
            self.verb
        )
    }

    /// The name of the CustomResourceDefinition.
    pub(super) fn definition(&self) -> String {
        format!("{}.{}", self.resource.plural, self.resource.group)
    }

    /// The error for an answer that weir cannot read.
    pub(super) fn not_understood(&self, why: &str) -> Error {
        Error::new(codes::CLUSTER, format!("{self}: {why}"))
    }
}

/// `get pod default/web`
impl fmt::Display for Ask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let part = if self.is_status { "the status of " } else { "" };
        write!(
            f,
            "{} {part}{} {}",
            self.verb, self.resource.word, self.object
        )
    }
}
