//! The links that a plugin finds in a list.

use serde_json::Value;
use weir_grant::link::Requirement;
use weir_grant::operation_names::by_name;
use weir_grant::query::{Need, Query};

use super::Recorded;

/// The operation that lists links.
const LIST: &str = "link.list";

/// Reads of the links that a plugin lists and then acts on: a list has only those that the grant lets it read.
pub(super) fn seen_in_lists(recorded: &[Recorded]) -> Vec<Recorded> {
    let lists = recorded.iter().filter(|r| r.operation.name() == LIST);
    let listed: Vec<Value> = lists
        .map(|r| r.operation.arguments()["namespace"].clone())
        .collect();
    let mut reads = Vec::new();
    for one in recorded {
        for need in one.operation.needs() {
            let Need::Link(link) = need else { continue };
            let is_listed = listed
                .iter()
                .any(|namespace| *namespace == link.namespace.word());
            if let Some(operation) = read(&link).filter(|_| is_listed) {
                reads.push(Recorded {
                    invocation: one.invocation.clone(),
                    operation,
                });
            }
        }
    }
    reads
}

/// Reading an existing link.
fn read(link: &Requirement) -> Option<Box<dyn Query>> {
    let fields = [
        ("namespace", link.namespace.word()),
        ("kind", link.kind.as_deref()?),
        ("name", &link.name),
    ];
    let fields = fields.map(|(field, value)| (field.to_owned(), value.to_owned()));
    by_name("link.get", &fields).ok()
}

#[cfg(test)]
mod tests {
    use weir_grant::Invocation;

    use super::*;

    fn recorded(name: &str, fields: &[(&str, &str)]) -> Recorded {
        let owned = |(field, value): &(&str, &str)| ((*field).to_owned(), (*value).to_owned());
        let fields: Vec<(String, String)> = fields.iter().map(owned).collect();
        Recorded {
            invocation: Invocation::default(),
            operation: by_name(name, &fields).unwrap_or_else(|why| panic!("{why}")),
        }
    }

    #[test]
    fn a_link_that_was_listed_and_changed_is_readable() {
        let list = recorded("link.list", &[("namespace", "host")]);
        let update = |namespace| {
            let fields = [
                ("namespace", namespace),
                ("kind", "veth"),
                ("name", "veth1"),
            ];
            recorded("link.update", &fields)
        };
        let reads = seen_in_lists(&[list, update("host"), update("container")]);
        let needs: Vec<String> = reads
            .iter()
            .flat_map(|read| read.operation.needs())
            .map(|need| need.to_string())
            .collect();
        assert_eq!(needs, ["read veth `veth1` in host"]);
        assert!(seen_in_lists(&[update("host")]).is_empty());
    }
}
