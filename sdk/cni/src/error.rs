//! The error result of CNI section 5: code, message, details, and its JSON.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::shown::shown;

/// An error code of CNI section 5, "Error".
///
/// 1 to 99 are the specification's; 100 and above are free for plugins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Code(pub u32);

impl Code {
    /// The `cniVersion` of the configuration is not supported.
    pub const INCOMPATIBLE_VERSION: Code = Code(1);
    /// A field of the network configuration is not supported; the message has its key and value.
    pub const UNSUPPORTED_FIELD: Code = Code(2);
    /// The container is unknown: the runtime needs no clean-up, such as `DEL`.
    pub const UNKNOWN_CONTAINER: Code = Code(3);
    /// Environment variables are missing or invalid; the message names them.
    pub const INVALID_ENVIRONMENT: Code = Code(4);
    /// Input or output failed, for example reading standard input.
    pub const IO_FAILURE: Code = Code(5);
    /// Content could not be decoded, for example what is not JSON.
    pub const DECODING_FAILURE: Code = Code(6);
    /// The network configuration is invalid.
    pub const INVALID_CONFIG: Code = Code(7);
    /// The network namespace cannot be used. Not in the specification's table: the code that libcni
    /// gives to plugins for a `CNI_NETNS` that is their own namespace or none at all.
    pub const INVALID_NETNS: Code = Code(8);
    /// A passing condition: the runtime should try the operation again later.
    pub const TRY_AGAIN_LATER: Code = Code(11);
    /// `STATUS`: the plugin cannot service `ADD` requests (1.1.0).
    pub const PLUGIN_NOT_AVAILABLE: Code = Code(50);
    /// `STATUS`: as 50, and containers already attached may have limited connectivity (1.1.0).
    pub const LIMITED_CONNECTIVITY: Code = Code(51);
    /// The first code that is free for plugins.
    pub const FIRST_CUSTOM: Code = Code(100);
    /// Any other failure: the code that libcni gives to an error without one.
    pub const INTERNAL: Code = Code(999);

    /// Returns the code's meaning in a few words; for codes of plugins' own, that they are.
    pub fn description(self) -> &'static str {
        match self {
            Code::INCOMPATIBLE_VERSION => "incompatible CNI version",
            Code::UNSUPPORTED_FIELD => "unsupported field in network configuration",
            Code::UNKNOWN_CONTAINER => "unknown container",
            Code::INVALID_ENVIRONMENT => "invalid environment variables",
            Code::IO_FAILURE => "I/O failure",
            Code::DECODING_FAILURE => "failed to decode content",
            Code::INVALID_CONFIG => "invalid network configuration",
            Code::INVALID_NETNS => "invalid network namespace",
            Code::TRY_AGAIN_LATER => "try again later",
            Code::PLUGIN_NOT_AVAILABLE => "plugin not available",
            Code::LIMITED_CONNECTIVITY => "plugin not available, limited connectivity",
            Code::INTERNAL => "internal error",
            _ if self >= Code::FIRST_CUSTOM => "error of the plugin's own",
            _ => "unknown error code",
        }
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl From<u32> for Code {
    fn from(code: u32) -> Self {
        Code(code)
    }
}

impl PartialEq<u32> for Code {
    fn eq(&self, other: &u32) -> bool {
        self.0 == *other
    }
}

/// An error result, CNI section 5.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// What kind of error.
    pub code: Code,
    /// A short message.
    pub msg: String,
    /// A longer message; empty when there is nothing to add.
    pub details: String,
}

impl Error {
    /// Makes an error without details.
    pub fn new(code: impl Into<Code>, msg: impl Into<String>) -> Self {
        Error {
            code: code.into(),
            msg: msg.into(),
            details: String::new(),
        }
    }

    /// Returns the same error with these details.
    #[must_use]
    pub fn with_details(mut self, details: impl Into<String>) -> Self {
        self.details = details.into();
        self
    }

    /// Returns the same error with more details after its own, separated by `; `.
    #[must_use]
    pub fn and_details(mut self, more: impl IntoIterator<Item = String>) -> Self {
        for details in more {
            if !self.details.is_empty() {
                self.details.push_str("; ");
            }
            self.details.push_str(&details);
        }
        self
    }

    /// Returns the same error with `prefix: ` before its message, for example the plugin's name.
    #[must_use]
    pub fn with_prefix(mut self, prefix: impl fmt::Display) -> Self {
        self.msg = format!("{prefix}: {}", self.msg);
        self
    }

    /// Code 1: `requested` is none of the `supported` versions.
    pub fn incompatible_version<V: fmt::Display>(
        requested: impl fmt::Display,
        supported: impl IntoIterator<Item = V>,
    ) -> Self {
        let supported: Vec<String> = supported.into_iter().map(|v| v.to_string()).collect();
        let msg = format!("cniVersion `{requested}` is not supported");
        let details = format!("supported versions are {}", supported.join(", "));
        Error::new(Code::INCOMPATIBLE_VERSION, msg).with_details(details)
    }

    /// Code 2: the configuration's `key` with this `value` is not supported.
    pub fn unsupported_field(key: impl fmt::Display, value: &Value) -> Self {
        let value = shown(value);
        let msg = format!("field `{key}` with value `{value}` is not supported");
        Error::new(Code::UNSUPPORTED_FIELD, msg)
    }

    /// Code 3: there is no container with this id.
    pub fn unknown_container(container_id: impl fmt::Display) -> Self {
        let msg = format!("container `{container_id}` is unknown");
        Error::new(Code::UNKNOWN_CONTAINER, msg)
    }

    /// Code 4: environment variables are missing or invalid; `msg` must name them.
    pub fn invalid_environment(msg: impl Into<String>) -> Self {
        Error::new(Code::INVALID_ENVIRONMENT, msg)
    }

    /// Code 5: input or output failed.
    pub fn io_failure(msg: impl Into<String>) -> Self {
        Error::new(Code::IO_FAILURE, msg)
    }

    /// Code 6: content could not be decoded.
    pub fn decoding_failure(msg: impl Into<String>) -> Self {
        Error::new(Code::DECODING_FAILURE, msg)
    }

    /// Code 7: the network configuration is invalid.
    pub fn invalid_config(msg: impl Into<String>) -> Self {
        Error::new(Code::INVALID_CONFIG, msg)
    }

    /// Code 11: the same operation may succeed later.
    pub fn try_again_later(msg: impl Into<String>) -> Self {
        Error::new(Code::TRY_AGAIN_LATER, msg)
    }

    /// Code 999: a failure that no other code describes.
    pub fn internal(msg: impl Into<String>) -> Self {
        Error::new(Code::INTERNAL, msg)
    }

    /// Returns the error result's JSON. `cni_version` is what the configuration said, known or not.
    pub fn to_json(&self, cni_version: impl fmt::Display) -> Value {
        let mut map = Map::new();
        map.insert("cniVersion".into(), cni_version.to_string().into());
        map.insert("code".into(), self.code.0.into());
        map.insert("msg".into(), self.msg.clone().into());
        if !self.details.is_empty() {
            map.insert("details".into(), self.details.clone().into());
        }
        Value::Object(map)
    }

    /// Reads an error result that a plugin printed. `None` if `value` is not one: an error result
    /// is an object with a numeric `code` other than 0 and no key of another type than it should
    /// have.
    pub fn from_json(value: &Value) -> Option<Self> {
        let map = value.as_object()?;
        let code = map.get("code")?.as_u64()?;
        let code = u32::try_from(code).ok().filter(|code| *code != 0)?;
        Some(Error {
            code: Code(code),
            msg: optional_text(map, "msg")?,
            details: optional_text(map, "details")?,
        })
    }
}

/// The text under `key`, empty if absent or null; `None` if it is not text.
fn optional_text(map: &Map<String, Value>, key: &str) -> Option<String> {
    match map.get(key) {
        None | Some(Value::Null) => Some(String::new()),
        Some(Value::String(text)) => Some(text.clone()),
        Some(_) => None,
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.msg)?;
        if !self.details.is_empty() {
            write!(f, "; {}", self.details)?;
        }
        write!(f, " (CNI code {}: {})", self.code, self.code.description())
    }
}

impl std::error::Error for Error {}
