//! A watch: the changes of a collection, one JSON document a line, for as long as somebody reads.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::channel::{Channel, Sender};
use serde_json::{Value, json};
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::timeout;

use crate::route::Route;
use crate::store::Change;

/// How many lines may be on their way to a reader.
const BUFFERED: usize = 16;

/// How long a watch lasts that does not say so.
const LASTS: Duration = Duration::from_secs(300);

/// What is watched.
pub struct Watch {
    pub route: Route,
    /// `timeoutSeconds`
    pub lasts: Option<Duration>,
    pub since: Vec<Arc<Change>>,
    pub changes: Receiver<Arc<Change>>,
}

impl Watch {
    /// The body, which somebody fills from now on.
    pub fn body(self) -> Channel<Bytes> {
        let (sender, body) = Channel::new(BUFFERED);
        let lasts = self.lasts.unwrap_or(LASTS);
        tokio::spawn(async move { timeout(lasts, self.tell(sender)).await });
        body
    }

    async fn tell(mut self, mut reader: Sender<Bytes>) {
        for change in std::mem::take(&mut self.since) {
            if self.send(&mut reader, &change).await.is_none() {
                return;
            }
        }
        loop {
            let told = match self.changes.recv().await {
                Ok(change) => self.send(&mut reader, &change).await,
                Err(RecvError::Lagged(_) | RecvError::Closed) => None,
            };
            if told.is_none() {
                return;
            }
        }
    }

    /// None when nobody reads any more.
    async fn send(&self, reader: &mut Sender<Bytes>, change: &Change) -> Option<()> {
        if !self.concerns(change) {
            return Some(());
        }
        let mut line = json!({ "type": change.kind, "object": change.object }).to_string();
        line.push('\n');
        reader.send_data(line.into()).await.ok()
    }

    fn concerns(&self, change: &Change) -> bool {
        let namespace: &Value = &change.object["metadata"]["namespace"];
        let is_inside = |it: &String| namespace == it.as_str();
        change.plural == self.route.resource.plural
            && self.route.namespace.as_ref().is_none_or(is_inside)
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt;

    use super::*;
    use crate::route::resource;
    use crate::store::Store;

    #[tokio::test]
    async fn changes_of_the_collection_are_sent_until_the_time_is_over() {
        let mut store = Store::new();
        let route = |plural| Route {
            resource: resource(plural).expect("it is served"),
            namespace: Some("default".to_owned()),
            name: None,
            subresource: None,
        };
        let named = |name: &str| json!({ "metadata": { "name": name } });
        let version = store.version();
        let mut make = |plural, name| {
            let made = store.create(&route(plural), named(name)).map(|_| ());
            made.expect("an object");
            store.watch(version).expect("a watch")
        };
        let (since, changes) = make("pods", "before");
        let watch = Watch {
            route: route("pods"),
            lasts: Some(Duration::from_millis(200)),
            since,
            changes,
        };
        let body = watch.body();
        make("network-attachment-definitions", "of-another-kind");
        make("pods", "after");
        let told = body.collect().await.expect("a body").to_bytes();
        let told = String::from_utf8(told.to_vec()).expect("text");
        let told: Vec<Value> = told
            .lines()
            .map(|line| serde_json::from_str(line).expect("JSON"))
            .collect();
        let names: Vec<_> = (told.iter())
            .map(|it| (&it["type"], &it["object"]["metadata"]["name"]))
            .collect();
        let added = json!("ADDED");
        assert_eq!(
            names,
            [(&added, &json!("before")), (&added, &json!("after"))]
        );
    }
}
