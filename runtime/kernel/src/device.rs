//! Capability `device`: network devices of the host, as sysfs describes them.
//!
//! A device is a directory below `/sys/devices`. Everything else there is a symbolic link to it, and is followed only from
//! the places that name devices: `/sys/class/net/LINK`, `/sys/bus/pci/devices/ADDRESS` and `/sys/bus/auxiliary/devices/NAME`.
//! A path of a plugin contains no link, since behind one it could name any file of sysfs.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use weir_gate::Permit;
use weir_grant::device::{ByAuxiliaryName, ByKernelPath, ByLink, ByPciAddress, Device};

use crate::error::{Error, Result, WhileDoing as _};
use crate::link::name;
use crate::linux::Linux;
use crate::perform::Answer;

/// The device behind a link. Errors: `NotFound`, `Invalid` for what cannot be a link's name.
impl Answer<ByLink, Device> for Linux {
    fn answer(&mut self, permit: &Permit<ByLink>) -> Result<Device> {
        let link = &permit.operation().link;
        let sysfs = Sysfs(self.paths.sysfs());
        name::check(link)
            .and_then(|()| sysfs.target(&Path::new("class/net").join(link)))
            .and_then(|own| sysfs.behind(&own, link))
            .while_doing(format_args!("read the device behind link `{link}`"))
    }
}

/// The device at a PCI address. Errors: `NotFound`, `Invalid`.
impl Answer<ByPciAddress, Device> for Linux {
    fn answer(&mut self, permit: &Permit<ByPciAddress>) -> Result<Device> {
        PCI.device(self, &permit.operation().address)
    }
}

/// The device of a name on the auxiliary bus. Errors: `NotFound`, `Invalid`.
impl Answer<ByAuxiliaryName, Device> for Linux {
    fn answer(&mut self, permit: &Permit<ByAuxiliaryName>) -> Result<Device> {
        AUXILIARY.device(self, &permit.operation().name)
    }
}

/// The device at a path below `/sys/devices`, or behind the link at such a path. Errors: `NotFound`, `Invalid`.
impl Answer<ByKernelPath, Device> for Linux {
    fn answer(&mut self, permit: &Permit<ByKernelPath>) -> Result<Device> {
        let path = &permit.operation().path;
        let sysfs = Sysfs(self.paths.sysfs());
        check_kernel_path(path)
            .and_then(|below| sysfs.at(below))
            .while_doing(format_args!("read the device at `{path}`"))
    }
}

/// A bus whose devices have names.
struct Bus {
    /// Its directory below `/sys/bus`.
    directory: &'static str,
    /// What an error calls a device there, before its name.
    a_device: &'static str,
    /// Checks that text can be a device's name there. Errors: `Invalid`.
    check: fn(&str) -> Result<()>,
}

const PCI: Bus = Bus {
    directory: "pci",
    a_device: "the device at PCI address",
    check: check_pci_address,
};

const AUXILIARY: Bus = Bus {
    directory: "auxiliary",
    a_device: "the auxiliary device",
    check: check_auxiliary_name,
};

impl Bus {
    /// The device of that name. Errors: `NotFound`, `Invalid`.
    fn device(&self, linux: &Linux, name: &str) -> Result<Device> {
        let sysfs = Sysfs(linux.paths.sysfs());
        (self.check)(name)
            .and_then(|()| sysfs.on_bus(self.directory, name))
            .while_doing(format_args!("read {} `{name}`", self.a_device))
    }
}

/// Checks that text is a PCI address, such as `0000:00:1f.6`. Errors: `Invalid`.
pub fn check_pci_address(text: &str) -> Result<()> {
    let is_hex = |part: &str, lengths: &[usize]| {
        let digits = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        lengths.contains(&part.len()) && part.bytes().all(digits)
    };
    let parts: Vec<&str> = text.split([':', '.']).collect();
    let is_address = match parts[..] {
        [domain, bus, device, function] => {
            is_hex(domain, &[4, 5, 6, 7, 8])
                && is_hex(bus, &[2])
                && is_hex(device, &[2])
                && is_hex(function, &[1])
                && text == format!("{domain}:{bus}:{device}.{function}")
        }
        _ => false,
    };
    if is_address {
        return Ok(());
    }
    let shown = text.escape_debug();
    Err(Error::invalid(format!(
        "`{shown}` is not a PCI address: expected one such as `0000:00:1f.6`"
    )))
}

/// Checks that text is a name on the auxiliary bus: a module, its name for the device and a number, such as
/// `mlx5_core.sf.4`. Errors: `Invalid`.
pub fn check_auxiliary_name(text: &str) -> Result<()> {
    let is_inner = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    let is_part = |part: &&str| !part.is_empty() && part.bytes().all(is_inner);
    let parts: Vec<&str> = text.split('.').collect();
    let has_number =
        (parts.last()).is_some_and(|last| last.bytes().all(|byte| byte.is_ascii_digit()));
    if parts.len() >= 3 && parts.iter().all(is_part) && has_number {
        return Ok(());
    }
    let shown = text.escape_debug();
    Err(Error::invalid(format!(
        "`{shown}` is not a name on the auxiliary bus: expected one such as `mlx5_core.sf.4`"
    )))
}

/// Checks that text is a path below `/sys/devices`, and returns what is behind `/sys/`. Errors: `Invalid`.
pub fn check_kernel_path(text: &str) -> Result<&Path> {
    let below = text.strip_prefix("/sys/");
    let device = below.and_then(|below| below.strip_prefix("devices/"));
    // As text: `Path` reads `a//b` and `a/./b` as `a/b`.
    let is_plain = |part: &str| !matches!(part, "" | "." | "..") && !part.contains('\0');
    let is_path = device.is_some_and(|device| device.split('/').all(is_plain));
    below.filter(|_| is_path).map(Path::new).ok_or_else(|| {
        let shown = text.escape_debug();
        Error::invalid(format!(
            "`{shown}` is not a device's path: expected one below `/sys/devices`, without `.` and `..`"
        ))
    })
}

/// sysfs, at its place.
struct Sysfs(PathBuf);

impl Sysfs {
    /// Where a link of sysfs leads. Errors: `NotFound`; `Invalid` if that is not a directory of a device.
    fn target(&self, link: &Path) -> Result<PathBuf> {
        self.real(&self.0.join(link))
    }

    /// The device that a bus has by this name. Errors: `NotFound`.
    fn on_bus(&self, bus: &str, name: &str) -> Result<Device> {
        let named = Path::new("bus").join(bus).join("devices").join(name);
        let directory = self.target(&named)?;
        self.describe(&directory, None)
    }

    /// The device at a path, which must not contain a symbolic link.
    fn at(&self, below: &Path) -> Result<Device> {
        let path = self.base()?.join(below);
        if self.real(&path)? != path {
            return Err(Error::invalid("the path contains a symbolic link"));
        }
        let is_of_link = above(&path).file_name().is_some_and(|name| name == "net");
        let link = path.file_name().and_then(|name| name.to_str());
        match link.filter(|_| is_of_link) {
            Some(link) => self.behind(&path, link),
            None => self.describe(&path, None),
        }
    }

    /// The device behind a link, whose directory is `DEVICE/net/LINK`. A virtual one has none. Errors: `NotFound`.
    fn behind(&self, own: &Path, link: &str) -> Result<Device> {
        if own.join("device").exists() {
            return self.describe(&above(&above(own)), Some(link));
        }
        Ok(Device {
            link: link.to_owned(),
            ..Device::default()
        })
    }

    /// The directory that a path leads to. Errors: `NotFound`; `Invalid` outside `/sys/devices`.
    fn real(&self, path: &Path) -> Result<PathBuf> {
        let real = canonical(path)?;
        let devices = self.base()?.join("devices");
        if real.starts_with(&devices) && real != devices && real.is_dir() {
            return Ok(real);
        }
        Err(Error::invalid("it is not a directory below `/sys/devices`"))
    }

    fn base(&self) -> Result<PathBuf> {
        canonical(&self.0)
    }

    /// The device of a directory, by one of its links or the first. Errors: `NotFound` if it is not a network device:
    /// neither has it a link, nor is it on the PCI or the auxiliary bus.
    fn describe(&self, directory: &Path, link: Option<&str>) -> Result<Device> {
        let kind = kind(directory).ok_or_else(|| Error::not_found("no device there"))?;
        let virtio = kind == "virtio";
        // A virtio device is a child of the PCI device that it is.
        let parent = above(directory);
        let own = if virtio && is_on(&parent, "pci") {
            &parent
        } else {
            directory
        };
        let children = virtio_children(own);
        let mut links = names(&own.join("net"));
        links.extend(children.iter().flat_map(|child| names(&child.join("net"))));
        links.sort();
        let link = link.map(str::to_owned).or_else(|| links.first().cloned());
        let pci_address = is_on(own, "pci").then(|| last(own)).flatten();
        let auxiliary_name = is_on(own, "auxiliary").then(|| last(own)).flatten();
        if link.is_none() && pci_address.is_none() && auxiliary_name.is_none() {
            return Err(Error::not_found("no network device there"));
        }
        links.retain(|other| Some(other) != link.as_ref());
        Ok(Device {
            link: link.unwrap_or_default(),
            pci_address: pci_address.unwrap_or_default(),
            auxiliary_name: auxiliary_name.unwrap_or_default(),
            driver: linked(&own.join("driver")).unwrap_or_default(),
            virtio: virtio || !children.is_empty(),
            siblings: links,
        })
    }
}

/// What a path really is. Errors: `NotFound`, also for a path through a file.
fn canonical(path: &Path) -> Result<PathBuf> {
    fs::canonicalize(path).map_err(|error| match error.kind() {
        ErrorKind::NotFound | ErrorKind::NotADirectory => Error::not_found("it does not exist"),
        _ => error.into(),
    })
}

fn above(path: &Path) -> PathBuf {
    path.parent().unwrap_or(path).to_owned()
}

fn last(path: &Path) -> Option<String> {
    Some(path.file_name()?.to_str()?.to_owned())
}

/// The name of what a link leads to.
fn linked(link: &Path) -> Option<String> {
    last(&fs::read_link(link).ok()?)
}

/// The bus or the class that a device is of.
fn kind(directory: &Path) -> Option<String> {
    linked(&directory.join("subsystem"))
}

fn is_on(directory: &Path, bus: &str) -> bool {
    kind(directory).is_some_and(|kind| kind == bus)
}

/// The names in a directory; none where it does not exist.
fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.filter_map(|entry| last(&entry.path())).collect()
}

fn virtio_children(directory: &Path) -> Vec<PathBuf> {
    let children = names(directory)
        .into_iter()
        .map(|name| directory.join(name));
    let is_virtio =
        |child: &PathBuf| !child.is_symlink() && kind(child).as_deref() == Some("virtio");
    children.filter(is_virtio).collect()
}
