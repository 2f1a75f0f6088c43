//! Capability `device`: what the model and the fake host say of a device, the kernel layer says of a sysfs that has it.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::Instant;

use weir_files::Paths;
use weir_grant::Operation;
use weir_grant::device::{ByAuxiliaryName, ByKernelPath, ByLink, ByPciAddress, Device};
use weir_kernel::perform::perform;
use weir_kernel::{Code, DynKernel, Linux, Namespaces, Perform, UndoLog};
use weir_kit::gate;
use weir_model::Node;
use weir_sdk::testing::FakeHost;

use crate::fake::Fake;

const PATH: &str = "/sys/devices/pci0000:00/0000:00:03.0";
const SCALABLE: &str = "/sys/devices/pci0000:00/0000:00:03.0/mlx5_core.sf.4";
const DRIVERLESS: &str = "/sys/devices/pci0000:00/0000:00:06.0";

fn card(links: &[&str]) -> Device {
    Device {
        link: links.first().copied().unwrap_or_default().to_owned(),
        siblings: links
            .iter()
            .skip(1)
            .map(|link| (*link).to_owned())
            .collect(),
        ..Device::default()
    }
}

fn devices() -> [(&'static str, Device); 3] {
    let two = Device {
        pci_address: "0000:00:03.0".to_owned(),
        driver: "mlx5_core".to_owned(),
        ..card(&["ens3np0", "ens3np1"])
    };
    let none = Device {
        pci_address: "0000:00:06.0".to_owned(),
        ..card(&[])
    };
    let scalable = Device {
        auxiliary_name: "mlx5_core.sf.4".to_owned(),
        driver: "mlx5_core.sf".to_owned(),
        ..card(&["ens3s4"])
    };
    [(PATH, two), (SCALABLE, scalable), (DRIVERLESS, none)]
}

/// The device as sysfs has it.
fn write(root: &Path, path: &str, device: &Device) -> std::io::Result<()> {
    let own = root.join(&path[1..]);
    let (bus, name) = if device.auxiliary_name.is_empty() {
        ("pci", &device.pci_address)
    } else {
        ("auxiliary", &device.auxiliary_name)
    };
    let on_bus = root.join("sys/bus").join(bus).join("devices");
    let by_link = root.join("sys/class/net");
    for directory in [&own, &on_bus, &by_link] {
        fs::create_dir_all(directory)?;
    }
    symlink(format!("/sys/bus/{bus}"), own.join("subsystem"))?;
    symlink(&own, on_bus.join(name))?;
    if !device.driver.is_empty() {
        symlink(
            format!("/sys/drivers/{}", device.driver),
            own.join("driver"),
        )?;
    }
    for link in device
        .siblings
        .iter()
        .chain([&device.link])
        .filter(|link| !link.is_empty())
    {
        fs::create_dir_all(own.join("net").join(link))?;
        symlink(&own, own.join("net").join(link).join("device"))?;
        symlink(own.join("net").join(link), by_link.join(link))?;
    }
    Ok(())
}

fn ask<O: Operation>(kernel: &mut DynKernel, operation: O) -> Result<Device, Code>
where
    DynKernel: Perform<O, Device>,
{
    let told = perform(
        &mut gate::everything(),
        kernel,
        &mut UndoLog::default(),
        operation,
    );
    told.map_err(|error| error.code)
}

/// Everything that can be asked, and what was answered.
fn said(kernel: &mut DynKernel) -> Vec<String> {
    let mut said = Vec::new();
    for link in ["ens3np0", "ens3np1", "eth0", "", "a/b", ".."] {
        let told = ask(
            kernel,
            ByLink {
                link: link.to_owned(),
            },
        );
        said.push(format!("link `{link}`: {told:?}"));
    }
    for address in [
        "0000:00:03.0",
        "0000:00:06.0",
        "0000:00:1f.6",
        "",
        "0000:00:03.0/net",
    ] {
        let told = ask(
            kernel,
            ByPciAddress {
                address: address.to_owned(),
            },
        );
        said.push(format!("address `{address}`: {told:?}"));
    }
    for name in ["mlx5_core.sf.4", "mlx5_core.sf.5", "", "mlx5_core.sf.4/net"] {
        let told = ask(
            kernel,
            ByAuxiliaryName {
                name: name.to_owned(),
            },
        );
        said.push(format!("name `{name}`: {told:?}"));
    }
    let ports =
        ["net/ens3np1", "net/eth0", "../..", "", "nothing"].map(|last| format!("{PATH}/{last}"));
    let others = ["", "/sys/devices", "/etc", PATH, SCALABLE, DRIVERLESS].map(str::to_owned);
    for path in ports.into_iter().chain(others) {
        let told = ask(kernel, ByKernelPath { path: path.clone() });
        said.push(format!("path `{path}`: {told:?}"));
    }
    said
}

#[test]
fn devices_are_the_same_on_both_and_on_the_fake_host() {
    let (root, node, host) = (
        tempfile::tempdir().expect("a directory"),
        Node::new(),
        FakeHost::new(),
    );
    let whole = fs::canonicalize(root.path()).expect("it is there");
    for (path, device) in devices() {
        write(&whole, path, &device).expect("a sysfs");
        host.put_device(
            path,
            weir_sdk::device::Device {
                link: device.link.clone(),
                pci_address: device.pci_address.clone(),
                auxiliary_name: device.auxiliary_name.clone(),
                driver: device.driver.clone(),
                virtio: device.virtio,
                siblings: device.siblings.clone(),
            },
        );
        node.put_device(path, device);
    }
    let mut linux = Linux::new(Namespaces::new(None), Paths::below(whole), Instant::now());
    let real = said(&mut linux);
    assert_eq!(
        real,
        said(&mut node.kernel()),
        "the kernel layer (left) and the model (right)"
    );
    assert_eq!(
        real,
        said(&mut Fake::default()),
        "the kernel layer (left) and the fake host (right)"
    );
}
