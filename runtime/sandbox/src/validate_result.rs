//! Checks of a result beyond its form: the namespaces of its interfaces, and whether the caller's version can express it.

use serde_json::Value;
use weir_cni::{AddResult, Error, Interface, Version};

use super::request::Request;

/// Checks that each interface is on the host, in this invocation's container or in a sandbox of the previous result, and that
/// the caller's version can express the addresses. Errors: code 999, naming the interface; code 7.
pub(crate) fn check(result: AddResult, request: &Request) -> Result<AddResult, Error> {
    let version = request.config.get("cniVersion").and_then(Value::as_str);
    result.check_addresses(Version::from_document(version)?)?;
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
