//! Failed requests: why, whether a later one may succeed, and what to do.

use std::error::Error as StdError;
use std::fmt;
use std::io;
use std::time::Duration;

use kube::core::Status;
use kube::core::response::StatusDetails;
use weir_cni::{Code, Error};

use super::super::codes;
use super::ask::Ask;
use super::credentials::Source;

#[derive(Debug)]
pub(super) enum Failure {
    /// There are no credentials, or they cannot be used.
    Credentials(String),
    /// There was no connection, or it ended too early.
    Connection {
        error: String,
        is_passing: bool,
    },
    Timeout(Duration),
    Refused {
        answer: Box<Status>,
        retry_after: Option<Duration>,
    },
}

/// The answer of a proxy is a page, whose beginning is enough.
const LONGEST_MESSAGE: usize = 300;

fn shorten(text: &str) -> String {
    text.trim().chars().take(LONGEST_MESSAGE).collect()
}

impl Failure {
    /// The answer's status, its `Retry-After` in seconds, and its body.
    pub(super) fn refused(status: u16, retry_after: Option<u64>, body: &[u8]) -> Self {
        let answer: Status = serde_json::from_slice(body).unwrap_or_else(|_| Status {
            message: shorten(&String::from_utf8_lossy(body)),
            ..Status::default()
        });
        let in_body = answer
            .details
            .as_ref()
            .map(|d| d.retry_after_seconds.into());
        let retry_after = retry_after.or(in_body.filter(|seconds| *seconds > 0));
        Self::Refused {
            answer: answer.with_code(status).boxed(),
            retry_after: retry_after.map(Duration::from_secs),
        }
    }

    /// The API server's answer, if it has this status.
    fn answer(&self, status: u16) -> Option<&Status> {
        match self {
            Self::Refused { answer, .. } if answer.code == status => Some(answer),
            _ => None,
        }
    }

    /// An error of the HTTP client, with its causes.
    pub(super) fn of_connection(error: &(dyn StdError + 'static)) -> Self {
        let causes = causes(error);
        let mut texts: Vec<String> = causes.iter().map(ToString::to_string).collect();
        // An outer error often repeats the inner one's text.
        texts.dedup_by(|inner, outer| outer.contains(&*inner));
        let is_passing = !causes.iter().any(|cause| is_lasting(*cause));
        Self::Connection {
            error: texts.join(": "),
            is_passing,
        }
    }

    /// 401: the credentials are not valid.
    pub(super) fn is_unknown_user(&self) -> bool {
        self.answer(401).is_some()
    }

    /// 403: the user may not do it.
    pub(super) fn is_forbidden(&self) -> bool {
        self.answer(403).is_some()
    }

    /// 404 for the object. For a kind that does not exist the answer names no object.
    pub(super) fn is_without_object(&self) -> bool {
        let details = self.answer(404).and_then(|answer| answer.details.as_ref());
        details.is_some_and(|details| !details.name.is_empty())
    }

    /// The object no longer exists, or another one has its name.
    pub(super) fn is_gone(&self) -> bool {
        self.is_without_object() || self.is_another_object()
    }

    /// The patch was for an object with another uid. API servers answer 422, since a uid cannot change, or 409
    /// where they take it for a precondition.
    pub(super) fn is_another_object(&self) -> bool {
        let invalid = self.answer(422).and_then(|answer| answer.details.as_ref());
        let is_uid = |details: &StatusDetails| {
            let mut causes = details.causes.iter();
            causes.any(|cause| cause.field == "metadata.uid")
        };
        // Not any `uid`: the message of a write conflict has the pod's name.
        let conflict = self.answer(409);
        invalid.is_some_and(is_uid)
            || conflict.is_some_and(|answer| answer.message.contains("UID in precondition"))
    }

    /// 409: the name is taken.
    pub(super) fn is_existing(&self) -> bool {
        self.answer(409).is_some_and(Status::is_already_exists)
    }

    /// 409: the object was written by another client.
    pub(super) fn is_conflict(&self) -> bool {
        self.answer(409).is_some() && !self.is_existing() && !self.is_another_object()
    }

    /// Whether a later request may succeed.
    pub(super) fn is_passing(&self) -> bool {
        match self {
            Self::Credentials(_) => false,
            Self::Connection { is_passing, .. } => *is_passing,
            Self::Timeout(_) => true,
            Self::Refused { answer, .. } => answer.code == 429 || answer.code >= 500,
        }
    }

    pub(super) fn is_answer(&self) -> bool {
        matches!(self, Self::Refused { .. })
    }

    pub(super) fn is_timeout(&self) -> bool {
        matches!(self, Self::Timeout(_))
    }

    /// How long the API server asks to wait.
    pub(super) fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Refused { retry_after, .. } => *retry_after,
            _ => None,
        }
    }

    /// What to do about it.
    fn advice(&self, ask: &Ask, source: &Source) -> String {
        let Self::Refused { answer, .. } = self else {
            return match self {
                Self::Credentials(_) => String::new(),
                _ => format!("the API server is the one of {source}"),
            };
        };
        match answer.code {
            401 => format!("renew the credentials in {source}: they are no longer valid"),
            403 => format!(
                "allow it for the user of {source} by a rule: {}",
                ask.rule()
            ),
            404 => format!("install the CustomResourceDefinition {}", ask.definition()),
            _ => String::new(),
        }
    }
}

/// An error and its causes, without layers of the client that say nothing.
fn causes<'a>(error: &'a (dyn StdError + 'static)) -> Vec<&'a (dyn StdError + 'static)> {
    let mut causes = vec![error];
    while let Some(cause) = causes.last().copied().and_then(cause) {
        causes.push(cause);
    }
    let says_nothing = |error: &&(dyn StdError + 'static)| {
        let text = error.to_string();
        text.starts_with("ServiceError: ") || text.starts_with("client error (")
    };
    let layers = causes
        .iter()
        .take_while(|error| says_nothing(error))
        .count();
    causes.split_off(layers.min(causes.len() - 1))
}

/// The source of an I/O error is that of the error inside it.
fn cause<'a>(error: &'a (dyn StdError + 'static)) -> Option<&'a (dyn StdError + 'static)> {
    let wrapped = error.downcast_ref().and_then(io::Error::get_ref);
    match wrapped {
        Some(wrapped) => Some(wrapped),
        None => error.source(),
    }
}

/// A wrong certificate or protocol stays wrong; other errors of a connection may pass.
fn is_lasting(error: &(dyn StdError + 'static)) -> bool {
    error.is::<rustls::Error>() || error.is::<http::Error>()
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Credentials(error) | Self::Connection { error, .. } => f.write_str(error),
            Self::Timeout(limit) => write!(f, "no answer within {}", seconds(*limit)),
            Self::Refused { answer, .. } => {
                write!(f, "the API server answers {}", answer.code)?;
                match &*answer.message {
                    "" => Ok(()),
                    message => write!(f, ": {message}"),
                }
            }
        }
    }
}

/// The failure of a call, after all attempts.
#[derive(Debug)]
pub(super) struct GivenUp {
    pub failure: Failure,
    /// The error of the last attempt, if `failure` is that of an earlier one.
    pub last_try: Option<String>,
    pub tries: u32,
    pub took: Duration,
}

impl GivenUp {
    /// The CNI error: code 11 (section 5, "Error") if a later request may succeed.
    pub(super) fn explain(&self, ask: &Ask, source: &Source) -> Error {
        let code = if self.failure.is_passing() || self.failure.is_conflict() {
            Code::TRY_AGAIN_LATER
        } else {
            Code(codes::CLUSTER)
        };
        let mut msg = format!("{ask}: {}", self.failure);
        if self.tries > 1 {
            let took = seconds(self.took);
            let last = self.last_try.as_ref();
            let last = last.map_or_else(String::new, |last| format!(", the last time: {last}"));
            msg = format!("{msg} (tried {} times in {took}{last})", self.tries);
        }
        Error::new(code, msg).with_details(self.failure.advice(ask, source))
    }
}

fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}

#[cfg(test)]
mod tests;
