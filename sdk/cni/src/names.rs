//! Validation of the names that CNI documents and variables carry (CNI sections 1 and 2).

use crate::error::{Code, Error};

/// The longest interface name, in bytes: the kernel's `IFNAMSIZ` less the closing NUL.
pub const INTERFACE_NAME_MAX: usize = 15;

/// Checks the `name` of a network: a letter or digit, then letters, digits, `_`, `.` or `-`.
///
/// An invalid name is an error of code 7.
pub fn validate_network_name(name: &str) -> Result<(), Error> {
    validate_identifier("network name", name).map_err(|msg| Error::new(Code::INVALID_CONFIG, msg))
}

/// Checks a `CNI_CONTAINERID`: a letter or digit, then letters, digits, `_`, `.` or `-`.
///
/// An invalid id is an error of code 4.
pub fn validate_container_id(id: &str) -> Result<(), Error> {
    validate_identifier("CNI_CONTAINERID", id)
        .map_err(|msg| Error::new(Code::INVALID_ENVIRONMENT, msg))
}

/// Checks a `CNI_IFNAME`: 1 to 15 bytes, not `.` or `..`, without `/`, `:` and white space.
///
/// An invalid name is an error of code 4.
pub fn validate_interface_name(name: &str) -> Result<(), Error> {
    match interface_name_fault(name) {
        None => Ok(()),
        Some(fault) => {
            let msg = format!("CNI_IFNAME `{}` {fault}", name.escape_debug());
            Err(Error::new(Code::INVALID_ENVIRONMENT, msg))
        }
    }
}

/// Checks a plugin's `type`: a file name, not a path (CNI section 1).
///
/// An invalid type is an error of code 7.
pub fn validate_plugin_type(name: &str) -> Result<(), Error> {
    let fault = if name.is_empty() {
        "is empty, expected the name of a plugin"
    } else if name == "." || name == ".." || name.contains(['/', '\\', '\0']) {
        "is a path, expected the name of a plugin without / and \\"
    } else {
        return Ok(());
    };
    let msg = format!("plugin type `{}` {fault}", name.escape_debug());
    Err(Error::new(Code::INVALID_CONFIG, msg))
}

/// Whether a `type` is a URI, by which some runtimes find a plugin, and not the name of one. What such a runtime accepts is its
/// own matter: this looks for `://` alone.
pub fn is_plugin_uri(name: &str) -> bool {
    name.contains("://")
}

/// Checks the name of a plugin to be installed or granted: a letter or digit, then letters, digits, `_`,
/// `.` or `-`. A configuration's `type` is this name, and may be more (see [`validate_plugin_type`]).
///
/// An invalid name is an error of code 7.
pub fn validate_plugin_name(name: &str) -> Result<(), Error> {
    validate_identifier("plugin name", name).map_err(|msg| Error::new(Code::INVALID_CONFIG, msg))
}

fn validate_identifier(what: &str, name: &str) -> Result<(), String> {
    let Some(first) = name.chars().next() else {
        return Err(format!("{what} is empty"));
    };
    let shown = name.escape_debug();
    if !first.is_ascii_alphanumeric() {
        let expected = "must start with an ASCII letter or digit";
        return Err(format!("{what} `{shown}` {expected}"));
    }
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
    match name.chars().find(|c| !allowed(*c)) {
        None => Ok(()),
        Some(c) => Err(format!(
            "{what} `{shown}` contains {c:?}, allowed are ASCII letters, digits, `_`, `.` and `-`"
        )),
    }
}

fn interface_name_fault(name: &str) -> Option<&'static str> {
    // The kernel takes the byte 0xa0 for white space (a non-breaking space in Latin-1), wherever
    // it is in a UTF-8 sequence.
    let kernel_space = |byte: u8| byte == 0xa0;
    if name.is_empty() {
        Some("is empty, expected 1 to 15 bytes")
    } else if name.len() > INTERFACE_NAME_MAX {
        Some("is longer than 15 bytes")
    } else if name == "." || name == ".." {
        Some("is reserved, `.` and `..` cannot name an interface")
    } else if name.contains(['/', ':']) {
        Some("contains `/` or `:`")
    } else if name.contains(char::is_whitespace) || name.bytes().any(kernel_space) {
        Some("contains white space")
    } else if name.contains('\0') {
        Some("contains a NUL character")
    } else {
        None
    }
}
