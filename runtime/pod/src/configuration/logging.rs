//! What the log keys of a Multus configuration say: which lines are written, and where.

use weir_cni::Error;

use super::keys::Keys;

/// How much is told: a line is written where its level is one of those before this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    Error,
    Warn,
    Info,
    Debug,
}

impl Level {
    /// The word in weir's log.
    pub fn word(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warn => "warn",
            Self::Info => "info",
            Self::Debug => "debug",
        }
    }

    /// Multus' words. `panic` is told by it before it ends, which weir does with an error.
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
    /// `logToStderr`; Multus' default is true, and a runtime shows standard error of a failed plugin.
    pub to_stderr: bool,
}

impl Logging {
    /// Reads the keys. A `logFile` of Multus' is not written: a configuration does not choose which file weir,
    /// as root, appends to. `warnings` gets a line that says where the log is.
    pub fn read(keys: &Keys<'_>, warnings: &mut Vec<String>) -> Result<Self, Error> {
        if let Some(file) = keys.path("logFile")? {
            let file = file.display();
            warnings.push(format!(
                "logFile: `{file}` is not written: weir logs to /var/log/weir/weir.log, whatever a network \
                 configuration says"
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

/// `logOptions` is about the rotation of `logFile`. Its types are checked, as Multus does.
fn check_options(keys: &Keys<'_>) -> Result<(), Error> {
    let Some(options) = keys.object("logOptions")? else {
        return Ok(());
    };
    let options = Keys::below(options, "logOptions.");
    for key in ["maxAge", "maxSize", "maxBackups"] {
        options.count(key)?;
    }
    options.flag("compress").map(|_| ())
}
