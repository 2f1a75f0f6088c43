//! Events about a pod, as objects of the API (`v1`, Event).

use std::fs;
use std::time::SystemTime;

use serde_json::{Value, json};

use super::super::cluster::{Event, PodName};

/// The component that reports.
const COMPONENT: &str = "weir";

/// The limit of the newer kind of event, which other components keep too.
const LONGEST_MESSAGE: usize = 1024;

/// The longest name of an object.
const LONGEST_NAME: usize = 253;

/// The name of an event about a pod, with the time in nanoseconds, as `kubectl` and kubelet make it.
pub(super) fn name(pod: &str, time: u128) -> String {
    let suffix = format!(".{time:x}");
    let pod = pod.get(..LONGEST_NAME - suffix.len()).unwrap_or(pod);
    format!("{}{suffix}", pod.trim_end_matches(['.', '-']))
}

/// The object of an event that happens now.
pub(super) fn object(name: &str, pod: &PodName, event: &Event) -> Value {
    let now = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
    let node = node();
    json!({
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": { "namespace": pod.namespace, "name": name },
        "involvedObject": {
            "apiVersion": "v1",
            "kind": "Pod",
            "namespace": pod.namespace,
            "name": pod.name,
            "uid": pod.uid,
        },
        "type": event.kind,
        "reason": event.reason,
        "message": shorten(&event.message),
        "source": { "component": COMPONENT, "host": node },
        "reportingComponent": COMPONENT,
        "reportingInstance": node,
        "firstTimestamp": now,
        "lastTimestamp": now,
        "count": 1,
    })
}

fn node() -> String {
    let name = fs::read_to_string("/proc/sys/kernel/hostname");
    name.unwrap_or_default().trim().to_owned()
}

fn shorten(message: &str) -> String {
    const CUT: &str = "…";
    if message.len() <= LONGEST_MESSAGE {
        return message.to_owned();
    }
    let end = message.floor_char_boundary(LONGEST_MESSAGE - CUT.len());
    format!("{}{CUT}", &message[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_differ_and_are_short_enough() {
        let name = |time| super::name(&"a".repeat(253), time);
        let (one, other) = (name(1 << 60), name((1 << 60) + 1));
        assert_ne!(one, other);
        assert!(one.len() <= LONGEST_NAME && one.starts_with("aaa"), "{one}");
    }

    #[test]
    fn a_name_that_is_cut_is_still_one() {
        let pod = format!("{}.{}", "a".repeat(235), "b".repeat(17));
        let name = name(&pod, 1 << 60);
        assert!(!name.contains(".."), "{name}");
        assert!(super::name("web", 1 << 60).starts_with("web."));
    }

    #[test]
    fn a_long_message_is_cut_between_characters() {
        let cut = shorten(&"é".repeat(1000));
        assert!(cut.len() <= LONGEST_MESSAGE && cut.ends_with("é…"), "{cut}");
        assert_eq!(shorten("short"), "short");
    }
}
