//! The permit: proof that an operation was authorised and will be recorded.

/// Permits one operation. The kernel layer reads its arguments from the operation inside, so that it does what was
/// authorised. Nothing outside this crate can make one:
///
/// ```compile_fail,E0624
/// weir_gate::Permit::new("an operation that was not authorised");
/// ```
pub struct Permit<O> {
    operation: O,
}

impl<O> Permit<O> {
    /// Only the gate makes permits.
    pub(crate) fn new(operation: O) -> Self {
        Self { operation }
    }

    /// Returns the permitted operation.
    pub fn operation(&self) -> &O {
        &self.operation
    }
}
