//! Operations that the model does not have.

use weir_gate::Permit;
use weir_grant::{Operation, firewall, traffic};
use weir_kernel::{Changes, Error, Perform, Result};

use super::kernel::Model;

/// That the model does not have something.
pub(crate) fn error(what: &str) -> Error {
    Error::unsupported(format!("the model does not have {what}"))
}

macro_rules! unsupported {
    ($($operation:ty => $answer:ty;)*) => {$(
        impl Perform<$operation, $answer> for Model {
            fn perform(
                &mut self,
                _: &Permit<$operation>,
                _: &mut Changes<'_>,
            ) -> Result<$answer> {
                Err(error(<$operation>::NAME))
            }
        }
    )*};
}

unsupported! {
    traffic::AddQdisc => ();
    traffic::DeleteQdisc => ();
    traffic::ListQdiscs => Vec<traffic::Qdisc>;
    traffic::AddClass => ();
    traffic::DeleteClass => ();
    traffic::ListClasses => Vec<traffic::Class>;
    traffic::AddFilter => ();
    traffic::DeleteFilter => ();
    traffic::ListFilters => Vec<traffic::Filter<u32>>;
    firewall::RemoveReference => u32;
}
