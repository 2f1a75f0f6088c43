//! Queueing disciplines.

use netlink_bindings::utils::find_attr;
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::tc::{TcAttribute, TcOption};
use nix::errno::Errno;
use weir_gate::Permit;
use weir_grant::link::LinkFacts;
use weir_grant::traffic::{
    AddQdisc, DeleteQdisc, Discipline, Handle, ListQdiscs, PresentQdisc, Qdisc, TokenBucket,
};

use super::{Object, about, dump, echo, new, option, rate};
use crate::error::{Code, Error, Result, WhileDoing as _};
use crate::linux::Linux;
use crate::namespace::NetworkNamespace;
use crate::netlink::{NEW, RouteSocket};
use crate::perform::{Answer, Changes, Perform};

/// `TCA_TBF_…`
const TBF_PARAMETERS: u16 = 1;
const TBF_RATE64: u16 = 4;
const TBF_BURST: u16 = 6;

/// `TCA_HTB_INIT`.
const HTB_INIT: u16 = 2;

/// `struct tc_htb_glob`: the version of the interface, by how much a rate is divided for a class's
/// quantum, and where the default class stands.
const HTB_VERSION: u32 = 3;
const HTB_RATE_TO_QUANTUM: u32 = 10;
const HTB_DEFAULT_AT: usize = 8;

/// `struct tc_tbf_qopt`: two rates, and then the limit and the burst.
const TBF_LIMIT_AT: usize = 2 * rate::SPECIFICATION;
const TBF_BURST_AT: usize = TBF_LIMIT_AT + 4;

const MICROSECONDS: u128 = 1_000_000;

/// Adds a discipline.
///
/// Errors: `Exists` where the place has one already, `NotFound` for a link that is gone and a
/// class that is not there, `Unsupported` where the kernel has no such discipline, `Invalid`.
impl Perform<AddQdisc> for Linux {
    fn perform(&mut self, permit: &Permit<AddQdisc>, changes: &mut Changes<'_>) -> Result<()> {
        let AddQdisc { link, qdisc } = permit.operation();
        let socket = self.route(link.namespace)?;
        let word = qdisc.discipline.word();
        let handle = make(socket, link, qdisc).while_doing(format_args!(
            "add {word} {} to {link} at {}",
            qdisc.handle, qdisc.parent
        ))?;
        changes.undo_with(permit.operation().inverse(handle));
        Ok(())
    }
}

/// Returns the handle, which the kernel may have chosen.
fn make(socket: &mut RouteSocket, link: &LinkFacts, qdisc: &Qdisc) -> Result<Handle> {
    check(qdisc)?;
    check_free(socket, link, qdisc)?;
    let options = options(&qdisc.discipline)?;
    let word = qdisc.discipline.word();
    let message = new(link, qdisc.parent, qdisc.handle.0, word, options);
    let message = RouteNetlinkMessage::NewQueueDiscipline(message);
    match echo(socket, message, NEW) {
        Ok(made) => Ok(made.map_or(qdisc.handle, |made| Handle(made.handle))),
        Err(error) => Err(explain(socket, link, qdisc, error)),
    }
}

/// Checks what the kernel would refuse without a reason, or misunderstand.
///
/// Errors: `Invalid`; `Unsupported` for a discipline that only the kernel makes.
pub fn check(qdisc: &Qdisc) -> Result<()> {
    let Qdisc { handle, parent, .. } = *qdisc;
    let word = qdisc.discipline.word();
    let takes_ingress = matches!(qdisc.discipline, Discipline::Ingress | Discipline::Clsact);
    let is_ingress = parent == Handle::INGRESS;
    if takes_ingress != is_ingress {
        let expected = if takes_ingress { "only" } else { "never" };
        return Err(Error::invalid(format!(
            "{word} belongs at {} {expected}",
            Handle::INGRESS
        )));
    }
    if takes_ingress && handle.0 != 0 && handle != Handle::INGRESS.discipline() {
        return Err(Error::invalid(format!(
            "the handle of {word} is always {}",
            Handle::INGRESS.discipline()
        )));
    }
    if !takes_ingress && (handle.minor() != 0 || handle == Handle::ROOT.discipline()) {
        return Err(Error::invalid(
            "a discipline's handle has a major number below ffff and no minor one",
        ));
    }
    let is_class = parent.minor() != 0 && parent.major() != Handle::ROOT.major();
    if !takes_ingress && parent != Handle::ROOT && !is_class {
        return Err(Error::invalid(format!(
            "a discipline belongs at the root or in a class, not at {parent}"
        )));
    }
    options(&qdisc.discipline).map(drop)
}

/// For a discipline without a handle, the kernel would replace one of another kind.
fn check_free(socket: &mut RouteSocket, link: &LinkFacts, qdisc: &Qdisc) -> Result<()> {
    if qdisc.handle.0 != 0 {
        return Ok(());
    }
    match present(socket, link, qdisc.parent)? {
        Some(present) => Err(Error::exists(format!(
            "there is {} {} already",
            present.discipline, present.handle
        ))),
        None => Ok(()),
    }
}

fn options(discipline: &Discipline) -> Result<Vec<TcOption>> {
    match discipline {
        Discipline::Tbf(bucket) => tbf_options(bucket),
        Discipline::Htb { default } => htb_options(*default).map(|option| vec![option]),
        Discipline::Ingress | Discipline::Clsact => Ok(Vec::new()),
        Discipline::Other { word } => Err(Error::unsupported(format!("weir cannot make `{word}`"))),
    }
}

/// `struct tc_tbf_qopt`, and the burst in bytes, which is more precise than in ticks.
fn tbf_options(bucket: &TokenBucket) -> Result<Vec<TcOption>> {
    let ticks = rate::ticks(bucket.burst, bucket.rate)?;
    let no_peak = [0; rate::SPECIFICATION];
    let no_mtu = 0_u32;
    let mut parameters = [rate::specification(bucket.rate), no_peak].concat();
    for number in [limit(bucket)?, ticks, no_mtu] {
        parameters.extend(number.to_ne_bytes());
    }
    let mut options = vec![
        option(TBF_PARAMETERS, parameters),
        option(TBF_BURST, bucket.burst.to_ne_bytes()),
    ];
    options.extend(rate::large(bucket.rate).map(|rate| option(TBF_RATE64, rate)));
    Ok(options)
}

/// The bytes that may be queued: those of the latency, and a burst.
fn limit(bucket: &TokenBucket) -> Result<u32> {
    let waiting = u128::from(bucket.rate) * u128::from(bucket.latency) / MICROSECONDS;
    u32::try_from(waiting + u128::from(bucket.burst)).map_err(|_| {
        Error::invalid(format!(
            "a latency of {} µs at {} bytes per second queues more than the kernel can count, which is 4 GiB",
            bucket.latency, bucket.rate
        ))
    })
}

/// `struct tc_htb_glob`.
fn htb_options(default: u32) -> Result<TcOption> {
    if default > u32::from(u16::MAX) {
        return Err(Error::invalid(format!(
            "the default class is a minor number, at most ffff, not {default:x}"
        )));
    }
    let (debug, direct_packets) = (0, 0);
    let numbers = [
        HTB_VERSION,
        HTB_RATE_TO_QUANTUM,
        default,
        debug,
        direct_packets,
    ];
    Ok(option(HTB_INIT, numbers.map(u32::to_ne_bytes).concat()))
}

/// The kernel has one error for a missing class and for a discipline that it lacks. For a handle that another
/// discipline of the link has, newer kernels have that for a wrong argument.
fn explain(socket: &mut RouteSocket, link: &LinkFacts, qdisc: &Qdisc, error: Error) -> Error {
    match error.errno {
        Some(Errno::ENOENT) if is_place(socket, link, qdisc.parent) => {
            error.with_code(Code::Unsupported)
        }
        Some(Errno::EINVAL) if is_there(socket, link, qdisc.handle, None) == Ok(true) => {
            error.with_code(Code::Exists)
        }
        _ => error,
    }
}

/// Whether a discipline can be there.
fn is_place(socket: &mut RouteSocket, link: &LinkFacts, parent: Handle) -> bool {
    let is_fixed = parent == Handle::ROOT || parent == Handle::INGRESS;
    is_fixed || at(socket, link, parent, 0).is_ok()
}

/// Returns the discipline at a place, for the gate; none if it is the kernel's own, which cannot be removed.
///
/// Errors: `NotFound` for a link that is gone.
pub fn present_qdisc(
    namespace: &mut NetworkNamespace,
    link: &LinkFacts,
    parent: Handle,
) -> Result<Option<PresentQdisc>> {
    present(namespace.route()?, link, parent).while_doing(format_args!(
        "look for the discipline of {link} at {parent}"
    ))
}

fn present(
    socket: &mut RouteSocket,
    link: &LinkFacts,
    parent: Handle,
) -> Result<Option<PresentQdisc>> {
    let present = found(at(socket, link, parent, 0))?.map(|found| PresentQdisc {
        handle: Handle(found.handle),
        discipline: found.kind,
    });
    Ok(present.filter(|present| present.handle.0 != 0))
}

/// Removes a discipline, if it is still the one that was found. Errors: `NotFound`.
impl Answer<DeleteQdisc> for Linux {
    fn answer(&mut self, permit: &Permit<DeleteQdisc>) -> Result<()> {
        let delete = permit.operation();
        let (link, parent) = (&delete.link, delete.parent);
        let Some(present) = &delete.present else {
            return Err(Error::not_found(format!(
                "no discipline to remove from {link} at {parent}"
            )));
        };
        let mut message = about(link, parent, present.handle.0);
        let kind = TcAttribute::Kind(present.discipline.clone());
        message.attributes.push(kind);
        self.route(link.namespace)?
            .change(RouteNetlinkMessage::DelQueueDiscipline(message), 0)
            .map_err(|error| match error.errno {
                // Another one is there now, or none.
                Some(Errno::EINVAL) => error.with_code(Code::NotFound),
                _ => error,
            })
            .while_doing(format_args!(
                "remove {} {} from {link}",
                present.discipline, present.handle
            ))
    }
}

/// The disciplines of a link: at the root, at the ingress hook, and in classes.
///
/// Leaves out those that the kernel made below the root, such as one for each queue of a network card. Errors: `NotFound`
/// for a link that is gone.
impl Answer<ListQdiscs, Vec<Qdisc>> for Linux {
    fn answer(&mut self, permit: &Permit<ListQdiscs>) -> Result<Vec<Qdisc>> {
        let ListQdiscs { link } = permit.operation();
        let socket = self.route(link.namespace)?;
        list(socket, link).while_doing(format_args!("list the disciplines of {link}"))
    }
}

fn list(socket: &mut RouteSocket, link: &LinkFacts) -> Result<Vec<Qdisc>> {
    let mut qdiscs = Vec::new();
    for place in [Handle::ROOT, Handle::INGRESS] {
        qdiscs.extend(found(at(socket, link, place, 0))?.map(read));
    }
    for class in occupied_classes(socket, link)? {
        qdiscs.extend(found(at(socket, link, class, 0))?.map(read));
    }
    Ok(qdiscs)
}

/// The classes that have a discipline.
fn occupied_classes(socket: &mut RouteSocket, link: &LinkFacts) -> Result<Vec<Handle>> {
    let question = about(link, Handle(0), 0);
    let classes = dump(socket, link, RouteNetlinkMessage::GetTrafficClass(question))?;
    let occupied = classes.into_iter().filter(|class| class.info != 0);
    let handles = occupied.map(|class| Handle(class.handle));
    Ok(handles.filter(|handle| handle.major() != 0).collect())
}

/// Errors: `NotFound` for a link that is gone.
pub(super) fn check_link(socket: &mut RouteSocket, link: &LinkFacts) -> Result<()> {
    found(at(socket, link, Handle::ROOT, 0)).map(drop)
}

/// Whether there is a discipline of that handle and kind.
pub(super) fn is_there(
    socket: &mut RouteSocket,
    link: &LinkFacts,
    handle: Handle,
    kind: Option<&str>,
) -> Result<bool> {
    let found = found(at(socket, link, Handle(0), handle.0))?;
    Ok(found.is_some_and(|found| kind.is_none_or(|kind| kind == found.kind)))
}

/// The discipline at a place, or of a handle; none where it is the kernel's own in a class.
fn at(
    socket: &mut RouteSocket,
    link: &LinkFacts,
    parent: Handle,
    handle: u32,
) -> Result<Option<Object>> {
    let question = about(link, parent, handle);
    echo(socket, RouteNetlinkMessage::GetQueueDiscipline(question), 0)
}

/// None if the kernel says that there is no discipline: with `EOPNOTSUPP` in one without classes.
fn found(answer: Result<Option<Object>>) -> Result<Option<Object>> {
    match answer {
        Err(error) if matches!(error.errno, Some(Errno::ENOENT | Errno::EOPNOTSUPP)) => Ok(None),
        answer => answer,
    }
}

fn read(object: Object) -> Qdisc {
    let options = &object.options;
    let known = match object.kind.as_str() {
        "tbf" => read_tbf(options).map(Discipline::Tbf),
        "htb" => read_htb(options),
        "ingress" => Some(Discipline::Ingress),
        "clsact" => Some(Discipline::Clsact),
        _ => None,
    };
    Qdisc {
        handle: Handle(object.handle),
        parent: object.parent,
        discipline: known.unwrap_or(Discipline::Other { word: object.kind }),
    }
}

fn read_tbf(options: &[u8]) -> Option<TokenBucket> {
    let parameters = find_attr(options, TBF_PARAMETERS)?;
    let rate = rate::read(parameters, find_attr(options, TBF_RATE64))?;
    let burst = rate::burst(rate::number(parameters, TBF_BURST_AT)?, rate);
    let limit = rate::number(parameters, TBF_LIMIT_AT)?;
    Some(TokenBucket {
        rate,
        burst,
        latency: latency(limit, burst, rate),
    })
}

/// Microseconds, to the nearest.
fn latency(limit: u32, burst: u32, rate: u64) -> u32 {
    let rate = u128::from(rate.max(1));
    let waiting = u128::from(limit.saturating_sub(burst));
    let time = (waiting * MICROSECONDS + rate / 2) / rate;
    u32::try_from(time).unwrap_or(u32::MAX)
}

fn read_htb(options: &[u8]) -> Option<Discipline> {
    let init = find_attr(options, HTB_INIT)?;
    let default = rate::number(init, HTB_DEFAULT_AT)?;
    Some(Discipline::Htb { default })
}
