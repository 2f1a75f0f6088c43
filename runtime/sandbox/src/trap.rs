//! What a plugin's violent end is called: a CNI error that names the limit. The caller names the
//! plugin.

use std::time::Instant;

use bytesize::ByteSize;
use wasmtime::Trap;
use weir_cni::Error;
use weir_gate::MOST_RECORDED;
use weir_host::{MOST_KEPT, State};

use super::codes;

/// Explains why a call of a plugin did not return.
pub(crate) fn explain(host: &State, error: &wasmtime::Error) -> Error {
    let (limits, usage) = (host.limits(), host.usage());
    let trap = error.downcast_ref::<Trap>();
    let out_of_time = || {
        let time = humantime::format_duration(limits.time);
        Error::new(
            codes::TIME,
            format!("did not finish within its time, {time}"),
        )
    };
    let explained = if trap == Some(&Trap::Interrupt) {
        out_of_time()
    } else if usage.calls > limits.calls {
        let calls = limits.calls;
        Error::new(
            codes::CALLS,
            format!("made more than its {calls} calls of host functions"),
        )
    } else if usage.changes > limits.changes {
        let changes = limits.changes;
        Error::new(
            codes::CHANGES,
            format!("made or changed more than its {changes} links, addresses, rules and the like"),
        )
    } else if usage.kept > MOST_KEPT {
        let kept = ByteSize::b(MOST_KEPT as u64).display().iec();
        Error::new(
            codes::MEMORY,
            format!("changed so much that to undo it would take more than {kept}"),
        )
    } else if usage.recorded > MOST_RECORDED {
        let recorded = ByteSize::b(MOST_RECORDED as u64).display().iec();
        Error::new(
            codes::RECORDS,
            format!(
                "did or tried so much that its records in the audit log take more than {recorded}"
            ),
        )
    } else if usage.memory_refused {
        let memory = limits.memory.display().iec();
        Error::new(
            codes::MEMORY,
            format!("needed more memory than its {memory}"),
        )
    } else if is_transfer(error) {
        let transfer = limits.transfer.display().iec();
        Error::new(
            codes::TRANSFER,
            format!("handed over more than {transfer} in one call"),
        )
    } else if Instant::now() >= host.deadline() {
        // It met the end of its time in a host function, and made a panic of it.
        out_of_time()
    } else {
        Error::new(codes::TRAPPED, format!("trapped: {}", cause(error)))
    };
    explained.with_details(host.standard_error().trim().to_owned())
}

/// The engine has no type for "too large to cross".
fn is_transfer(error: &wasmtime::Error) -> bool {
    format!("{error:#}").contains("fuel allocated for hostcalls")
}

fn cause(error: &wasmtime::Error) -> String {
    match error.downcast_ref::<Trap>() {
        Some(trap) => trap.to_string(),
        None => error.root_cause().to_string(),
    }
}
