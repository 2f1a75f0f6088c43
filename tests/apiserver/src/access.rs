//! Who is asking, and what they may: tokens, and rules as RBAC has them, which a test sets or objects say.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;
use uuid::Uuid;

use crate::route::Route;
use crate::store::Store;

/// The user that weir is, in a cluster as it should be.
pub const WEIR: &str = "system:serviceaccount:kube-system:weir";

/// Who may do everything.
pub const ADMINISTRATOR: &str = "admin";

/// A rule of a role. `*` stands for all.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Rule {
    api_groups: Vec<String>,
    resources: Vec<String>,
    verbs: Vec<String>,
}

impl Rule {
    fn new(group: &str, resource: &str, verb: &str) -> Self {
        Self {
            api_groups: vec![group.to_owned()],
            resources: vec![resource.to_owned()],
            verbs: vec![verb.to_owned()],
        }
    }

    fn allows(&self, group: &str, resource: &str, verb: &str) -> bool {
        let names = |list: &[String], it: &str| list.iter().any(|one| one == "*" || one == it);
        names(&self.api_groups, group)
            && names(&self.resources, resource)
            && names(&self.verbs, verb)
    }
}

/// Users, their tokens and their rules.
pub struct Access {
    tokens: BTreeMap<String, String>,
    rules: BTreeMap<String, Vec<Rule>>,
}

impl Access {
    /// With an administrator, and weir, which may do what it needs and nothing else.
    pub fn new() -> Self {
        let definitions = "network-attachment-definitions";
        let weir = vec![
            Rule::new("", "pods", "get"),
            Rule::new("", "pods/status", "patch"),
            Rule::new("", "events", "create"),
            Rule::new("k8s.cni.cncf.io", definitions, "get"),
        ];
        let all = vec![Rule::new("*", "*", "*")];
        let mut access = Self {
            tokens: BTreeMap::new(),
            rules: BTreeMap::from([(WEIR.to_owned(), weir), (ADMINISTRATOR.to_owned(), all)]),
        };
        access.issue(WEIR);
        access
    }

    /// A new token of a user. The others stay valid.
    pub fn issue(&mut self, user: &str) -> String {
        let token = Uuid::new_v4().simple().to_string();
        self.tokens.insert(token.clone(), user.to_owned());
        token
    }

    /// Any token of a user.
    pub fn token_of(&self, user: &str) -> Option<String> {
        let found = self.tokens.iter().find(|(_, owner)| *owner == user);
        found.map(|(token, _)| token.clone())
    }

    /// A token is valid no longer.
    pub fn revoke(&mut self, token: &str) {
        self.tokens.remove(token);
    }

    /// The only rules of a user from here on.
    pub fn set_rules(&mut self, user: &str, rules: Vec<Rule>) {
        self.rules.insert(user.to_owned(), rules);
    }

    /// The user of a token.
    pub fn user(&self, token: &str) -> Option<String> {
        self.tokens.get(token).cloned()
    }

    /// Whether a user may do it: by what a test said, or by a role that is bound to the user.
    pub fn allows(&self, user: &str, route: &Route, verb: &str, store: &Store) -> bool {
        let (group, resource) = (route.resource.group, route.resource_name());
        let set = self.rules.get(user).into_iter().flatten().cloned();
        let mut rules = set.chain(bound(user, route, store));
        rules.any(|rule| rule.allows(group, &resource, verb))
    }
}

/// The rules of the roles that are bound to a service account, in the cluster or in the namespace that is
/// asked for.
fn bound(user: &str, route: &Route, store: &Store) -> Vec<Rule> {
    let mut rules = Vec::new();
    for binding in store.inside("clusterrolebindings", "") {
        if is_subject(user, binding) {
            rules.extend(role(binding, "", store));
        }
    }
    if let Some(namespace) = &route.namespace {
        for binding in store.inside("rolebindings", namespace) {
            if is_subject(user, binding) {
                rules.extend(role(binding, namespace, store));
            }
        }
    }
    rules
}

fn is_subject(user: &str, binding: &Value) -> bool {
    let subjects = binding["subjects"].as_array().into_iter().flatten();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    subjects
        .into_iter()
        .any(|subject| match subject["kind"].as_str() {
            Some("ServiceAccount") => {
                let (namespace, name) = (text(&subject["namespace"]), text(&subject["name"]));
                user == service_account(&namespace, &name)
            }
            Some("User") => subject["name"] == user,
            _ => false,
        })
}

/// A role that does not exist, or has a rule of another kind, allows nothing.
fn role(binding: &Value, namespace: &str, store: &Store) -> Vec<Rule> {
    let name = binding["roleRef"]["name"].as_str().unwrap_or_default();
    let role = match binding["roleRef"]["kind"].as_str() {
        Some("ClusterRole") => store.find("clusterroles", "", name),
        _ => store.find("roles", namespace, name),
    };
    let rules = role
        .and_then(|role| role["rules"].as_array())
        .into_iter()
        .flatten();
    rules
        .filter_map(|rule| serde_json::from_value(rule.clone()).ok())
        .collect()
}

/// The user that a service account is.
pub fn service_account(namespace: &str, name: &str) -> String {
    format!("system:serviceaccount:{namespace}:{name}")
}

#[cfg(test)]
mod tests {
    use hyper::Method;
    use serde_json::json;

    use super::*;
    use crate::route::resource;

    fn may(access: &Access, store: &Store, method: &Method, path: &str) -> bool {
        let route = Route::of(path).expect("a route");
        let verb = route.verb(method, false).expect("a verb");
        access.allows(WEIR, &route, verb, store)
    }

    fn create(store: &mut Store, plural: &str, namespace: Option<&str>, object: Value) {
        let route = Route {
            resource: resource(plural).expect("it is served"),
            namespace: namespace.map(str::to_owned),
            name: None,
            subresource: None,
        };
        store.create(&route, object).expect("an object");
    }

    #[test]
    fn weir_may_do_what_it_needs_and_nothing_else() {
        let (access, store) = (Access::new(), Store::new());
        let pod = "/api/v1/namespaces/default/pods/web";
        assert!(may(&access, &store, &Method::GET, pod));
        assert!(may(
            &access,
            &store,
            &Method::PATCH,
            &format!("{pod}/status")
        ));
        for (method, path) in [
            (Method::PATCH, pod),
            (Method::DELETE, pod),
            (Method::GET, "/api/v1/namespaces/default/pods"),
            (Method::GET, "/api/v1/namespaces/default/events"),
        ] {
            assert!(!may(&access, &store, &method, path), "{method} {path}");
        }
    }

    #[test]
    fn roles_allow_where_they_are_bound() {
        let (mut access, mut store) = (Access::new(), Store::new());
        access.set_rules(WEIR, Vec::new());
        let rules = json!([{ "apiGroups": [""], "resources": ["pods"], "verbs": ["get"] }]);
        let named = json!({ "metadata": { "name": "reader" }, "rules": rules });
        let binding = |kind: &str| {
            json!({
                "metadata": { "name": "reader" },
                "roleRef": { "kind": kind, "name": "reader" },
                "subjects": [{ "kind": "ServiceAccount", "namespace": "kube-system", "name": "weir" }],
            })
        };
        let default = Some("default");
        create(&mut store, "roles", default, named.clone());
        create(&mut store, "rolebindings", default, binding("Role"));
        let inside = "/api/v1/namespaces/default/pods/web";
        let outside = "/api/v1/namespaces/kube-system/pods/web";
        assert!(may(&access, &store, &Method::GET, inside));
        assert!(!may(&access, &store, &Method::DELETE, inside));
        assert!(!may(&access, &store, &Method::GET, outside));
        create(&mut store, "clusterroles", None, named);
        create(
            &mut store,
            "clusterrolebindings",
            None,
            binding("ClusterRole"),
        );
        assert!(may(&access, &store, &Method::GET, outside));
    }
}
