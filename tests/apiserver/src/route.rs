//! Paths of the API: which resource, which object, which part of it.

use std::collections::BTreeMap;

use hyper::{Method, Uri};

use crate::status::About;

/// A kind of object that is served.
#[derive(Debug, PartialEq, Eq)]
pub struct Resource {
    pub group: &'static str,
    pub version: &'static str,
    pub plural: &'static str,
    pub kind: &'static str,
    pub is_namespaced: bool,
    /// Its parts that have a path of their own.
    pub subresources: &'static [&'static str],
}

impl Resource {
    /// `apiVersion`
    pub fn api_version(&self) -> String {
        match self.group {
            "" => self.version.to_owned(),
            group => format!("{group}/{}", self.version),
        }
    }
}

const RBAC: &str = "rbac.authorization.k8s.io";

/// All of them.
pub const RESOURCES: [Resource; 9] = [
    Resource {
        subresources: &["status"],
        ..core("pods", "Pod")
    },
    core("events", "Event"),
    Resource {
        is_namespaced: false,
        subresources: &["status"],
        ..core("namespaces", "Namespace")
    },
    Resource {
        subresources: &["token"],
        ..core("serviceaccounts", "ServiceAccount")
    },
    of_group(RBAC, "roles", "Role"),
    of_group(RBAC, "rolebindings", "RoleBinding"),
    Resource {
        is_namespaced: false,
        ..of_group(RBAC, "clusterroles", "ClusterRole")
    },
    Resource {
        is_namespaced: false,
        ..of_group(RBAC, "clusterrolebindings", "ClusterRoleBinding")
    },
    of_group(
        "k8s.cni.cncf.io",
        "network-attachment-definitions",
        "NetworkAttachmentDefinition",
    ),
];

const fn core(plural: &'static str, kind: &'static str) -> Resource {
    of_group("", plural, kind)
}

const fn of_group(group: &'static str, plural: &'static str, kind: &'static str) -> Resource {
    Resource {
        group,
        version: "v1",
        plural,
        kind,
        is_namespaced: true,
        subresources: &[],
    }
}

/// A resource by its plural.
pub fn resource(plural: &str) -> Option<&'static Resource> {
    RESOURCES.iter().find(|resource| resource.plural == plural)
}

/// What a path names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    pub resource: &'static Resource,
    /// None for all of them.
    pub namespace: Option<String>,
    /// None for the collection.
    pub name: Option<String>,
    pub subresource: Option<&'static str>,
}

impl Route {
    /// None where nothing is served.
    pub fn of(path: &str) -> Option<Self> {
        let parts: Vec<&str> = path.trim_start_matches('/').split('/').collect();
        let (group, version, rest) = match parts[..] {
            ["api", version, ref rest @ ..] => ("", version, rest),
            ["apis", group, version, ref rest @ ..] => (group, version, rest),
            _ => return None,
        };
        let (namespace, rest) = match *rest {
            ["namespaces", namespace, plural, ref rest @ ..] if plural != "status" => {
                (Some(namespace), [&[plural], rest].concat())
            }
            _ => (None, rest.to_vec()),
        };
        let (plural, name, part) = match rest[..] {
            [plural] => (plural, None, None),
            [plural, name] => (plural, Some(name), None),
            [plural, name, part] => (plural, Some(name), Some(part)),
            _ => return None,
        };
        let resource = resource(plural)?;
        let subresource = part.map(|part| resource.subresources.iter().find(|it| **it == part));
        let is_served = resource.group == group
            && resource.version == version
            && namespace.is_some() <= resource.is_namespaced
            && (name.is_none() || namespace.is_some() == resource.is_namespaced)
            && subresource != Some(None);
        is_served.then(|| Self {
            resource,
            namespace: namespace.map(str::to_owned),
            name: name.map(str::to_owned),
            subresource: subresource.flatten().copied(),
        })
    }

    /// The verb of RBAC.
    pub fn verb(&self, method: &Method, is_watch: bool) -> Option<&'static str> {
        Some(match (method, self.name.is_some()) {
            (&Method::POST, true) if self.subresource == Some("token") => "create",
            _ if self.subresource == Some("token") => return None,
            (&Method::GET, true) => "get",
            (&Method::GET, false) if is_watch => "watch",
            (&Method::GET, false) => "list",
            (&Method::POST, false) => "create",
            (&Method::PUT, true) => "update",
            (&Method::PATCH, true) => "patch",
            (&Method::DELETE, true) => "delete",
            _ => return None,
        })
    }

    /// As a rule of RBAC names it: `pods/status`.
    pub fn resource_name(&self) -> String {
        match self.subresource {
            Some(subresource) => format!("{}/{subresource}", self.resource.plural),
            None => self.resource.plural.to_owned(),
        }
    }

    /// For an answer.
    pub fn about(&self) -> About {
        About {
            group: self.resource.group.to_owned(),
            plural: self.resource.plural.to_owned(),
            name: self.name.clone().unwrap_or_default(),
        }
    }
}

/// The parameters of a request.
pub fn parameters(uri: &Uri) -> BTreeMap<String, String> {
    let query = uri.query().unwrap_or_default();
    form_urlencoded::parse(query.as_bytes())
        .into_owned()
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn route(path: &str) -> Route {
        Route::of(path).unwrap_or_else(|| panic!("{path} is not served"))
    }

    #[test]
    fn paths_are_those_of_the_api() {
        let pod = route("/api/v1/namespaces/default/pods/web/status");
        assert_eq!(
            (pod.resource.kind, pod.subresource),
            ("Pod", Some("status"))
        );
        assert_eq!(pod.namespace.as_deref(), Some("default"));
        assert_eq!(pod.name.as_deref(), Some("web"));
        let group = "/apis/k8s.cni.cncf.io/v1";
        let all = route(&format!("{group}/network-attachment-definitions"));
        assert_eq!((all.namespace, all.name), (None, None));
        let namespace = route("/api/v1/namespaces/default");
        assert_eq!(namespace.resource.kind, "Namespace");
        assert_eq!(namespace.name.as_deref(), Some("default"));
    }

    #[test]
    fn what_is_not_served_has_no_route() {
        for path in [
            "/",
            "/api/v1/pods/web",
            "/api/v2/pods",
            "/api/v1/namespaces/default/secrets/a",
            "/api/v1/namespaces/default/pods/web/exec",
            "/api/v1/namespaces/default/serviceaccounts/weir/status",
            "/apis/k8s.cni.cncf.io/v1/pods",
        ] {
            assert_eq!(Route::of(path), None, "{path}");
        }
    }
}
