//! The objects, their versions, and every change of them.

mod update;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::SystemTime;

use serde_json::{Value, json};
use tokio::sync::broadcast;
use uuid::Uuid;

use crate::object::check;
use crate::route::{Route, resource};
use crate::status::{About, Status};

pub use self::update::Update;
use self::update::{check_identity, keep_the_other_part};

/// Which object: its plural, its namespace (empty where its kind has none) and its name.
type Key = (&'static str, String, String);

/// One change, as a watch tells it.
#[derive(Clone, Debug)]
pub struct Change {
    pub version: u64,
    /// `ADDED`, `MODIFIED` or `DELETED`.
    pub kind: &'static str,
    pub plural: &'static str,
    pub object: Value,
}

/// How many changes are remembered for watches, and how many a watch may be behind.
const REMEMBERED: usize = 1000;

/// Everything that is stored.
pub struct Store {
    objects: BTreeMap<Key, Value>,
    version: u64,
    changes: VecDeque<Arc<Change>>,
    /// The version before the first change that is remembered.
    forgotten: u64,
    watchers: broadcast::Sender<Arc<Change>>,
}

impl Store {
    /// With the namespaces that every cluster has.
    pub fn new() -> Self {
        let mut store = Self {
            objects: BTreeMap::new(),
            version: 1,
            changes: VecDeque::new(),
            forgotten: 1,
            watchers: broadcast::channel(REMEMBERED).0,
        };
        for name in ["default", "kube-system"] {
            store.ensure_namespace(name);
        }
        store
    }

    /// Makes a namespace where it is missing.
    pub fn ensure_namespace(&mut self, name: &str) {
        let route = Route {
            resource: resource("namespaces").expect("it is served"),
            namespace: None,
            name: None,
            subresource: None,
        };
        // There is nothing wrong with it but that it exists.
        let _ = self.create(&route, json!({ "metadata": { "name": name } }));
    }

    pub fn get(&self, route: &Route) -> Result<Value, Status> {
        let found = self.objects.get(&key(route)).cloned();
        found.ok_or_else(|| Status::not_found(&route.about()))
    }

    /// An object by its plural and name, where it is there; no namespace for a kind without.
    pub fn find(&self, plural: &'static str, namespace: &str, name: &str) -> Option<&Value> {
        let key = (plural, namespace.to_owned(), name.to_owned());
        self.objects.get(&key)
    }

    /// All of a kind in a namespace; an empty one for a kind without.
    pub fn inside<'a>(
        &'a self,
        plural: &'static str,
        namespace: &'a str,
    ) -> impl Iterator<Item = &'a Value> {
        let all = self.objects.iter();
        let found = all.filter(move |((of, space, _), _)| *of == plural && space == namespace);
        found.map(|(_, object)| object)
    }

    /// All of a collection, in the order of their names.
    pub fn list(&self, route: &Route) -> Vec<Value> {
        let namespace = route.namespace.as_ref();
        let is_inside = |(plural, of, _): &Key| {
            *plural == route.resource.plural && namespace.is_none_or(|it| it == of)
        };
        let found = self.objects.iter().filter(|(key, _)| is_inside(key));
        found.map(|(_, object)| object.clone()).collect()
    }

    pub fn create(&mut self, route: &Route, mut object: Value) -> Result<Value, Status> {
        if !object.is_object() || !(object["metadata"].is_object()) {
            return Err(Status::bad_request("the object has no metadata"));
        }
        let route = self.place(route, &mut object)?;
        check(&route, &mut object)?;
        if self.objects.contains_key(&key(&route)) {
            return Err(Status::already_exists(&route.about()));
        }
        object["metadata"]["uid"] = Uuid::new_v4().to_string().into();
        let now = humantime::format_rfc3339_seconds(SystemTime::now());
        object["metadata"]["creationTimestamp"] = now.to_string().into();
        Ok(self.put("ADDED", &route, object))
    }

    /// The route of a new object, which has its name and namespace from here on.
    fn place(&self, route: &Route, object: &mut Value) -> Result<Route, Status> {
        let metadata = &mut object["metadata"];
        if let (None, Some(prefix)) = (metadata["name"].as_str(), metadata["generateName"].as_str())
        {
            let suffix = Uuid::new_v4().simple().to_string();
            metadata["name"] = format!("{prefix}{}", &suffix[..5]).into();
        }
        if let Some(namespace) = &route.namespace {
            let given = metadata["namespace"].as_str().unwrap_or(namespace);
            if given != namespace {
                return Err(Status::bad_request(
                    "the namespace of the provided object does not match the namespace sent on the request",
                ));
            }
            metadata["namespace"] = namespace.clone().into();
            let about = About {
                group: String::new(),
                plural: "namespaces".to_owned(),
                name: namespace.clone(),
            };
            let place = ("namespaces", String::new(), namespace.clone());
            if !self.objects.contains_key(&place) {
                return Err(Status::not_found(&about));
            }
        }
        let name = metadata["name"].as_str().unwrap_or_default().to_owned();
        object["apiVersion"] = route.resource.api_version().into();
        object["kind"] = route.resource.kind.into();
        Ok(Route {
            name: Some(name),
            ..route.clone()
        })
    }

    /// Puts a changed object in the place of the present one.
    pub fn update(&mut self, route: &Route, mut new: Value, by: Update) -> Result<Value, Status> {
        let present = self.get(route)?;
        keep_the_other_part(route, &present, &mut new);
        check_identity(route, &present, &mut new, by)?;
        check(route, &mut new)?;
        if new == present {
            return Ok(present);
        }
        Ok(self.put("MODIFIED", route, new))
    }

    /// Removes an object, and with a namespace all that is in it. `preconditions` are of `DeleteOptions`.
    pub fn delete(&mut self, route: &Route, preconditions: &Value) -> Result<Value, Status> {
        let present = self.get(route)?;
        for (field, told) in [("uid", "UID"), ("resourceVersion", "ResourceVersion")] {
            let (expected, found) = (&preconditions[field], &present["metadata"][field]);
            if !expected.is_null() && expected != found {
                let why = format!(
                    "Precondition failed: {told} in precondition: {expected}, {told} in object meta: {found}"
                );
                return Err(Status::conflict(&route.about(), &why));
            }
        }
        if route.resource.plural == "namespaces" {
            self.empty(route.name.as_deref().unwrap_or_default());
        }
        self.remove(&key(route));
        Ok(present)
    }

    fn empty(&mut self, namespace: &str) {
        let inside: Vec<Key> = (self.objects.keys())
            .filter(|(_, of, _)| of == namespace)
            .cloned()
            .collect();
        for key in inside {
            self.remove(&key);
        }
    }

    fn remove(&mut self, key: &Key) {
        if let Some(mut object) = self.objects.remove(key) {
            self.version += 1;
            object["metadata"]["resourceVersion"] = self.version.to_string().into();
            self.tell("DELETED", key.0, object);
        }
    }

    fn put(&mut self, kind: &'static str, route: &Route, mut object: Value) -> Value {
        self.version += 1;
        object["metadata"]["resourceVersion"] = self.version.to_string().into();
        self.objects.insert(key(route), object.clone());
        self.tell(kind, route.resource.plural, object.clone());
        object
    }

    fn tell(&mut self, kind: &'static str, plural: &'static str, object: Value) {
        let change = Arc::new(Change {
            version: self.version,
            kind,
            plural,
            object,
        });
        if self.changes.len() == REMEMBERED
            && let Some(oldest) = self.changes.pop_front()
        {
            self.forgotten = oldest.version;
        }
        self.changes.push_back(change.clone());
        // Nobody may be watching.
        let _ = self.watchers.send(change);
    }

    /// The version of the whole.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// The changes after a version, and those to come.
    #[expect(
        clippy::type_complexity,
        reason = "the two belong together, and nowhere else"
    )]
    pub fn watch(
        &self,
        version: u64,
    ) -> Result<(Vec<Arc<Change>>, broadcast::Receiver<Arc<Change>>), Status> {
        if version < self.forgotten {
            let message = format!("too old resource version: {version} ({})", self.forgotten);
            return Err(Status::expired(&message));
        }
        let since = self.changes.iter().filter(|it| it.version > version);
        Ok((since.cloned().collect(), self.watchers.subscribe()))
    }
}

fn key(route: &Route) -> Key {
    let namespace = route.namespace.clone().unwrap_or_default();
    let name = route.name.clone().unwrap_or_default();
    (route.resource.plural, namespace, name)
}

#[cfg(test)]
mod tests;
