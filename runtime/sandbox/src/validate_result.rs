//! What the host checks of a result beyond its shape. What a plugin says of the kernel is its claim;
//! whose namespace an interface is in is not its to say, and it does not know which version the caller
//! speaks.

use serde_json::Value;
use weir_cni::{AddResult, Error, Interface, Version};

use super::request::Request;

/// A result whose interfaces are on the host, in this invocation's container, or where the previous
/// result has them, and whose addresses the caller's version has room for. Errors: code 999, naming
/// the interface; code 7.
pub(crate) fn check(result: AddResult, request: &Request) -> Result<AddResult, Error> {
    let version = request.config.get("cniVersion").and_then(Value::as_str);
    result.check_room(Version::from_document(version)?)?;
    let known = |sandbox: &str| {
        let previous = request
            .previous
            .iter()
            .flat_map(|previous| &previous.interfaces);
        sandbox == request.sandbox || previous.into_iter().any(|i| is_in(i, sandbox))
    };
    for (index, interface) in result.interfaces.iter().enumerate() {
        if let Some(sandbox) = interface
            .sandbox
            .as_deref()
            .filter(|sandbox| !known(sandbox))
        {
            return Err(Error::internal(format!(
                "result: interfaces[{index}].sandbox: `{sandbox}` is not this invocation's \
                 container, `{}`",
                request.sandbox
            )));
        }
    }
    Ok(result)
}

fn is_in(interface: &Interface, sandbox: &str) -> bool {
    interface.sandbox.as_deref() == Some(sandbox)
}
