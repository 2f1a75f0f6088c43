//! Devices and device information, in directories of the tests' own.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use nix::sys::stat::Mode;
use nix::unistd::mkfifo;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::*;
use crate::reference::Reference;

const POD: &str = "e2b7a1c8-0000-4000-8000-000000000001";
const OTHER_POD: &str = "e2b7a1c8-0000-4000-8000-000000000002";
const SRIOV: &str = "intel.com/sriov";

/// A root of a test's own.
struct Root(TempDir);

impl Root {
    /// One with the description of a PCI device in a file, and the path of an attachment's file.
    fn with(path: &str) -> (Self, PathBuf) {
        let root = Self::new();
        root.write(Path::new(path), &pci().to_string());
        (root, attachments_file())
    }

    fn new() -> Self {
        Self(TempDir::new().expect("it is made"))
    }

    fn paths(&self) -> Paths {
        Paths::below(self.0.path())
    }

    /// A file at the place of an absolute path.
    fn write(&self, path: &Path, content: &str) {
        let file = self.paths().resolve(path);
        fs::create_dir_all(file.parent().expect("a directory")).expect("it is made");
        fs::write(file, content).expect("it is written");
    }

    fn with_entries(entries: Value) -> Self {
        let root = Self::new();
        let checkpoint = json!({
            "Data": {
                "PodDeviceEntries": entries,
                "RegisteredDevices": { SRIOV: ["a", "b", "c"] },
            },
            "Checksum": 4_242_424_242_u64,
        });
        let file = root.paths().kubelet_devices();
        fs::create_dir_all(file.parent().expect("a directory")).expect("it is made");
        fs::write(file, checkpoint.to_string()).expect("it is written");
        root
    }

    fn devices(&self) -> Result<Devices, Error> {
        of_pod(&self.paths(), POD)
    }
}

fn entry(pod: &str, container: &str, resource: &str, ids: Value) -> Value {
    json!({
        "PodUID": pod, "ContainerName": container, "ResourceName": resource, "DeviceIDs": ids,
        "AllocResp": "CiIKGVBDSURFVklDRQ==",
    })
}

/// All that can be taken of a resource.
fn take_all(devices: &mut Devices, resource: &str) -> Vec<String> {
    std::iter::from_fn(|| devices.take(resource).ok()).collect()
}

#[test]
fn devices_are_taken_in_the_order_of_the_checkpoint() {
    let root = Root::with_entries(json!([
        entry(OTHER_POD, "app", SRIOV, json!({ "-1": ["x"] })),
        entry(
            POD,
            "app",
            SRIOV,
            json!({ "0": ["0000:18:02.5", "0000:18:02.1"], "1": ["0000:af:00.1"] })
        ),
        entry(POD, "app", "nvidia.com/gpu", json!({ "-1": ["GPU-1"] })),
        entry(POD, "sidecar", SRIOV, json!({ "-1": ["0000:18:02.0"] })),
    ]));
    let mut devices = root.devices().expect("it is understood");
    assert_eq!(
        take_all(&mut devices, SRIOV),
        [
            "0000:18:02.5",
            "0000:18:02.1",
            "0000:af:00.1",
            "0000:18:02.0"
        ]
    );
    assert_eq!(take_all(&mut devices, "nvidia.com/gpu"), ["GPU-1"]);
}

#[test]
fn a_checkpoint_that_others_can_write_is_not_used() {
    let root = Root::with_entries(json!([entry(POD, "one", SRIOV, json!({ "0": ["a"] }))]));
    let file = root.paths().kubelet_devices();
    fs::set_permissions(&file, Permissions::from_mode(0o666)).expect("it is there");
    let error = root.devices().map(|_| ()).expect_err("it is exposed");
    assert!(error.msg.contains("is not trusted"), "{error}");
    fs::set_permissions(&file, Permissions::from_mode(0o600)).expect("it is there");
    assert!(root.devices().is_ok());
}

#[test]
fn the_list_of_kubernetes_before_1_20_is_understood() {
    let root = Root::with_entries(json!([entry(POD, "app", SRIOV, json!(["b", "a"]))]));
    let mut devices = root.devices().expect("it is understood");
    assert_eq!(take_all(&mut devices, SRIOV), ["b", "a"]);
}

/// kubelet gives the devices of an init container to the others when that has ended.
#[test]
fn a_device_of_two_containers_is_one_device() {
    let root = Root::with_entries(json!([
        entry(POD, "init", SRIOV, json!({ "0": ["a"] })),
        entry(POD, "app", SRIOV, json!({ "0": ["a", "b"] })),
    ]));
    let mut devices = root.devices().expect("it is understood");
    assert_eq!(take_all(&mut devices, SRIOV), ["a", "b"]);
}

#[test]
fn one_network_more_than_there_are_devices() {
    let root = Root::with_entries(json!([entry(POD, "app", SRIOV, json!({ "0": ["a"] }))]));
    let mut devices = root.devices().expect("it is understood");
    devices.take(SRIOV).expect("there is one");
    let error = devices.take(SRIOV).expect_err("there is one only");
    assert_eq!(error.code, codes::DEVICE);
    assert_eq!(
        error.msg,
        format!(
            "no device of resource `intel.com/sriov` is left for the pod {POD}: kubelet gave it 1, and \
             more of its networks need one"
        )
    );
    assert!(
        error.details.contains("`intel.com/sriov: 2` or more"),
        "{error:?}"
    );
}

#[test]
fn a_resource_of_which_the_pod_has_nothing() {
    let root = Root::with_entries(json!([
        entry(OTHER_POD, "app", SRIOV, json!({ "0": ["a"] })),
        entry(POD, "app", "nvidia.com/gpu", json!({ "0": ["GPU-1"] })),
        entry(POD, "app", "vendor.com/empty", json!(null)),
    ]));
    let mut devices = root.devices().expect("it is understood");
    let error = devices.take(SRIOV).expect_err("another pod's");
    assert_eq!(error.code, codes::DEVICE);
    for part in [SRIOV, POD, "it has devices of nvidia.com/gpu"] {
        assert!(error.msg.contains(part), "{part}: {error:?}");
    }
    let root = Root::with_entries(json!(null));
    let error = root.devices().expect("kubelet writes null").take(SRIOV);
    let error = error.expect_err("there is none");
    assert!(error.msg.contains("it has no devices"), "{error:?}");
}

#[test]
fn a_checkpoint_that_tells_nothing_is_an_error_that_says_so() {
    let error = Root::new().devices().expect_err("there is none");
    assert_eq!(error.code, codes::DEVICE);
    assert!(
        error.msg.contains("kubelet_internal_checkpoint"),
        "{error:?}"
    );
    assert!(error.msg.ends_with("does not exist"), "{error:?}");
    for (entries, why) in [
        (json!([{ "PodUID": POD }]), "missing field `ResourceName`"),
        (
            json!([entry(POD, "app", SRIOV, json!("a"))]),
            "expected a list of ids",
        ),
        (json!({}), "invalid type: map"),
    ] {
        let error = Root::with_entries(entries).devices().expect_err(why);
        assert_eq!(error.code, codes::DEVICE);
        assert!(error.msg.contains(why), "{why}: {error:?}");
    }
    let root = Root::with_entries(json!([]));
    let whole = fs::read(root.paths().kubelet_devices()).expect("it is there");
    let half = &whole[..whole.len() / 2];
    fs::write(root.paths().kubelet_devices(), half).expect("it is written");
    let error = root.devices().expect_err("half of it");
    assert!(error.msg.contains("EOF"), "{error:?}");
}

fn network(name: &str) -> Reference {
    Reference::new("prod", name).expect("a name")
}

fn pci() -> Value {
    json!({ "type": "pci", "version": "1.1.0",
        "pci": { "pci-address": "0000:18:02.5", "pf-pci-address": "0000:18:00.0" } })
}

/// Where the information about the device of an attachment is.
fn attachments_file() -> PathBuf {
    info::file_of_attachment(&network("blue"), "0a1b", "net1")
}

const OF_DEVICE: &str =
    "/var/run/k8s.cni.cncf.io/devinfo/dp/intel.com-sriov-0000:18:02.5-device.json";

#[test]
fn device_information_4_2_1_is_copied_read_and_removed() {
    let root = Root::new();
    let paths = root.paths();
    root.write(Path::new(OF_DEVICE), &pci().to_string());
    let file = attachments_file();
    assert_eq!(
        file,
        Path::new("/var/run/k8s.cni.cncf.io/devinfo/cni/prod-blue-0a1b_net1")
    );
    assert!(info::prepare(&paths, &file, SRIOV, "0000:18:02.5").expect("it is copied"));
    let told = info::read(&paths, &file).expect("it is valid");
    assert_eq!(told, Some(pci()));
    // The device plugin's own stays.
    info::remove(&paths, &file).expect("it is removed");
    info::remove(&paths, &file).expect("there is nothing to do");
    assert_eq!(info::read(&paths, &file).expect("there is none"), None);
    assert!(paths.resolve(Path::new(OF_DEVICE)).exists());
}

#[test]
fn a_device_of_which_nothing_is_said() {
    let root = Root::new();
    let paths = root.paths();
    let file = attachments_file();
    // Left by an attachment that nobody took down.
    root.write(&file, &pci().to_string());
    assert!(!info::prepare(&paths, &file, "vendor.com/a/b", "x/y").expect("nothing to copy"));
    assert_eq!(info::read(&paths, &file).expect("there is none"), None);
    let named = "/var/run/k8s.cni.cncf.io/devinfo/dp/vendor.com-a-b-x-y-device.json";
    root.write(Path::new(named), &pci().to_string());
    assert!(info::prepare(&paths, &file, "vendor.com/a/b", "x/y").expect("it is copied"));
}

#[test]
fn no_name_leads_out_of_the_directory() {
    let (root, file) = Root::with("/etc/secret-x-device.json");
    let paths = root.paths();
    let resource = "../../../../../etc/secret";
    assert!(!info::prepare(&paths, &file, resource, "x").expect("there is none"));
}

#[test]
fn an_attachments_file_has_a_name_of_its_own_however_long_the_networks_is() {
    let long = network(&["a".repeat(63), "b".repeat(63), "c".repeat(63)].join("."));
    let container = "f".repeat(64);
    let one = info::file_of_attachment(&long, &container, "interface-name1");
    let two = info::file_of_attachment(&long, &container, "interface-name2");
    assert_ne!(one, two);
    for file in [one, two] {
        let name = file.file_name().expect("a name");
        assert_eq!(name.len(), 255, "{name:?}");
    }
}

#[test]
fn what_is_not_of_the_specifications_form_is_refused() {
    let root = Root::new();
    let paths = root.paths();
    let file = attachments_file();
    for (told, why) in [
        ("", "EOF"),
        ("[]", "expected a map"),
        (r#"{"version":"1.0.0"}"#, "type: missing"),
        (
            r#"{"type":1,"version":"1.0.0"}"#,
            "type: expected a string, found 1",
        ),
        (r#"{"type":"pci"}"#, "version: missing"),
        (
            r#"{"type":"pci","version":"1.0","pci":{}}"#,
            "expected MAJOR.MINOR.PATCH",
        ),
        (
            r#"{"type":"pci","version":"1.x.0","pci":{}}"#,
            "expected MAJOR.MINOR.PATCH",
        ),
        (
            r#"{"type":"vdpa","version":"1.1.0","pci":{}}"#,
            "vdpa: missing",
        ),
        (
            r#"{"type":"memif","version":"1.1.0","memif":[]}"#,
            "memif: expected a map",
        ),
        (
            r#"{"type":"pci","version":"1.1.0","pci":{}} x"#,
            "trailing characters",
        ),
    ] {
        root.write(&file, told);
        let error = info::read(&paths, &file).expect_err(told);
        assert_eq!(error.code, codes::DEVICE, "{told}");
        assert!(error.msg.contains(why), "{told}: {error:?}");
        let shown = file.display().to_string();
        assert!(error.msg.contains(&shown), "{told}: {error:?}");
    }
    let large = json!({ "type": "pci", "version": "1.1.0", "pci": { "x": "y".repeat(20_000) } });
    root.write(&file, &large.to_string());
    let error = info::read(&paths, &file).expect_err("too large");
    assert!(error.msg.contains("more than 16384 bytes"), "{error:?}");
}

#[test]
fn types_are_taken_as_they_come() {
    let root = Root::new();
    let paths = root.paths();
    let file = attachments_file();
    for told in [
        pci(),
        json!({ "type": "vhost-user", "version": "1.1.0",
            "vhost-user": { "mode": "client", "path": "/var/run/net3/vhost.sock" } }),
        json!({ "type": "memif", "version": "1.0.0",
            "memif": { "role": "slave", "path": "/run/memif.sock", "mode": "ethernet" } }),
        json!({ "type": "vdpa", "version": "1.1.0",
            "vdpa": { "parent-device": "vdpa2", "driver": "vhost", "path": "/dev/vhost-vdpa0" } }),
        json!({ "type": "of-tomorrow", "version": "2.0.0" }),
    ] {
        root.write(&file, &told.to_string());
        let read = info::read(&paths, &file).expect("it is valid");
        assert_eq!(read, Some(told));
    }
}

#[test]
fn only_a_regular_file_is_read() {
    let (root, file) = Root::with("/etc/secret");
    let paths = root.paths();
    let at = paths.resolve(&file);
    fs::create_dir_all(at.parent().expect("a directory")).expect("it is made");
    symlink(root.0.path().join("etc/secret"), &at).expect("it is linked");
    let error = info::read(&paths, &file).expect_err("a link");
    assert!(error.msg.contains("symbolic link"), "{error:?}");
    // What a device plugin says is put in the link's place, not where it leads.
    root.write(Path::new(OF_DEVICE), &pci().to_string());
    fs::write(root.0.path().join("etc/secret"), "secret").expect("it is written");
    assert!(info::prepare(&paths, &file, SRIOV, "0000:18:02.5").expect("it is copied"));
    let secret = fs::read_to_string(root.0.path().join("etc/secret")).expect("it is there");
    assert_eq!(secret, "secret");
    fs::remove_file(&at).expect("it is removed");
    mkfifo(&at, Mode::S_IRWXU).expect("a pipe");
    let error = info::read(&paths, &file).expect_err("a pipe");
    assert!(error.msg.contains("not a regular file"), "{error:?}");
}
