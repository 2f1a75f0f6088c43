//! Records of before are read, and written in the new form.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::{Left, left_of};
use serde_json::{Value, json};
use tempfile::TempDir;
use weir_cni::{Args, Command};

use super::*;

/// Of a pod, as version 1 was written.
const POD: &str = r#"{"version":1,"network":"pods","containerId":"c1","ifname":"eth0","netns":"/run/netns/gone",
"namespace":{"boot":"b","device":4,"inode":7},"args":"K8S_POD_NAMESPACE=default;K8S_POD_NAME=web",
"pod":{"namespace":"default","name":"web","uid":"u"},"attachments":[
{"network":"cbr0","isDefault":true,"ifname":"eth0","config":{"cniVersion":"1.0.0","name":"cbr0","plugins":[{"type":"ptp"}]}},
{"network":"default/net-b","isDefault":false,"definition":{"namespace":"default","name":"net-b"},"ifname":"net1",
"config":{"cniVersion":"1.0.0","name":"b","type":"bridge"},"capabilityArgs":{"mac":"02:00:00:00:00:01"},
"deviceInfo":"/var/run/k8s.cni.cncf.io/devinfo/cni/x"},
{"network":"default/net-c","isDefault":false,"definition":{"namespace":"default","name":"net-c"},"isFile":true,
"ifname":"net2","config":{"cniVersion":"1.0.0","name":"net-c","type":"bridge"}}]}"#;

/// Of networks attached by name, as it was written.
const NAMED: &str = r#"{"attachments":[{"network":"one","interface":"eth0","default":true,
"configuration":{"cniVersion":"1.1.0","name":"one","type":"bridge"},"capabilityArgs":{"mac":"02:00:00:00:00:01"}}]}"#;

fn node() -> (TempDir, Paths) {
    let root = tempfile::tempdir().unwrap();
    let paths = Paths::below(root.path());
    (root, paths)
}

fn put(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
}

fn written(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

fn attachment() -> Attachment {
    let [id, ifname, netns] = ["c1", "eth0", ""].map(str::to_owned);
    Attachment::open(Command::Del, id, ifname, netns, Args::default()).unwrap()
}

#[test]
fn a_pod_of_version_1_is_read_and_kept_as_version_2() {
    let (_root, paths) = node();
    let file = paths.pods().join("pods/c1:eth0.json");
    put(&file, POD);
    let records = Records::of_network(&paths, "pods");
    let mut held = records.take(&attachment()).unwrap().unwrap();
    let sources: Vec<Option<String>> = (held.record.attachments.iter())
        .map(|attachment| attachment.source().definition)
        .collect();
    assert_eq!(sources, [None, Some("default/net-b".to_owned()), None]);
    assert_eq!(held.record.pod.as_ref().unwrap().name, "web");
    assert_eq!(
        held.record.attachment().unwrap().args.pod().name,
        Some("web")
    );
    held.record.attachments.pop();
    held.keep().unwrap();
    let now = written(&file);
    assert_eq!(
        (&now["version"], &now["pod"]["uid"]),
        (&json!(2), &json!("u"))
    );
    assert_eq!(now["attachments"][1]["definition"], "default/net-b");
    let [all] = &records.all().unwrap()[..] else {
        panic!("there is one record");
    };
    assert_eq!(all.attachments.len(), 2);
}

#[test]
fn networks_attached_by_name_are_read_and_changed_in_the_new_form() {
    let (_root, paths) = node();
    let file = paths.net().join("c1.json");
    put(&file, NAMED);
    let records = Records::of_named(&paths);
    let [one] = &records.attachments("c1").unwrap()[..] else {
        panic!("there is one attachment");
    };
    assert_eq!(
        (&*one.network, &*one.ifname, one.is_default),
        ("one", "eth0", true)
    );
    assert_eq!(one.list().unwrap().name, "one");
    let again = one.clone();
    let change = |attachments: &mut Vec<RecordedAttachment>| {
        attachments.push(again);
        Ok(())
    };
    records.change("c1", change).unwrap();
    let now = written(&file);
    assert_eq!(
        (&now["version"], &now["containerId"]),
        (&json!(2), &json!("c1"))
    );
    assert_eq!(now["attachments"][1]["config"]["name"], "one");
    let clear = |all: &mut Vec<RecordedAttachment>| {
        all.clear();
        Ok(())
    };
    records.change("c1", clear).unwrap();
    assert!(!file.exists());
}

#[test]
fn what_weir_did_not_write_is_damaged_and_what_a_newer_one_wrote_is_refused() {
    let path = Path::new("/pods/c1:eth0.json");
    for text in ["", "{}", "[]", r#"{"containerId":"c1","attachments":[]}"#] {
        let told = parse(path, text);
        assert!(
            matches!(told, Err(Unusable::Damaged(_))),
            "{text}: {told:?}"
        );
    }
    let newer = parse(path, r#"{"version":3,"containerId":"c1","attachments":[]}"#);
    assert!(matches!(newer, Err(Unusable::Refused(_))), "{newer:?}");
}

#[test]
fn what_is_left_has_the_plugins_that_a_del_is_owed_for() {
    let record = parse(Path::new("c1.json"), NAMED).unwrap();
    let mut all = record.attachments;
    all.push(all[0].clone());
    all[1].config = json!({
        "cniVersion": "1.1.0", "name": "two", "plugins": [{ "type": "a" }, { "type": "b" }],
    });
    let left = |index, plugins| Left { index, plugins };
    assert_eq!(left_of(&all, &[left(0, None)]), all[..1]);
    let first = left_of(&all, &[left(1, Some(1))]);
    assert_eq!(first[0].list().unwrap().plugins.len(), 1);
    assert!(left_of(&all, &[]).is_empty());
}
