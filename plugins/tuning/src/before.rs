//! What was before ADD, to be put back when it fails.
//!
//! The host undoes what a plugin created; what a plugin changed it must restore itself.

use weir_sdk::Error;

use crate::attributes::{self, Attributes};
use crate::parameters::{self, Parameter, Value};

/// The state of what ADD is about to change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Before {
    parameters: Vec<Value>,
    /// Of the interface, as far as they are about to change.
    pub attributes: Attributes,
}

impl Before {
    /// Reads it. Errors: [`weir_sdk::codes::NOT_FOUND`] for a parameter or an interface that does not
    /// exist, before anything is changed.
    pub fn read(
        ifname: &str,
        parameters: &[Parameter],
        attributes: &Attributes,
    ) -> Result<Self, Error> {
        let had = match attributes.is_empty() {
            true => Attributes::default(),
            false => attributes::read(ifname)?.only(attributes),
        };
        Ok(Before {
            parameters: parameters::read(parameters)?,
            attributes: had,
        })
    }

    /// Puts back what is not as it was, the last change first.
    pub fn restore(&self, ifname: &str) {
        attributes::restore(ifname, &self.attributes);
        parameters::restore(&self.parameters);
    }
}
