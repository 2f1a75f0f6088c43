//! The audit log's events: refused plugins, installed and removed plugins, and changed grants.

use std::fs;

use weir_cni::Error;
use weir_gate::{Event, Subject, User};
use weir_grant::document::Digest;

use super::request::Request;
use super::sandbox::Sandbox;
use super::seen::Seen;

impl Sandbox {
    /// Records that a plugin was refused. `digest` is the component's, if it is known. Returns the error, with a note in its
    /// details if it could not be recorded.
    pub(super) fn refused(
        &self,
        plugin: &str,
        digest: Option<&Digest>,
        request: &Request,
        error: Error,
    ) -> Error {
        let digest = digest.map(Digest::to_string).unwrap_or_default();
        let event = Event::Refused { code: error.code.0 };
        let mut audit = self.audit(request.subject(plugin, digest));
        match audit.tell(&event, &error.msg) {
            Ok(()) => error,
            Err(why) => error.and_details([not_recorded(&why)]),
        }
    }

    /// Records what a person did with a plugin, and the outcome.
    ///
    /// Errors: code 5 if it cannot be recorded.
    pub fn record(
        &self,
        plugin: &str,
        digest: Option<&Digest>,
        event: &Event<'_>,
        outcome: Result<(), &Error>,
    ) -> Result<(), Error> {
        let digest = digest.map(Digest::to_string).unwrap_or_default();
        let mut audit = self.audit(Subject::without_command(plugin, digest));
        let answer = outcome.map_or_else(|error| error.msg.as_str(), |()| "ok");
        let recorded = audit.tell(event, answer);
        recorded.map_err(|why| Error::io_failure(not_recorded(&why)))
    }

    /// Records which of the administrator's documents changed since the last invocation. A change that cannot be remembered
    /// is recorded again next time.
    pub(super) fn record_changed_grants(&self, now: &Seen) {
        if *now == Seen::load(self.paths()) || self.audit_log().failure().is_some() {
            return;
        }
        let _lock = Seen::lock(self.paths());
        // Another invocation may have recorded it.
        let before = Seen::load(self.paths());
        let changes = now.since(&before);
        let are_recorded = changes.iter().all(|(document, before, after)| {
            let one = after.or(*before);
            let plugin = one.map_or("", |one| one.plugin.as_str());
            let event = Event::Grant {
                document,
                before: before.map(|one| &one.digest),
                after: after.map(|one| &one.digest),
                modified: after.and_then(|_| modified(document)),
                found_by: User::of_process(),
            };
            let mut audit = self.audit(Subject::without_command(plugin, String::new()));
            audit.tell(&event, "ok").is_ok()
        });
        if are_recorded {
            now.keep(self.paths());
        }
    }
}

/// When a file was last written, to the second; none if that can no longer be determined.
fn modified(file: &str) -> Option<String> {
    let time = fs::metadata(file).ok()?.modified().ok()?;
    Some(humantime::format_rfc3339_seconds(time).to_string())
}

fn not_recorded(why: &str) -> String {
    format!("this is not recorded in the audit log: {why}")
}
