//! The permit: proof that an operation was authorised, and that it will be recorded.

/// Bound to one operation. The kernel layer reads its arguments from the operation inside, so what
/// was authorised is what is done. Nothing outside of this crate can make one:
///
/// ```compile_fail,E0624
/// weir_gate::Permit::new("an operation that nobody has authorised");
/// ```
pub struct Permit<O> {
    operation: O,
}

impl<O> Permit<O> {
    /// Only the gate makes permits.
    pub(crate) fn new(operation: O) -> Self {
        Self { operation }
    }

    /// What is permitted.
    pub fn operation(&self) -> &O {
        &self.operation
    }
}
