//! `Status`: what the API answers in place of an object.

use std::time::Duration;

use serde_json::{Value, json};

/// An answer that is not an object.
#[derive(Clone, Debug)]
pub struct Status {
    pub code: u16,
    reason: &'static str,
    message: String,
    details: Value,
    /// In the head, too.
    pub retry_after: Option<Duration>,
}

/// The thing that an answer is about.
#[derive(Clone, Debug)]
pub struct About {
    pub group: String,
    pub plural: String,
    pub name: String,
}

impl About {
    fn details(&self) -> Value {
        match &*self.group {
            "" => json!({ "name": self.name, "kind": self.plural }),
            group => json!({ "name": self.name, "group": group, "kind": self.plural }),
        }
    }

    /// `network-attachment-definitions.k8s.cni.cncf.io`
    fn kind(&self) -> String {
        match &*self.group {
            "" => self.plural.clone(),
            group => format!("{}.{group}", self.plural),
        }
    }
}

impl Status {
    fn new(code: u16, reason: &'static str, message: impl Into<String>) -> Self {
        Self {
            code,
            reason,
            message: message.into(),
            details: json!({}),
            retry_after: None,
        }
    }

    fn about(mut self, about: &About) -> Self {
        self.details = about.details();
        self
    }

    pub fn unauthorized() -> Self {
        Self::new(401, "Unauthorized", "Unauthorized")
    }

    pub fn forbidden(about: &About, user: &str, verb: &str, namespace: Option<&str>) -> Self {
        let scope = match namespace {
            Some(namespace) => format!("in the namespace {namespace:?}"),
            None => "at the cluster scope".to_owned(),
        };
        let name = match &*about.name {
            "" => String::new(),
            name => format!(" {name:?}"),
        };
        let message = format!(
            "{}{name} is forbidden: User {user:?} cannot {verb} resource {:?} in API group {:?} {scope}",
            about.kind(),
            about.plural,
            about.group,
        );
        Self::new(403, "Forbidden", message).about(about)
    }

    pub fn not_found(about: &About) -> Self {
        let message = format!("{} {:?} not found", about.kind(), about.name);
        Self::new(404, "NotFound", message).about(about)
    }

    pub fn already_exists(about: &About) -> Self {
        let message = format!("{} {:?} already exists", about.kind(), about.name);
        Self::new(409, "AlreadyExists", message).about(about)
    }

    pub fn conflict(about: &About, why: &str) -> Self {
        let message = format!(
            "Operation cannot be fulfilled on {} {:?}: {why}",
            about.kind(),
            about.name
        );
        Self::new(409, "Conflict", message).about(about)
    }

    pub fn method_not_allowed() -> Self {
        let message = "the server does not allow this method on the requested resource";
        Self::new(405, "MethodNotAllowed", message)
    }

    pub fn unsupported_media_type(kind: &str) -> Self {
        let message = format!(
            "the body of the request was in an unknown format - accepted media types include: {kind}"
        );
        Self::new(415, "UnsupportedMediaType", message)
    }

    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "BadRequest", message)
    }

    pub fn expired(message: &str) -> Self {
        Self::new(410, "Expired", message)
    }

    /// 422: a field has a value that it cannot have.
    pub fn invalid(about: &About, kind: &str, field: &str, wrong: &str) -> Self {
        let message = format!("{kind} {:?} is invalid: {field}: {wrong}", about.name);
        let mut status = Self::new(422, "Invalid", message).about(about);
        status.details["causes"] =
            json!([{ "reason": "FieldValueInvalid", "message": wrong, "field": field }]);
        status
    }

    /// What a test asked for.
    pub fn fault(code: u16, retry_after: Option<Duration>) -> Self {
        let (reason, message) = match code {
            401 => return Self::unauthorized(),
            403 => ("Forbidden", "forbidden by a test"),
            404 => ("NotFound", "not found by order of a test"),
            409 => (
                "Conflict",
                "Operation cannot be fulfilled: the object has been modified; please apply your changes to the latest version and try again",
            ),
            429 => (
                "TooManyRequests",
                "the server has received too many requests and has asked us to try again later",
            ),
            503 => (
                "ServiceUnavailable",
                "the server is currently unable to handle the request",
            ),
            504 => (
                "Timeout",
                "Timeout: request did not complete within the allotted timeout",
            ),
            500.. => (
                "InternalError",
                "Internal error occurred: by order of a test",
            ),
            _ => ("", "by order of a test"),
        };
        let mut status = Self::new(code, reason, message);
        status.retry_after = retry_after;
        if let Some(time) = retry_after {
            status.details = json!({ "retryAfterSeconds": time.as_secs() });
        }
        status
    }

    /// The object.
    pub fn body(&self) -> Value {
        json!({
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
            "reason": self.reason,
            "details": self.details,
            "code": self.code,
        })
    }
}

/// What DELETE answers for an object that has no kind of its own to answer with.
pub fn success(about: &About, uid: &Value) -> Value {
    let mut details = about.details();
    details["uid"] = uid.clone();
    json!({
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": details,
    })
}
