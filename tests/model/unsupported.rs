//! Operations that the model does not have.

use weir_grant::firewall;
use weir_kernel::Error;

use super::kernel::Model;

/// That the model does not have something.
pub(crate) fn error(what: &str) -> Error {
    Error::unsupported(format!("the model does not have {what}"))
}

/// Implements operations that a kernel of tests does not have: each fails with an error that is made of its name.
#[macro_export]
macro_rules! unsupported {
    ($kernel:ty, $error:path: $($operation:ty => $answer:ty;)*) => {$(
        impl weir_kernel::Perform<$operation, $answer> for $kernel {
            fn perform(
                &mut self,
                _: &weir_gate::Permit<$operation>,
                _: &mut weir_kernel::Changes<'_>,
            ) -> weir_kernel::Result<$answer> {
                Err($error(<$operation as weir_grant::Operation>::NAME))
            }
        }
    )*};
}

/// The same for all of traffic control.
#[macro_export]
macro_rules! traffic_unsupported {
    ($kernel:ty, $error:path) => {
        $crate::unsupported! {
            $kernel, $error:
            weir_grant::traffic::AddQdisc => ();
            weir_grant::traffic::DeleteQdisc => ();
            weir_grant::traffic::ListQdiscs => Vec<weir_grant::traffic::Qdisc>;
            weir_grant::traffic::AddClass => ();
            weir_grant::traffic::DeleteClass => ();
            weir_grant::traffic::ListClasses => Vec<weir_grant::traffic::Class>;
            weir_grant::traffic::AddFilter => ();
            weir_grant::traffic::DeleteFilter => ();
            weir_grant::traffic::ListFilters => Vec<weir_grant::traffic::Filter<u32>>;
        }
    };
}

unsupported! {
    Model, error:
    firewall::RemoveReference => u32;
}
