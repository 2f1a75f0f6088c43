//! The CNI error for a plugin that trapped or was stopped: it names the limit, and the caller adds the plugin's name.

use std::time::Instant;

use bytesize::ByteSize;
use wasmtime::Trap;
use weir_cni::Error;
use weir_gate::MOST_RECORDED;
use weir_host::{MOST_KEPT, State};

use super::codes;

/// Explains why a call of a plugin did not return.
pub(crate) fn explain(state: &State, error: &wasmtime::Error) -> Error {
    let (limits, usage) = (state.limits(), state.usage());
    let trap = error.downcast_ref::<Trap>();
    let iec = |bytes: ByteSize| bytes.display().iec();
    let out_of_time = || {
        let time = humantime::format_duration(limits.time);
        (
            codes::TIME,
            format!("did not finish within its time, {time}"),
        )
    };
    let (code, what) = if trap == Some(&Trap::Interrupt) {
        out_of_time()
    } else if usage.calls > limits.calls {
        let what = format!(
            "made more than its {} calls of host functions",
            limits.calls
        );
        (codes::CALLS, what)
    } else if usage.changes > limits.changes {
        let most = limits.changes;
        let what =
            format!("made or changed more than its {most} links, addresses, rules and the like");
        (codes::CHANGES, what)
    } else if usage.kept > MOST_KEPT {
        let kept = iec(ByteSize::b(MOST_KEPT as u64));
        let what = format!("changed so much that undoing it would take more than {kept}");
        (codes::MEMORY, what)
    } else if usage.recorded > MOST_RECORDED {
        let most = iec(ByteSize::b(MOST_RECORDED as u64));
        let what =
            format!("did or tried so much that its records in the audit log take more than {most}");
        (codes::RECORDS, what)
    } else if usage.memory_refused {
        let what = format!("needed more memory than its {}", iec(limits.memory));
        (codes::MEMORY, what)
    } else if is_transfer(error) {
        let what = format!("handed over more than {} in one call", iec(limits.transfer));
        (codes::TRANSFER, what)
    } else if Instant::now() >= state.deadline() {
        // It met the end of its time in a host function, and made a panic of it.
        out_of_time()
    } else {
        (codes::TRAPPED, format!("trapped: {}", cause(error)))
    };
    Error::new(code, what).with_details(state.standard_error().trim().to_owned())
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
