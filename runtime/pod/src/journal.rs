//! The delegating plugin's messages, in weir's log and on standard error.

use std::cell::RefCell;

use serde_json::json;
use weir_cni::Command;
use weir_files::Paths;
use weir_host::Log;
use weir_network::Attachment;

use super::configuration::{Level, Logging};

pub(crate) struct Journal {
    log: RefCell<Log>,
    logging: Logging,
}

impl Journal {
    /// A log whose lines name the command and the attachment.
    pub(crate) fn new(
        paths: &Paths,
        logging: &Logging,
        command: Command,
        network: &str,
        attachment: &Attachment,
    ) -> Self {
        let subject = json!({
            "command": command.as_str(),
            "container_id": attachment.container_id,
            "ifname": attachment.ifname,
            "network": network,
            "plugin": "weir",
        });
        Self {
            log: RefCell::new(Log::new(paths.log(), subject, 0)),
            logging: logging.clone(),
        }
    }

    /// Writes a line, if its level is logged.
    pub(crate) fn write(&self, level: Level, message: &str) {
        if level > self.logging.level {
            return;
        }
        self.log.borrow_mut().note(level.word(), message);
        if self.logging.to_stderr {
            let shown = weir_grant::text::printable(message);
            eprintln!("weir: {}: {shown}", level.word());
        }
    }
}
