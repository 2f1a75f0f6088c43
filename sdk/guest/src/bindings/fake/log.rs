//! Capability `log`: lines are kept for the test. Without a host they go to standard error.

use super::{LogLine, current};
use crate::bindings::weir::cni::log::Level;

pub fn write(level: Level, message: &str, fields: &[(String, String)]) {
    match current("log.write") {
        Ok(host) => {
            host.borrow_mut().lines.push(LogLine {
                level,
                message: message.to_owned(),
                fields: fields.to_vec(),
            });
        }
        Err(_) => eprintln!("{level:?}: {message} {fields:?}"),
    }
}
