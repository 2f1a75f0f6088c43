//! Capability `sysctl`: kernel parameters below `net.`.

use crate::bindings::weir::cni::sysctl as raw;
use crate::{Namespace, OperationError};

/// The value of a key such as `net.ipv4.ip_forward`. Errors: `not-found`, `invalid`.
pub fn read(namespace: Namespace, key: &str) -> Result<String, OperationError> {
    Ok(raw::read(namespace, key)?)
}

/// Writes a value. Errors: `not-found`, `invalid`.
pub fn write(namespace: Namespace, key: &str, value: &str) -> Result<(), OperationError> {
    Ok(raw::write(namespace, key, value)?)
}

/// Writes a value where the key has another one. Errors: `not-found`, `invalid`.
pub fn ensure(namespace: Namespace, key: &str, value: &str) -> Result<(), OperationError> {
    if read(namespace, key)? == value {
        return Ok(());
    }
    write(namespace, key, value)
}

/// The key of one interface's parameter, for example
/// `interface_key("ipv6.conf", "eth0.1", "accept_dad")`: a dot in the name becomes a slash.
pub fn interface_key(table: &str, interface: &str, parameter: &str) -> String {
    let interface = interface.replace('.', "/");
    format!("net.{table}.{interface}.{parameter}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dots_of_an_interface_name_do_not_separate() {
        assert_eq!(
            interface_key("ipv4.conf", "eth0.1", "arp_notify"),
            "net.ipv4.conf.eth0/1.arp_notify"
        );
    }
}
