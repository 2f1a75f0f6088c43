//! A copy of every line of the log for systemd's journal, by its
//! [native protocol](https://systemd.io/JOURNAL_NATIVE_PROTOCOL/): one datagram an entry, one entry a line.
//!
//! It never waits. What the journal does not take at once is counted, and the log has it in any case.

use std::io::{self, ErrorKind, Write as _};
use std::os::unix::net::UnixDatagram;
use std::sync::{Mutex, PoisonError};

use serde::Deserialize;
use weir_files::Paths;
use weir_files::file_trust;

use crate::configuration;

/// What every entry has besides the line.
const FIELDS: &[u8] = b"PRIORITY=6\nSYSLOG_IDENTIFIER=weir-audit\n\
    MESSAGE_ID=ac3a7ff42291dd421552aafdc4408ecf\nMESSAGE=";

/// The key `audit` of weir's configuration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AuditSettings {
    /// Who gets a copy of every line of the audit log.
    pub forward: Option<Receiver>,
}

/// A receiver of the log's lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Receiver {
    /// systemd's journal.
    Journald,
}

/// The rest of weir's configuration is not the gate's: a mistake in it does not matter here.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Settings {
    audit: AuditSettings,
}

/// The way to the receiver.
pub(super) struct Forward {
    /// Or why there is none.
    socket: Result<UnixDatagram, String>,
    missed: Mutex<Option<Missed>>,
}

/// Lines that were not forwarded.
pub(super) struct Missed {
    pub count: u64,
    /// Why the last one was not.
    pub why: String,
}

impl Forward {
    /// Connects to the receiver that weir's configuration names, if it names one.
    ///
    /// A configuration that cannot be read may have named one, so every line then counts as missed.
    pub(super) fn open(paths: &Paths) -> Option<Self> {
        let settings: Result<Settings, _> = configuration::read_part(paths);
        let socket = match settings.map(|settings| settings.audit.forward) {
            Ok(None) => return None,
            Ok(Some(Receiver::Journald)) => connect(paths),
            Err(why) => Err(why),
        };
        Some(Self {
            socket,
            missed: Mutex::new(None),
        })
    }

    /// Sends whole lines.
    pub(super) fn send(&self, lines: &[u8]) {
        for line in lines.split(|byte| *byte == b'\n') {
            if line.is_empty() {
                continue;
            }
            if let Err(why) = self.send_line(line) {
                self.miss(why);
            }
        }
    }

    /// The lines that were not sent since the last call, if there are any.
    pub(super) fn take_missed(&self) -> Option<Missed> {
        let mut missed = self.missed.lock().unwrap_or_else(PoisonError::into_inner);
        missed.take()
    }

    fn send_line(&self, line: &[u8]) -> Result<(), String> {
        let socket = self.socket.as_ref().map_err(String::clone)?;
        let sent = socket.send(&[FIELDS, line, b"\n"].concat());
        sent.map(drop).map_err(|error| match error.kind() {
            ErrorKind::WouldBlock => "the journal does not take more at present".to_owned(),
            _ => format!("the journal: {error}"),
        })
    }

    fn miss(&self, why: String) {
        let mut missed = self.missed.lock().unwrap_or_else(PoisonError::into_inner);
        let count = missed.as_ref().map_or(0, |missed| missed.count) + 1;
        *missed = Some(Missed { count, why });
    }
}

impl Missed {
    /// Tells the caller of weir on standard error.
    pub(super) fn say(&self) {
        let Self { count, why } = self;
        let lines = if *count == 1 { "line" } else { "lines" };
        let _ = writeln!(
            io::stderr(),
            "weir: {count} {lines} of the audit log not forwarded: {why}; the log itself has them"
        );
    }
}

/// Connects to the journal's socket, which only root and weir's user can have put there.
fn connect(paths: &Paths) -> Result<UnixDatagram, String> {
    let path = paths.journal();
    let failed =
        |why: &dyn std::fmt::Display| format!("the journal's socket `{}`: {why}", path.display());
    let place = file_trust::find_socket(&path, paths.root()).map_err(|e| failed(&e))?;
    let connected = UnixDatagram::unbound().and_then(|socket| {
        socket.set_nonblocking(true)?;
        socket.connect(place)?;
        Ok(socket)
    });
    connected.map_err(|e| failed(&e))
}
