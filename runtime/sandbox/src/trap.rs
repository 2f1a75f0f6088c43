//! The CNI error for a plugin that trapped or was stopped: it has the panic's text, or names the limit and where it is set.
//! The caller adds the plugin's name.

use std::fmt::Display;
use std::ops::Range;
use std::time::Instant;

use bytesize::ByteSize;
use wasmtime::Trap;
use weir_cni::Error;
use weir_gate::MOST_RECORDED;
use weir_grant::size::Exact;
use weir_host::{MOST_KEPT, State};

use super::codes;
use super::final_output::FinalOutput;
use super::grants::Origin;

/// Where the limits of a call are from.
#[derive(Debug, Default)]
pub(crate) struct LimitsFrom {
    /// The grant; none for a component that only reports its version.
    pub grant: Option<Origin>,
    /// Whether the time is what the plugin has left that runs this one.
    pub is_time_of_main_plugin: bool,
}

impl LimitsFrom {
    /// A limit as its grant has it: `limits.time: 5s`.
    fn limit(&self, key: &str, value: impl Display) -> String {
        match self.grant {
            Some(_) => format!("`limits.{key}: {value}`"),
            None => value.to_string(),
        }
    }
}

/// Explains why a call of a plugin did not return.
pub(crate) fn explain(state: &State, error: &wasmtime::Error, from: &LimitsFrom) -> Error {
    let output = FinalOutput::of(state);
    let (code, what, grant) = match exceeded(state, error, from) {
        Some(Exceeded::OfGrant(code, what)) => (code, what, from.grant.as_ref()),
        Some(Exceeded::OfWeir(code, what)) => (code, what, None),
        None => {
            let what = output.panic.clone().unwrap_or_else(|| cause(error));
            (codes::TRAPPED, what, None)
        }
    };
    let details = [grant.map(Origin::place), Some(last_call(state, code))];
    let rest = Some(output.rest).filter(|rest| !rest.is_empty());
    let details = details.into_iter().chain([rest]).flatten();
    Error::new(code, what).and_details(details)
}

/// The plugin's last call. The engine ends one that is too many or hands over too much before it says which function it is of,
/// so the one before is named as such.
fn last_call(state: &State, code: u32) -> String {
    let is_unnamed = [codes::CALLS, codes::TRANSFER].contains(&code);
    let before = if is_unnamed { " before that" } else { "" };
    match state.last_call() {
        Some(call) => format!("its last call{before} was `{call}`"),
        None => format!("it had not called the contract{before}"),
    }
}

/// A limit that a plugin exceeded: its code and a sentence.
enum Exceeded {
    /// A key of `limits` in the grant.
    OfGrant(u32, String),
    /// A bound of weir's own.
    OfWeir(u32, String),
}

fn exceeded(state: &State, error: &wasmtime::Error, from: &LimitsFrom) -> Option<Exceeded> {
    use Exceeded::{OfGrant, OfWeir};
    let (limits, usage) = (state.limits(), state.usage());
    let iec = |bytes: usize| ByteSize::b(bytes as u64).display().iec();
    let exceeded = if error.downcast_ref() == Some(&Trap::Interrupt) {
        out_of_time(state, from)
    } else if usage.calls > limits.calls {
        let most = from.limit("calls", limits.calls);
        let what = format!("made more calls of host functions than {most}");
        OfGrant(codes::CALLS, what)
    } else if usage.changes > limits.changes {
        let most = from.limit("changes", limits.changes);
        let what = format!("made or changed more links, addresses, rules and the like than {most}");
        OfGrant(codes::CHANGES, what)
    } else if usage.kept > MOST_KEPT {
        let kept = iec(MOST_KEPT);
        let what = format!("changed so much that undoing it would take more than {kept}");
        OfWeir(codes::MEMORY, what)
    } else if usage.recorded > MOST_RECORDED {
        let most = iec(MOST_RECORDED);
        let what =
            format!("did or tried so much that its records in the audit log take more than {most}");
        OfWeir(codes::RECORDS, what)
    } else if usage.memory_refused {
        let most = from.limit("memory", Exact::from(limits.memory));
        OfGrant(codes::MEMORY, format!("needed more memory than {most}"))
    } else if is_transfer(error) {
        let most = from.limit("transfer", Exact::from(limits.transfer));
        let what = format!("handed over more in one call than {most}");
        OfGrant(codes::TRANSFER, what)
    } else if Instant::now() >= state.deadline() {
        // It met the end of its time in a host function, and made a panic of it.
        out_of_time(state, from)
    } else {
        return None;
    };
    Some(exceeded)
}

fn out_of_time(state: &State, from: &LimitsFrom) -> Exceeded {
    if from.is_time_of_main_plugin {
        let what = "did not finish within the time of the plugin that runs it";
        return Exceeded::OfWeir(codes::TIME, what.to_owned());
    }
    let time = humantime::format_duration(state.limits().time);
    let what = format!(
        "did not finish within its time, {}",
        from.limit("time", time)
    );
    Exceeded::OfGrant(codes::TIME, what)
}

/// The engine has no type for "too large to cross".
fn is_transfer(error: &wasmtime::Error) -> bool {
    format!("{error:#}").contains("fuel allocated for hostcalls")
}

fn cause(error: &wasmtime::Error) -> String {
    match error.downcast_ref::<Trap>() {
        Some(Trap::StackOverflow) => format!("overflowed its stack: {RECURSION}"),
        Some(Trap::MemoryOutOfBounds) => out_of_bounds(fault_address(error)),
        Some(trap) => format!("trapped: {trap}"),
        None => format!("trapped: {}", error.root_cause()),
    }
}

const RECURSION: &str = "a recursion does not end or is too deep, or variables are too large";

/// Linkers put the stack at the beginning of the memory. It overflows below address 0, in the size of a frame.
fn out_of_bounds(address: Option<u64>) -> String {
    const BELOW: Range<u64> = 0xff00_0000..1 << 32;
    let trap = Trap::MemoryOutOfBounds;
    match address {
        Some(address) if BELOW.contains(&address) => {
            format!("overflowed its stack: {RECURSION} (it accessed memory just below address 0)")
        }
        Some(_) => format!("trapped: {trap}"),
        None => format!("trapped: {trap}, as when its stack overflows: {RECURSION}"),
    }
}

/// The address of a fault in memory; none for an access of many bytes at once. The engine has it in a message only.
fn fault_address(error: &wasmtime::Error) -> Option<u64> {
    let mut messages = error.chain().map(ToString::to_string);
    messages.find_map(|message| {
        let rest = message.strip_prefix("memory fault at wasm address 0x")?;
        let (address, _) = rest.split_once(' ')?;
        u64::from_str_radix(address, 16).ok()
    })
}
