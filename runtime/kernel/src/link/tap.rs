//! TAP devices, which the kernel makes by `ioctl` on `/dev/net/tun` instead of netlink.

use std::ffi::CStr;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use nix::errno::Errno;
use nix::fcntl::{OFlag, open};
use nix::libc::{self, c_int};
use nix::sched::{CloneFlags, setns};
use nix::sys::stat::Mode;
use nix::unistd::write;
use weir_grant::link::{Create, Link, NewTap};

use super::find::is_name_taken;
use super::message::{attributes, set_up};
use super::{by_index, by_name};
use crate::error::{Error, Result};
use crate::namespace::NetworkNamespace;

const DEVICE: &CStr = c"/dev/net/tun";
const SELINUX: &str = "/sys/fs/selinux";
const OWN_CONTEXT: &CStr = c"/proc/self/attr/current";

/// `IFF_TUN_EXCL`: do not attach to a device that exists.
const EXCLUSIVE: c_int = 0x8000;

nix::ioctl_write_ptr_bad!(tunsetiff, 0x4004_54ca, libc::ifreq);
nix::ioctl_write_int_bad!(tunsetpersist, 0x4004_54cb);
nix::ioctl_write_int_bad!(tunsetowner, 0x4004_54cc);
nix::ioctl_write_int_bad!(tunsetgroup, 0x4004_54ce);

/// Creates a persistent TAP device.
pub(super) fn create(
    namespace: &mut NetworkNamespace,
    wanted: &Create,
    new: &NewTap,
) -> Result<Link> {
    let device = Request::new(&wanted.name, new);
    let made = match &new.selinux_context {
        None => namespace.enter(|| device.carry_out())?,
        Some(context) => labelled(namespace, context, device)?,
    };
    match made {
        Ok(()) => {}
        Err(Errno::EBUSY) if is_name_taken(namespace, &wanted.name)? => {
            return Err(namespace.name_taken(&wanted.name));
        }
        Err(Errno::ENOENT | Errno::ENODEV | Errno::ENXIO) => {
            return Err(Error::unsupported(format!(
                "{} is missing: the kernel has no `tun`",
                DEVICE.to_string_lossy()
            )));
        }
        // Without an SELinux context, which may be refused too, only the device file's mode is the reason.
        Err(Errno::EACCES) if new.selinux_context.is_none() => {
            let device = DEVICE.to_string_lossy();
            let doing = format!("open {device} for reading and writing");
            return Err(Error::from(Errno::EACCES).while_doing(doing));
        }
        Err(errno) => return Err(refused(errno, new)),
    }
    configure(namespace, wanted)
}

/// The kernel does not say whether it refused the context or, in it, the device.
fn refused(errno: Errno, new: &NewTap) -> Error {
    let error = Error::from(errno);
    match &new.selinux_context {
        None => error,
        Some(context) => error.while_doing(format_args!(
            "make it in SELinux context `{context}`: the node's policy must let weir change to that context, and \
             let the context use {}",
            DEVICE.to_string_lossy()
        )),
    }
}

/// Sets what has no `ioctl`.
fn configure(namespace: &mut NetworkNamespace, wanted: &Create) -> Result<Link> {
    let index = namespace.link(by_name(&wanted.name))?.index;
    let mut message = by_index(index);
    message.attributes.extend(attributes(wanted));
    set_up(&mut message, wanted.up);
    namespace
        .change_link(message)
        .and_then(|()| namespace.link(by_index(index)))
        .inspect_err(|_| namespace.discard_link(index))
}

/// The settings of the device, prepared before a fork: [`Request::carry_out`] only makes system calls.
#[derive(Clone, Copy)]
struct Request {
    name: [u8; libc::IFNAMSIZ],
    flags: c_int,
    owner: Option<c_int>,
    group: Option<c_int>,
}

impl Request {
    /// `name` has been checked: it leaves room for the NUL.
    fn new(name: &str, new: &NewTap) -> Self {
        let mut padded = [0; libc::IFNAMSIZ];
        padded[..name.len()].copy_from_slice(name.as_bytes());
        let queues = if new.multi_queue {
            libc::IFF_MULTI_QUEUE
        } else {
            0
        };
        Self {
            name: padded,
            flags: libc::IFF_TAP | libc::IFF_NO_PI | EXCLUSIVE | queues,
            owner: new.owner.map(u32::cast_signed),
            group: new.group.map(u32::cast_signed),
        }
    }

    /// Makes the device in the calling thread's namespace. It goes with the descriptor until it is made persistent, so that
    /// a failure leaves nothing.
    fn carry_out(&self) -> nix::Result<()> {
        let device = open(DEVICE, OFlag::O_RDWR | OFlag::O_CLOEXEC, Mode::empty())?;
        let interface = self.interface();
        let device = device.as_raw_fd();
        // SAFETY: the descriptor is open, and the structure outlives the call.
        unsafe { tunsetiff(device, &raw const interface) }?;
        if let Some(owner) = self.owner {
            // SAFETY: the descriptor is open; the argument is a number.
            unsafe { tunsetowner(device, owner) }?;
        }
        if let Some(group) = self.group {
            // SAFETY: as above.
            unsafe { tunsetgroup(device, group) }?;
        }
        // SAFETY: as above.
        unsafe { tunsetpersist(device, 1) }?;
        Ok(())
    }

    fn interface(&self) -> libc::ifreq {
        // SAFETY: `struct ifreq` is made of numbers, bytes and pointers that may be null.
        let mut interface: libc::ifreq = unsafe { std::mem::zeroed() };
        for (place, byte) in interface.ifr_name.iter_mut().zip(self.name) {
            *place = byte as libc::c_char;
        }
        interface.ifr_ifru.ifru_flags = self.flags as libc::c_short;
        interface
    }
}

/// Makes the device under an SELinux context.
///
/// The kernel labels a TAP's queue with the context of the task that makes it, and lets only single-threaded processes
/// change theirs: a child does it.
fn labelled(
    namespace: &NetworkNamespace,
    context: &str,
    request: Request,
) -> Result<nix::Result<()>> {
    if !Path::new(SELINUX).join("enforce").exists() {
        return Err(Error::unsupported(format!(
            "SELinux context `{context}`: SELinux is not enabled on this host"
        )));
    }
    let context = Vec::from(context);
    let inside = namespace.descriptor()?.try_clone_to_owned()?;
    let made = in_child(move || {
        setns(&inside, CloneFlags::CLONE_NEWNET)?;
        let own = open(
            OWN_CONTEXT,
            OFlag::O_WRONLY | OFlag::O_CLOEXEC,
            Mode::empty(),
        )?;
        write(&own, &context)?;
        request.carry_out()
    })?;
    Ok(made)
}

/// Runs `act` in a child process. It must only make system calls: locks that other threads held at the fork stay locked
/// in the child.
fn in_child(
    act: impl Fn() -> nix::Result<()> + Send + Sync + 'static,
) -> io::Result<nix::Result<()>> {
    // The program never runs: the child exits before that.
    let mut child = Command::new("/proc/self/exe");
    child.stdin(Stdio::null()).stdout(Stdio::null());
    let act = move || -> io::Result<()> {
        act()?;
        // SAFETY: ends the child at once, without running exit handlers.
        unsafe { libc::_exit(0) }
    };
    // SAFETY: the closure makes system calls only.
    unsafe { child.pre_exec(act) };
    match child.status() {
        Ok(status) if status.success() => Ok(Ok(())),
        Ok(status) => Err(io::Error::other(format!(
            "a child process ended with {status}"
        ))),
        Err(error) => match error.raw_os_error() {
            Some(number) => Ok(Err(Errno::from_raw(number))),
            None => Err(error),
        },
    }
}
