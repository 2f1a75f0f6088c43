//! Filters of disciplines and classes: which packets (`u32`), and what happens to them.

use netlink_bindings::utils::{IterableChunks, find_attr};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::tc::{
    TcAction, TcActionAttribute, TcActionGeneric, TcActionMirrorOption, TcActionOption,
    TcActionType, TcAttribute, TcFilterU32, TcFilterU32Option, TcMessage, TcMirror,
    TcMirrorActionType, TcOption, TcU32Selector,
};
use nix::errno::Errno;
use weir_gate::Permit;
use weir_grant::link::LinkFacts;
use weir_grant::traffic::{
    Action, AddFilter, DeleteFilter, Filter, HTB, Handle, ListFilters, MIRRED,
};

use super::qdisc::is_there;
use super::selector::Networks;
use super::{Object, about, dump, echo, new, rate};
use crate::error::{Code, Error, Result, WhileDoing as _};
use crate::linux::Linux;
use crate::netlink::{NEW, RouteSocket};
use crate::perform::{Answer, Changes, Perform};

/// `TCA_U32_…`
const CLASS: u16 = 1;
const SELECTOR: u16 = 5;
const ACTIONS: u16 = 7;

/// `TCA_U32_LINK`, `…_POLICE`, `…_INDEV`, `…_MARK`: what more a filter may look at, or do.
const MORE: [u16; 4] = [3, 6, 8, 10];

/// `TCA_ACT_KIND`, `TCA_ACT_OPTIONS`, `TCA_MIRRED_PARMS`.
const ACTION_KIND: u16 = 1;
const ACTION_OPTIONS: u16 = 2;
const MIRRED_PARAMETERS: u16 = 2;

/// Adds a filter.
///
/// The class of `Classify` need not exist: its packets go into the default class then.
///
/// Errors: `NotFound` for a missing link, discipline or class, and for `Classify` also if the discipline is not `htb`;
/// `Invalid`, also for a priority that has filters for packets of another family; `Unsupported` if the kernel has no `u32`
/// or no `mirred`.
impl Perform<AddFilter> for Linux {
    fn perform(&mut self, permit: &Permit<AddFilter>, changes: &mut Changes<'_>) -> Result<()> {
        let AddFilter { link, filter } = permit.operation();
        let socket = self.route(link.namespace)?;
        let title = format_args!("add a filter to {} of {link}", filter.parent);
        let networks = check(link, filter).while_doing(title)?;
        let made = make(socket, link, filter, &networks).while_doing(title)?;
        changes.undo_with(DeleteFilter {
            link: link.clone(),
            parent: filter.parent,
            priority: priority(&made),
            handle: (filter.priority != 0).then_some(made.handle),
            protocol: networks.protocol(),
            action: filter.action.clone(),
        });
        Ok(())
    }
}

fn make(
    socket: &mut RouteSocket,
    link: &LinkFacts,
    filter: &Filter,
    networks: &Networks,
) -> Result<Object> {
    look_for_classes(socket, link, filter)?;
    let selector = TcFilterU32Option::Selector(networks.selector());
    let options = [selector, action_option(&filter.action)].map(TcOption::U32);
    let mut message = new(link, filter.parent, 0, TcFilterU32::KIND, options.into());
    message.header.info = info(filter.priority, networks.protocol());
    match echo(socket, RouteNetlinkMessage::NewTrafficFilter(message), NEW) {
        Ok(Some(made)) => Ok(made),
        Ok(None) => Err(Error::failed(
            "the kernel did not tell which filter it made",
        )),
        Err(error) => Err(explain(socket, link, filter, error)),
    }
}

/// Checks what makes no sense but the kernel would accept, and returns which packets are meant. Errors: `Invalid`.
pub fn check(link: &LinkFacts, filter: &Filter) -> Result<Networks> {
    let networks = Networks::new(filter.source, filter.destination)?;
    let parent = filter.parent;
    if parent.major() == 0 || parent == Handle::ROOT || parent == Handle::INGRESS {
        return Err(Error::invalid(format!(
            "a filter belongs to a discipline or to a class, by its handle, not to {parent}"
        )));
    }
    let discipline = parent.discipline();
    match &filter.action {
        Action::Redirect(target) if target.namespace != link.namespace => Err(Error::invalid(
            format!("packets cannot be sent from {link} to {target}"),
        )),
        Action::Classify(class) if class.discipline() != discipline || class.minor() == 0 => Err(
            Error::invalid(format!("{class} is not a class of {discipline}")),
        ),
        _ => Ok(networks),
    }
}

/// Classes are of no use to other disciplines than `htb`, but the kernel would accept a filter into one.
fn look_for_classes(socket: &mut RouteSocket, link: &LinkFacts, filter: &Filter) -> Result<()> {
    let discipline = filter.parent.discipline();
    let is_needed = matches!(filter.action, Action::Classify(_));
    if is_needed && !is_there(socket, link, discipline, Some(HTB))? {
        return Err(Error::not_found(format!(
            "no such {HTB} discipline: {discipline}"
        )));
    }
    Ok(())
}

fn action_option(action: &Action) -> TcFilterU32Option {
    match action {
        Action::Classify(class) => TcFilterU32Option::ClassId(class.0.into()),
        Action::Redirect(target) => TcFilterU32Option::Action(vec![redirect(target)]),
    }
}

fn redirect(target: &LinkFacts) -> TcAction {
    let mut generic = TcActionGeneric::default();
    generic.action = TcActionType::Stolen;
    let mut parameters = TcMirror::default();
    parameters.generic = generic;
    parameters.eaction = TcMirrorActionType::EgressRedir;
    parameters.ifindex = target.index;
    let option = TcActionOption::Mirror(TcActionMirrorOption::Parms(parameters));
    let mut action = TcAction::default();
    action.attributes = vec![
        TcActionAttribute::Kind(MIRRED.to_owned()),
        TcActionAttribute::Options(vec![option]),
    ];
    action
}

/// A filter's priority, and the Ethernet type of its packets as their headers have it.
fn info(priority: u16, protocol: u16) -> u32 {
    u32::from(priority) << 16 | u32::from(protocol.to_be())
}

fn priority(object: &Object) -> u16 {
    (object.info >> 16) as u16
}

fn protocol(object: &Object) -> u16 {
    u16::from_be(object.info as u16)
}

/// The kernel has one error for a missing discipline and wrong arguments, and another for a missing class and a missing
/// module.
fn explain(socket: &mut RouteSocket, link: &LinkFacts, filter: &Filter, error: Error) -> Error {
    let code = match error.errno {
        Some(Errno::EINVAL) if !has_parent(socket, link, filter.parent) => Code::NotFound,
        Some(Errno::ENOENT) if has_parent(socket, link, filter.parent) => Code::Unsupported,
        // Older kernels: a priority that has filters for packets of another type.
        Some(Errno::ENOSPC) if filter.priority != 0 => Code::Invalid,
        _ => return error,
    };
    Error { code, ..error }
}

/// Whether a filter's parent exists. The hooks of `clsact` are classes to the kernel.
fn has_parent(socket: &mut RouteSocket, link: &LinkFacts, parent: Handle) -> bool {
    let discipline = parent.discipline();
    if parent != discipline {
        let question = about(link, Handle(0), parent.0);
        return echo(socket, RouteNetlinkMessage::GetTrafficClass(question), 0).is_ok();
    }
    is_there(socket, link, discipline, None).unwrap_or_default()
}

/// Removes a filter. Errors: `NotFound`.
///
/// A priority that the kernel chose is removed whole. Another one stays, even without a filter, while the discipline has
/// other filters: others may be about to use it.
impl Answer<DeleteFilter> for Linux {
    fn answer(&mut self, permit: &Permit<DeleteFilter>) -> Result<()> {
        let filter = permit.operation();
        let DeleteFilter { link, parent, .. } = filter;
        self.route(link.namespace)?
            .change(RouteNetlinkMessage::DelTrafficFilter(deletion(filter)), 0)
            .map_err(|error| match error.errno {
                // The discipline is gone.
                Some(Errno::EINVAL) => error.with_code(Code::NotFound),
                _ => error,
            })
            .while_doing(format_args!("remove a filter from {parent} of {link}"))
    }
}

fn deletion(filter: &DeleteFilter) -> TcMessage {
    let handle = filter.handle.unwrap_or_default();
    let mut message = about(&filter.link, filter.parent, handle);
    message.header.info = info(filter.priority, filter.protocol);
    let kind = TcAttribute::Kind(TcFilterU32::KIND.to_owned());
    message.attributes.push(kind);
    message
}

/// The filters of a discipline or a class, in the kernel's order. None where that is not there.
///
/// Left out are filters that [`Filter`] cannot express: of other kinds, by other fields, with other actions. Errors:
/// `NotFound` for a link that is gone.
impl Answer<ListFilters, Vec<Filter<u32>>> for Linux {
    fn answer(&mut self, permit: &Permit<ListFilters>) -> Result<Vec<Filter<u32>>> {
        let ListFilters { link, parent } = permit.operation();
        let socket = self.route(link.namespace)?;
        let question = about(link, *parent, 0);
        let found = dump(
            socket,
            link,
            RouteNetlinkMessage::GetTrafficFilter(question),
        )
        .while_doing(format_args!("list the filters of {parent} of {link}"))?;
        Ok(found.iter().filter_map(read).collect())
    }
}

/// None for what no plugin can make, and for the tables in which `u32` keeps its filters.
fn read(object: &Object) -> Option<Filter<u32>> {
    let options = &object.options;
    let does_more = MORE.iter().any(|more| find_attr(options, *more).is_some());
    let is_plain = object.kind == TcFilterU32::KIND && !does_more;
    let selector = find_attr(options, SELECTOR).filter(|_| is_plain)?;
    let selector = TcU32Selector::parse(selector).ok()?;
    let networks = Networks::read(protocol(object), &selector)?;
    Some(Filter {
        parent: object.parent,
        priority: priority(object),
        source: networks.source,
        destination: networks.destination,
        action: read_action(options)?,
    })
}

fn read_action(options: &[u8]) -> Option<Action<u32>> {
    let actions = find_attr(options, ACTIONS).unwrap_or_default();
    let mut actions = IterableChunks::new(actions);
    match (actions.next(), actions.next()) {
        (None, _) => {
            let class = rate::number(find_attr(options, CLASS)?, 0)?;
            Some(Action::Classify(Handle(class)))
        }
        // Nothing follows a redirection; the reference `bandwidth` has the same one twice.
        (Some((_, action)), _) => read_redirect(action).map(Action::Redirect),
    }
}

/// The index of the link that all packets are redirected to.
fn read_redirect(action: &[u8]) -> Option<u32> {
    let kind = find_attr(action, ACTION_KIND)?;
    let options = find_attr(action, ACTION_OPTIONS)?;
    let is_mirred = kind.strip_suffix(&[0]) == Some(MIRRED.as_bytes());
    let parameters = find_attr(options, MIRRED_PARAMETERS).filter(|_| is_mirred)?;
    let parameters = TcMirror::parse(parameters).ok()?;
    let is_redirect = parameters.eaction == TcMirrorActionType::EgressRedir
        && parameters.generic.action == TcActionType::Stolen;
    is_redirect.then_some(parameters.ifindex)
}
