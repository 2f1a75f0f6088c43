//! What the kernel or the file system answered, in the words of the contract.

use std::fmt;
use std::io;

use nix::errno::Errno;
use weir_gate::{Outcome, Refusal};

/// The contract's `error-code`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    Denied,
    NotFound,
    Exists,
    Invalid,
    Busy,
    Unsupported,
    Exhausted,
    NoNamespace,
    TimedOut,
    Failed,
}

/// What an operation answers, or how it failed.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A failed operation.
#[derive(Clone, Debug, PartialEq)]
pub struct Error {
    pub code: Code,
    /// For a person: what was asked and what is wrong with it.
    pub message: String,
    /// The kernel's number, where it answered with one.
    pub errno: Option<Errno>,
}

/// Makes a constructor of errors for each of these codes.
macro_rules! constructors {
    ($($(#[$doc:meta])* $name:ident => $code:ident;)*) => {
        impl Error {$(
            $(#[$doc])*
            pub fn $name(message: impl Into<String>) -> Self {
                Self::new(Code::$code, message)
            }
        )*}
    };
}

constructors! {
    /// Makes the error for a malformed or impossible argument.
    invalid => Invalid;
    /// Makes the error for something that does not exist.
    not_found => NotFound;
    /// Makes the error for something that exists already.
    exists => Exists;
    /// Makes the error for something that others hold or keep changing.
    busy => Busy;
    /// Makes the error for something that this node or this weir does not have.
    unsupported => Unsupported;
    /// Makes the error for everything else.
    failed => Failed;
}

impl Error {
    /// Makes an error that is not the kernel's.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            errno: None,
        }
    }

    /// Returns the kernel's answer, with its extended-ack text where it gave one.
    pub fn kernel(errno: Errno, text: Option<&str>) -> Self {
        let message = match text {
            Some(text) => format!("{} ({errno:?})", text.trim_end_matches('.')),
            None => format!("{} ({errno:?})", errno.desc()),
        };
        Self {
            code: code_of(errno),
            message,
            errno: Some(errno),
        }
    }

    /// Says what cannot be done: a verb phrase.
    #[must_use]
    pub fn while_doing(self, what: impl fmt::Display) -> Self {
        self.at(format_args!("cannot {what}"))
    }

    /// Says where it went wrong.
    #[must_use]
    pub(crate) fn at(mut self, place: impl fmt::Display) -> Self {
        self.message = format!("{place}: {}", self.message);
        self
    }

    /// Gives it another code: the kernel's number says less than is known.
    #[must_use]
    pub fn with_code(self, code: Code) -> Self {
        Self { code, ..self }
    }

    /// Whether the kernel answered with this number.
    pub fn is(&self, errno: Errno) -> bool {
        self.errno == Some(errno)
    }

    /// Whether it says that the object does not exist.
    pub fn is_not_found(&self) -> bool {
        self.code == Code::NotFound
    }
}

/// Gives a failure its context.
pub trait WhileDoing<T> {
    /// Says what cannot be done: a verb phrase.
    fn while_doing(self, what: impl fmt::Display) -> Result<T>;
}

impl<T, E: Into<Error>> WhileDoing<T> for Result<T, E> {
    fn while_doing(self, what: impl fmt::Display) -> Result<T> {
        self.map_err(|error| error.into().while_doing(what))
    }
}

fn code_of(errno: Errno) -> Code {
    match errno {
        Errno::ENOENT | Errno::ENODEV | Errno::ESRCH | Errno::EADDRNOTAVAIL => Code::NotFound,
        Errno::EEXIST | Errno::ENOTUNIQ => Code::Exists,
        Errno::EINVAL | Errno::ERANGE | Errno::EMSGSIZE | Errno::ENETUNREACH => Code::Invalid,
        Errno::EHOSTUNREACH | Errno::ENAMETOOLONG | Errno::ELOOP | Errno::ENOTDIR => Code::Invalid,
        Errno::EBUSY | Errno::EAGAIN | Errno::ETXTBSY => Code::Busy,
        Errno::EOPNOTSUPP | Errno::EAFNOSUPPORT | Errno::EPROTONOSUPPORT => Code::Unsupported,
        Errno::ENOSPC | Errno::ENOMEM | Errno::EDQUOT | Errno::ENOBUFS | Errno::EMFILE => {
            Code::Exhausted
        }
        Errno::ENFILE => Code::Exhausted,
        _ => Code::Failed,
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

impl From<Errno> for Error {
    fn from(errno: Errno) -> Self {
        Self::kernel(errno, None)
    }
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        match error.raw_os_error() {
            Some(number) => Self::kernel(Errno::from_raw(number), None),
            None => Self::new(Code::Failed, error.to_string()),
        }
    }
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Self {
        let code = match &refusal {
            Refusal::Denied(_) => Code::Denied,
            Refusal::Refused(_) => Code::Invalid,
            Refusal::NotFound(_) => Code::NotFound,
            Refusal::Unrecorded(_) => Code::Failed,
        };
        Self::new(code, refusal.to_string())
    }
}

impl Outcome for Error {
    /// What is malformed or impossible, weir finds before it asks the kernel.
    fn is_refusal(&self) -> bool {
        self.code == Code::Invalid && self.errno.is_none()
    }
}
