//! Capability `device`, on a sysfs of plain files: no test machine has all of these devices.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::Instant;

use weir_files::Paths;
use weir_grant::Operation;
use weir_grant::device::{ByAuxiliaryName, ByKernelPath, ByLink, ByPciAddress, Device};
use weir_kit::gate;

use crate::perform::perform;
use crate::{Code, Linux, Namespaces, Perform, Result, UndoLog};

/// A machine with a card of two ports, a virtio device, a card that a program drives, one without a driver, and a USB
/// device. The card has two scalable functions, one of them in a container, and a driver for something else.
struct Machine(tempfile::TempDir);

impl Machine {
    fn new() -> Self {
        let machine = Self(tempfile::tempdir().expect("a directory"));
        let pci = "devices/pci0000:00";
        for (address, driver, links) in [
            (
                "0000:00:03.0",
                Some("mlx5_core"),
                &["ens3np1", "ens3np0"][..],
            ),
            ("0000:00:04.0", Some("virtio-pci"), &[]),
            ("0000:00:05.0", Some("vfio-pci"), &[]),
            ("0000:00:06.0", None, &[]),
            ("0000:00:07.0", Some("xhci_hcd"), &[]),
        ] {
            machine.device(&format!("{pci}/{address}"), "pci", driver, links);
            let named = format!("bus/pci/devices/{address}");
            machine.link(&format!("../../../{pci}/{address}"), &named);
        }
        let virtio = format!("{pci}/0000:00:04.0/virtio1");
        machine.device(&virtio, "virtio", Some("virtio_net"), &["eth0"]);
        let usb = format!("{pci}/0000:00:07.0/usb1");
        machine.device(&usb, "usb", Some("cdc_ether"), &["usb0"]);
        for (name, links) in [
            ("mlx5_core.sf.4", &["ens3s4"][..]),
            ("mlx5_core.sf.5", &[]),
            ("mlx5_core.rdma.0", &[]),
        ] {
            let own = format!("{pci}/0000:00:03.0/{name}");
            machine.device(&own, "auxiliary", Some("mlx5_core.sf"), links);
            let named = format!("bus/auxiliary/devices/{name}");
            machine.link(&format!("../../../{own}"), &named);
        }
        fs::create_dir_all(machine.path("devices/virtual/net/veth0")).expect("a directory");
        machine.link("../../devices/virtual/net/veth0", "class/net/veth0");
        fs::create_dir_all(machine.0.path().join("etc/net/passwd")).expect("a directory");
        machine
    }

    fn path(&self, below: &str) -> std::path::PathBuf {
        self.0.path().join("sys").join(below)
    }

    fn link(&self, target: &str, at: &str) {
        let at = self.path(at);
        fs::create_dir_all(at.parent().expect("a place")).expect("a directory");
        symlink(target, at).expect("a link");
    }

    fn device(&self, at: &str, kind: &str, driver: Option<&str>, links: &[&str]) {
        fs::create_dir_all(self.path(at)).expect("a directory");
        self.link(&format!("/sys/bus/{kind}"), &format!("{at}/subsystem"));
        if let Some(driver) = driver {
            self.link(
                &format!("/sys/bus/{kind}/drivers/{driver}"),
                &format!("{at}/driver"),
            );
        }
        for link in links {
            let own = format!("{at}/net/{link}");
            self.link("../..", &format!("{own}/device"));
            self.link(&format!("../../{own}"), &format!("class/net/{link}"));
        }
    }

    fn ask<O: Operation>(&self, operation: O) -> Result<Device>
    where
        Linux: Perform<O, Device>,
    {
        let paths = Paths::below(self.0.path());
        let mut linux = Linux::new(Namespaces::new(None), paths, Instant::now());
        perform(
            &mut gate::everything(),
            &mut linux,
            &mut UndoLog::default(),
            operation,
        )
    }

    fn by_link(&self, link: &str) -> Result<Device> {
        self.ask(ByLink {
            link: link.to_owned(),
        })
    }

    fn by_address(&self, address: &str) -> Result<Device> {
        self.ask(ByPciAddress {
            address: address.to_owned(),
        })
    }

    fn by_name(&self, name: &str) -> Result<Device> {
        self.ask(ByAuxiliaryName {
            name: name.to_owned(),
        })
    }

    fn by_path(&self, path: &str) -> Result<Device> {
        self.ask(ByKernelPath {
            path: path.to_owned(),
        })
    }
}

fn device(link: &str, pci_address: &str, driver: &str) -> Device {
    Device {
        link: link.to_owned(),
        pci_address: pci_address.to_owned(),
        driver: driver.to_owned(),
        ..Device::default()
    }
}

#[test]
fn a_device_is_found_by_its_link_its_address_and_its_path() {
    let machine = Machine::new();
    let card = Device {
        siblings: vec!["ens3np1".to_owned()],
        ..device("ens3np0", "0000:00:03.0", "mlx5_core")
    };
    assert_eq!(machine.by_link("ens3np0").unwrap(), card);
    assert_eq!(machine.by_address("0000:00:03.0").unwrap(), card);
    let path = "/sys/devices/pci0000:00/0000:00:03.0";
    assert_eq!(machine.by_path(path).unwrap(), card);
    let other = Device {
        siblings: vec!["ens3np0".to_owned()],
        ..device("ens3np1", "0000:00:03.0", "mlx5_core")
    };
    assert_eq!(
        machine.by_path(&format!("{path}/net/ens3np1")).unwrap(),
        other
    );
    assert_eq!(machine.by_link("ens3np1").unwrap(), other);
}

/// It is a child of the card, whose address and links are not its own.
#[test]
fn a_scalable_function_is_found_by_its_name() {
    let machine = Machine::new();
    let function = |link: &str, name: &str| Device {
        auxiliary_name: name.to_owned(),
        ..device(link, "", "mlx5_core.sf")
    };
    let path = "/sys/devices/pci0000:00/0000:00:03.0/mlx5_core.sf.4";
    for found in [
        machine.by_name("mlx5_core.sf.4"),
        machine.by_link("ens3s4"),
        machine.by_path(path),
        machine.by_path(&format!("{path}/net/ens3s4")),
    ] {
        assert_eq!(found.unwrap(), function("ens3s4", "mlx5_core.sf.4"));
    }
    // sysfs does not show the host what is in another namespace.
    let elsewhere = machine.by_name("mlx5_core.sf.5").unwrap();
    assert_eq!(elsewhere, function("", "mlx5_core.sf.5"));
    let card = machine.by_address("0000:00:03.0").unwrap();
    assert_eq!((&*card.link, &*card.auxiliary_name), ("ens3np0", ""));
}

#[test]
fn a_virtio_device_is_the_pci_device_that_has_it() {
    let machine = Machine::new();
    let virtio = Device {
        virtio: true,
        ..device("eth0", "0000:00:04.0", "virtio-pci")
    };
    let path = "/sys/devices/pci0000:00/0000:00:04.0";
    for found in [
        machine.by_link("eth0"),
        machine.by_address("0000:00:04.0"),
        machine.by_path(path),
        machine.by_path(&format!("{path}/virtio1")),
    ] {
        assert_eq!(found.unwrap(), virtio);
    }
}

#[test]
fn a_device_may_have_no_link_and_a_link_no_hardware() {
    let machine = Machine::new();
    for (address, driver) in [("0000:00:05.0", "vfio-pci"), ("0000:00:06.0", "")] {
        let found = machine.by_address(address).unwrap();
        assert_eq!(found, device("", address, driver));
    }
    assert_eq!(machine.by_link("veth0").unwrap(), device("veth0", "", ""));
    // On a bus of its own, behind a PCI device that is another one.
    assert_eq!(
        machine.by_link("usb0").unwrap(),
        device("usb0", "", "cdc_ether")
    );
}

#[test]
fn what_is_not_there_is_not_found() {
    let machine = Machine::new();
    for found in [
        machine.by_link("eth9"),
        machine.by_address("0000:00:1f.6"),
        machine.by_name("mlx5_core.sf.6"),
        machine.by_path("/sys/devices/pci0000:00/0000:00:09.0"),
        machine.by_path("/sys/devices/pci0000:00"),
        machine.by_path("/sys/devices/virtual"),
        machine.by_path("/sys/devices/virtual/net"),
        machine.by_path("/sys/devices/pci0000:00/0000:00:03.0/net"),
    ] {
        let error = found.unwrap_err();
        assert_eq!(error.code, Code::NotFound, "{error}");
    }
}

/// Checks that looking a device up by any of these, or by nothing, is `Invalid`.
fn refused(invalid: &str, look_up: impl Fn(&str) -> Result<Device>) {
    for name in invalid.split(' ').chain([""]) {
        let error = look_up(name).unwrap_err();
        assert_eq!(error.code, Code::Invalid, "{name:?}: {error}");
    }
}

/// Neither a text nor a link leads out of `/sys/devices`.
#[test]
fn no_name_leads_elsewhere() {
    let machine = Machine::new();
    let base = "/sys/devices/pci0000:00/0000:00:03.0";
    machine.link("/etc", "devices/pci0000:00/0000:00:03.0/away");
    machine.link("../0000:00:04.0", "devices/pci0000:00/0000:00:03.0/near");
    machine.link("../../../etc/net/passwd", "class/net/evil0");
    machine.link("/", "bus/pci/devices/0000:00:0e.0");
    machine.link("/etc", "bus/auxiliary/devices/mlx5_core.sf.7");
    let absolute = machine.path("devices/pci0000:00/0000:00:03.0");
    let paths = [
        "",
        "/",
        "/sys",
        "/sys/",
        "/sys/devices",
        "/sys/devices/",
        "/sys/devices/..",
        "/etc/net/passwd",
        "/sys/devices/../../etc",
        "/sys/devices/../class/net/eth0",
        "/sys/class/net/eth0",
        "sys/devices/pci0000:00",
        "/sys//devices/pci0000:00/0000:00:03.0",
        "//sys/devices/pci0000:00",
        "/sys/devices/./pci0000:00/0000:00:03.0",
        "/sys/devices/pci0000:00/0000:00:03.0/",
        "/sys/devices/pci0000:00/\0",
        "/sys/devicesx/a",
    ];
    let through = [
        "away",
        "near",
        "near/virtio1",
        "away/net/passwd",
        "net/ens3np0/device",
        "driver",
    ];
    let through = through.map(|last| format!("{base}/{last}"));
    let paths = paths.iter().map(|path| (*path).to_owned());
    let paths = paths.chain(through).chain([absolute.display().to_string()]);
    for path in paths {
        let error = machine.by_path(&path).unwrap_err();
        let gone = Path::new(&path).ends_with("driver") || path.contains("passwd");
        assert!(error.code == Code::Invalid || gone, "{path:?}: {error}");
    }
    let links = ". .. ../../devices evil0 a/b 0123456789abcdef \0";
    refused(links, |link| machine.by_link(link));
    let addresses = "0000:00:03 0000:00:03.0/net ../../class/net/eth0 0000:00:0E.0 0000:00:03.00 0000.00.03.0 0000:00:0e.0 * \
                     00:03.0 0000:00:03.0\0";
    refused(addresses, |address| machine.by_address(address));
    let names = "mlx5_core mlx5_core.sf mlx5_core.sf. mlx5_core.sf.x mlx5_core..4 .. ../../class/net/eth0.a.1 mlx5_core.sf.4/net \
                 mlx5_core.sf.4\0 mlx5_core.*.4 0000:00:03.0 mlx5_core.sf.7";
    refused(names, |name| machine.by_name(name));
}
