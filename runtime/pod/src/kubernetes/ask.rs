//! One request of the API server: what is asked, of which object, and how people call it.

use std::fmt;
use std::io::Cursor;

use http::{Method, Request};
use serde_json::Value;
use weir_cni::Error;

use super::super::codes;
use super::super::reference::Reference;
use super::connection::Body;

/// A kind of object, as URLs and RBAC rules have it.
pub(super) struct Resource {
    /// The API group; empty for the core.
    pub group: &'static str,
    pub plural: &'static str,
    /// In a sentence.
    word: &'static str,
    /// What weir reads of the answer: `Accept`.
    accept: &'static str,
}

/// Of pods weir reads the metadata alone, and asks for no more.
pub(super) const PODS: Resource = Resource {
    group: "",
    plural: "pods",
    word: "pod",
    accept: METADATA_ALONE,
};

/// A whole pod, to be written again: a write through `status` takes the place of all that stands there.
pub(super) const WHOLE_PODS: Resource = Resource {
    accept: "application/json",
    ..PODS
};

/// NetworkAttachmentDefinitions (section 3.1).
pub(super) const DEFINITIONS: Resource = Resource {
    group: "k8s.cni.cncf.io",
    plural: "network-attachment-definitions",
    word: "network-attachment-definition",
    accept: "application/json",
};

const EVENTS: Resource = Resource {
    group: "",
    plural: "events",
    word: "event about pod",
    accept: METADATA_ALONE,
};

/// API servers of any kind may answer with the whole object.
const METADATA_ALONE: &str =
    "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json";

impl Resource {
    fn version_path(&self) -> &'static str {
        match self.group {
            "" => "/api/v1",
            _ => "/apis/k8s.cni.cncf.io/v1",
        }
    }
}

/// One request.
pub(super) struct Ask {
    resource: &'static Resource,
    /// Of RBAC.
    verb: &'static str,
    method: Method,
    path: String,
    body: Option<(&'static str, Vec<u8>)>,
    /// The object, or the one that it is about.
    object: Reference,
    subresource: Option<&'static str>,
}

impl Ask {
    /// Reads an object.
    pub(super) fn get(resource: &'static Resource, object: &Reference) -> Self {
        Self {
            resource,
            verb: "get",
            method: Method::GET,
            path: object_path(resource, object),
            body: None,
            object: object.clone(),
            subresource: None,
        }
    }

    /// Changes an object through its `status`, by a merge patch (RFC 7386): what the patch does not name
    /// stays, whoever writes at the same time.
    pub(super) fn patch_status(
        resource: &'static Resource,
        object: &Reference,
        patch: &Value,
    ) -> Self {
        Self {
            resource,
            verb: "patch",
            method: Method::PATCH,
            path: format!("{}/status", object_path(resource, object)),
            body: Some(("application/merge-patch+json", patch.to_string().into())),
            object: object.clone(),
            subresource: Some("status"),
        }
    }

    /// Writes an object through its `status`, as it was read and changed: refused where somebody else wrote meanwhile.
    pub(super) fn update_status(
        resource: &'static Resource,
        object: &Reference,
        changed: &Value,
    ) -> Self {
        Self {
            resource,
            verb: "update",
            method: Method::PUT,
            path: format!("{}/status", object_path(resource, object)),
            body: Some(("application/json", changed.to_string().into())),
            object: object.clone(),
            subresource: Some("status"),
        }
    }

    /// Makes an event about a pod.
    pub(super) fn create_event(pod: &Reference, event: &Value) -> Self {
        Self {
            resource: &EVENTS,
            verb: "create",
            method: Method::POST,
            path: collection_path(&EVENTS, &pod.namespace),
            body: Some(("application/json", event.to_string().into())),
            object: pod.clone(),
            subresource: None,
        }
    }

    /// Whether the same request can be sent again after the server found that somebody else wrote
    /// meanwhile: it says nothing of what the others write.
    pub(super) fn survives_conflicts(&self) -> bool {
        self.verb == "patch"
    }

    /// For the wire.
    pub(super) fn request(&self) -> Result<Request<Body>, http::Error> {
        let request = Request::builder()
            .method(self.method.clone())
            .uri(&self.path)
            .header(http::header::ACCEPT, self.resource.accept)
            .header(http::header::USER_AGENT, USER_AGENT);
        match &self.body {
            Some((kind, body)) => request
                .header(http::header::CONTENT_TYPE, *kind)
                .body(Body::new(Cursor::new(body.clone()))),
            None => request.body(Body::default()),
        }
    }

    /// The rule of a role that allows it.
    pub(super) fn rule(&self) -> String {
        let plural = self.resource.plural;
        let resource = match self.subresource {
            Some(subresource) => format!("{plural}/{subresource}"),
            None => plural.to_owned(),
        };
        format!(
            "apiGroups: [{:?}], resources: [{resource:?}], verbs: [{:?}]",
            self.resource.group, self.verb
        )
    }

    /// The group and the plural of what is asked for, as the name of a CustomResourceDefinition has them.
    pub(super) fn definition(&self) -> String {
        format!("{}.{}", self.resource.plural, self.resource.group)
    }

    /// An answer that is not what the API server gives.
    pub(super) fn not_understood(&self, why: &str) -> Error {
        Error::new(codes::CLUSTER, format!("{self}: {why}"))
    }
}

const USER_AGENT: &str = concat!("weir/", env!("CARGO_PKG_VERSION"));

fn collection_path(resource: &Resource, namespace: &str) -> String {
    let version = resource.version_path();
    format!("{version}/namespaces/{namespace}/{}", resource.plural)
}

fn object_path(resource: &Resource, object: &Reference) -> String {
    let collection = collection_path(resource, &object.namespace);
    format!("{collection}/{}", object.name)
}

/// `get pod default/web`
impl fmt::Display for Ask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ", self.verb)?;
        if self.subresource.is_some() {
            f.write_str("the status of ")?;
        }
        write!(f, "{} {}", self.resource.word, self.object)
    }
}
