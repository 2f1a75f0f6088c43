//! Classes of `htb` disciplines.

use netlink_bindings::utils::find_attr;
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::tc::TcOption;
use weir_gate::Permit;
use weir_grant::link::LinkFacts;
use weir_grant::traffic::{AddClass, Class, DeleteClass, HTB, Handle, ListClasses};

use super::qdisc::is_there;
use super::{Object, about, dump, echo, new, option, rate};
use crate::error::{Error, Result, WhileDoing as _};
use crate::linux::Linux;
use crate::netlink::{NEW, RouteSocket};
use crate::perform::{Answer, Changes, Perform};

/// `TCA_HTB_…`
const PARAMETERS: u16 = 1;
const RATE64: u16 = 6;
const CEIL64: u16 = 7;

/// `struct tc_htb_opt`: two rates, two bursts, and then the quantum, the level and the priority.
const CEIL_AT: usize = rate::SPECIFICATION;
const BURST_AT: usize = 2 * rate::SPECIFICATION;
const CBURST_AT: usize = BURST_AT + 4;

/// How many bytes a class may send in its turn: a tenth of a second's, within these bounds. The kernel would choose the
/// same, and log a line at a bound.
const QUANTUM_DIVISOR: u64 = 10;
const LEAST_QUANTUM: u64 = 1000;
const MOST_QUANTUM: u64 = 200_000;

/// Adds a class.
///
/// Errors: `Exists`, `NotFound` for a missing link, `htb` discipline or parent,
/// `Invalid`.
impl Perform<AddClass> for Linux {
    fn perform(&mut self, permit: &Permit<AddClass>, changes: &mut Changes<'_>) -> Result<()> {
        let AddClass { link, class } = permit.operation();
        let socket = self.route(link.namespace)?;
        make(socket, link, class)
            .while_doing(format_args!("add class {} to {link}", class.handle))?;
        changes.undo_with(permit.operation().inverse());
        Ok(())
    }
}

fn make(socket: &mut RouteSocket, link: &LinkFacts, class: &Class) -> Result<()> {
    check(class)?;
    look_for_parent(socket, link, class)?;
    let message = new(link, class.parent, class.handle.0, HTB, options(class)?);
    socket.change(RouteNetlinkMessage::NewTrafficClass(message), NEW)
}

/// Checks what the kernel would refuse without a reason, or misunderstand. Errors: `Invalid`.
pub fn check(class: &Class) -> Result<()> {
    let Class { handle, parent, .. } = *class;
    let is_class = handle.major() != 0 && handle.minor() != 0;
    if !is_class || handle.major() == Handle::ROOT.major() {
        return Err(Error::invalid(
            "a class's handle has a major number below ffff, and a minor one",
        ));
    }
    if parent.major() != handle.major() || parent == handle {
        return Err(Error::invalid(format!(
            "class {handle} belongs to {} or to another class of it, not to {parent}",
            handle.discipline()
        )));
    }
    options(class).map(drop)
}

/// The kernel accepts a class for any discipline with classes, and puts one without its parent at the top.
fn look_for_parent(socket: &mut RouteSocket, link: &LinkFacts, class: &Class) -> Result<()> {
    let discipline = class.handle.discipline();
    if !is_there(socket, link, discipline, Some(HTB))? {
        return Err(Error::not_found(format!(
            "no such {HTB} discipline: {discipline}"
        )));
    }
    if class.parent != discipline {
        let question = about(link, Handle(0), class.parent.0);
        echo(socket, RouteNetlinkMessage::GetTrafficClass(question), 0)
            .while_doing(format_args!("look for class {}", class.parent))?;
    }
    Ok(())
}

/// `struct tc_htb_opt`, and the rates that have no room in it.
fn options(class: &Class) -> Result<Vec<TcOption>> {
    let quantum = (class.rate / QUANTUM_DIVISOR).clamp(LEAST_QUANTUM, MOST_QUANTUM) as u32;
    let (level, priority) = (0, 0);
    let numbers = [
        rate::ticks(class.burst, class.rate)?,
        rate::ticks(class.cburst, class.ceil)?,
        quantum,
        level,
        priority,
    ];
    let mut parameters = Vec::with_capacity(44);
    parameters.extend(rate::specification(class.rate));
    parameters.extend(rate::specification(class.ceil));
    parameters.extend(numbers.map(u32::to_ne_bytes).concat());
    let mut options = vec![option(PARAMETERS, parameters)];
    options.extend(rate::large(class.rate).map(|rate| option(RATE64, rate)));
    options.extend(rate::large(class.ceil).map(|ceil| option(CEIL64, ceil)));
    Ok(options)
}

/// Removes a class. Errors: `NotFound`; `Busy` while something belongs to it.
impl Answer<DeleteClass> for Linux {
    fn answer(&mut self, permit: &Permit<DeleteClass>) -> Result<()> {
        let DeleteClass { link, handle } = permit.operation();
        let message = about(link, Handle(0), handle.0);
        self.route(link.namespace)?
            .change(RouteNetlinkMessage::DelTrafficClass(message), 0)
            .while_doing(format_args!("remove class {handle} from {link}"))
    }
}

/// The classes of a link's `htb` disciplines. Errors: `NotFound` for a link that is gone.
impl Answer<ListClasses, Vec<Class>> for Linux {
    fn answer(&mut self, permit: &Permit<ListClasses>) -> Result<Vec<Class>> {
        let ListClasses { link } = permit.operation();
        let socket = self.route(link.namespace)?;
        let question = about(link, Handle(0), 0);
        let found = dump(socket, link, RouteNetlinkMessage::GetTrafficClass(question))
            .while_doing(format_args!("list the classes of {link}"))?;
        Ok(found.iter().filter_map(read).collect())
    }
}

/// None for a class of another discipline.
fn read(object: &Object) -> Option<Class> {
    let parameters = find_attr(&object.options, PARAMETERS).filter(|_| object.kind == HTB)?;
    let handle = Handle(object.handle);
    let rate = rate::read(parameters, find_attr(&object.options, RATE64))?;
    let ceil = rate::read(
        parameters.get(CEIL_AT..)?,
        find_attr(&object.options, CEIL64),
    )?;
    let burst = |at, rate| Some(rate::burst(rate::number(parameters, at)?, rate));
    Some(Class {
        handle,
        parent: match object.parent {
            Handle::ROOT => handle.discipline(),
            class => class,
        },
        rate,
        ceil,
        burst: burst(BURST_AT, rate)?,
        cburst: burst(CBURST_AT, ceil)?,
    })
}
