//! How much of its limits an invocation has used.

use weir_gate::MOST_RECORDED;
use weir_grant::Limits;

/// How much of its limits an invocation has used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Calls of host functions.
    pub calls: u64,
    /// The largest sum of code, memory and tables so far, in bytes.
    pub memory: usize,
    /// Whether an allocation was refused.
    pub memory_refused: bool,
    /// The number of changes.
    pub changes: u64,
    /// The bytes that weir keeps to undo them.
    pub kept: usize,
    /// The size of its records in the audit log, in bytes.
    pub recorded: usize,
}

/// The most bytes that weir keeps to undo one invocation.
pub const MOST_KEPT: usize = 8 << 20;

impl Usage {
    pub(super) fn is_over(&self, limits: &Limits) -> bool {
        self.calls > limits.calls
            || self.changes > limits.changes
            || self.kept > MOST_KEPT
            || self.recorded > MOST_RECORDED
    }
}
