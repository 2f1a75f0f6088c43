//! The log keys of a Multus configuration.

use weir_cni::Error;

use super::keys::Keys;

/// The lines that are written: those of this level and of the ones before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    Error,
    Warn,
    Info,
    Debug,
}

impl Level {
    /// Returns the word in weir's log.
    pub fn word(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warn => "warn",
            Self::Info => "info",
            Self::Debug => "debug",
        }
    }

    /// Reads Multus' words. weir has no `panic`, which is an error here.
    fn read(keys: &Keys<'_>) -> Result<Option<Self>, Error> {
        let Some(word) = keys.text("logLevel")? else {
            return Ok(None);
        };
        match word.to_ascii_lowercase().as_str() {
            "panic" | "error" => Ok(Some(Self::Error)),
            "warning" | "warn" => Ok(Some(Self::Warn)),
            "verbose" | "info" => Ok(Some(Self::Info)),
            "debug" => Ok(Some(Self::Debug)),
            _ => Err(keys.wrong("logLevel", "debug, verbose, error or panic")),
        }
    }
}

/// `logLevel`, `logToStderr`, `logFile` and `logOptions`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Logging {
    pub level: Level,
    /// `logToStderr`; true by default, as in Multus. A runtime shows standard error of a failed plugin.
    pub to_stderr: bool,
}

impl Logging {
    /// Reads the keys. `logFile` is not written, since a configuration must not choose a file that weir appends to as root.
    /// `warnings` gets a line that says where the log is.
    pub fn read(keys: &Keys<'_>, warnings: &mut Vec<String>) -> Result<Self, Error> {
        if let Some(file) = keys.path("logFile")? {
            let file = file.display();
            warnings.push(format!(
                "logFile: `{file}` is not written: weir always logs to /var/log/weir/weir.log"
            ));
        }
        check_options(keys)?;
        let to_stderr = match keys.value("logToStderr") {
            None => true,
            Some(_) => keys.flag("logToStderr")?,
        };
        Ok(Self {
            level: Level::read(keys)?.unwrap_or(Level::Warn),
            to_stderr,
        })
    }
}

/// Checks the types of `logOptions`, as Multus does. They are about the rotation of `logFile`.
fn check_options(keys: &Keys<'_>) -> Result<(), Error> {
    let Some(options) = keys.object("logOptions")? else {
        return Ok(());
    };
    let options = Keys::below(options, "logOptions.");
    for key in ["maxAge", "maxSize", "maxBackups"] {
        options.count(key)?;
    }
    options.flag("compress").map(drop)
}
