//! What an invocation takes of its limits.

use weir_gate::MOST_RECORDED;
use weir_grant::Limits;

/// What of its limits an invocation has used up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Calls of host functions.
    pub calls: u64,
    /// The largest sum of code, memory and tables, in bytes.
    pub memory: usize,
    /// An allocation was refused.
    pub memory_refused: bool,
    /// What the plugin has made or changed.
    pub changes: u64,
    /// Bytes that the host keeps to undo it.
    pub kept: usize,
    /// Bytes of its records in the audit log.
    pub recorded: usize,
}

/// The most bytes that the host keeps to undo what one invocation did.
pub const MOST_KEPT: usize = 8 << 20;

impl Usage {
    pub(super) fn is_over(&self, limits: &Limits) -> bool {
        self.calls > limits.calls
            || self.changes > limits.changes
            || self.kept > MOST_KEPT
            || self.recorded > MOST_RECORDED
    }
}
