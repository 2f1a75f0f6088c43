//! Faults that a test orders: the next requests of a kind are answered otherwise.

use std::time::Duration;

use serde::Deserialize;

use crate::route::Route;
use crate::status::Status;

/// Which requests are answered otherwise, how many of them, and how.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    /// `GET`; none for all.
    verb: Option<String>,
    /// `pods` or `pods/status`; none for all.
    resource: Option<String>,
    /// None for ever.
    times: Option<u32>,
    /// Whether the request is carried out before its answer is lost.
    #[serde(default)]
    after: bool,
    answer: Answer,
}

/// What comes in place of the answer.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Answer {
    /// A status.
    Refuse {
        status: u16,
        #[serde(rename = "retryAfter")]
        retry_after: Option<u64>,
    },
    /// Something that no API server says.
    Say { status: u16, body: String },
    /// Nothing, for ever.
    Hang,
    /// The connection's end.
    Cut,
    /// The connection's end in the middle of the answer.
    CutInside,
    /// The right answer, after so many milliseconds.
    Delay(u64),
}

impl Answer {
    /// The status that it is, where it is one.
    pub fn status(&self) -> Option<Status> {
        match self {
            Self::Refuse {
                status,
                retry_after,
            } => Some(Status::fault(*status, retry_after.map(Duration::from_secs))),
            _ => None,
        }
    }
}

/// What is ordered for a request.
#[derive(Clone, Debug)]
pub struct Ordered {
    pub after: bool,
    pub answer: Answer,
}

/// The faults that are still to come.
#[derive(Default)]
pub struct Faults(Vec<Fault>);

impl Faults {
    /// In place of all earlier ones.
    pub fn set(&mut self, faults: Vec<Fault>) {
        self.0 = faults;
    }

    /// Takes the first one that a request meets.
    pub fn take(&mut self, verb: &str, route: &Route) -> Option<Ordered> {
        let resource = route.resource_name();
        let meets = |fault: &Fault| {
            let is_verb = fault.verb.as_ref().is_none_or(|it| it == verb);
            let is_resource = fault.resource.as_ref().is_none_or(|it| *it == resource);
            is_verb && is_resource && fault.times != Some(0)
        };
        let fault = self.0.iter_mut().find(|fault| meets(fault))?;
        fault.times = fault.times.map(|times| times - 1);
        Some(Ordered {
            after: fault.after,
            answer: fault.answer.clone(),
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{from_value, json};

    use super::*;

    #[test]
    fn a_fault_meets_what_it_names_as_often_as_it_says() {
        let mut faults = Faults::default();
        let ordered = json!([
            { "verb": "PATCH", "resource": "pods/status", "times": 2, "answer": "cut" },
            { "verb": "GET", "answer": { "refuse": { "status": 429, "retryAfter": 1 } } },
        ]);
        faults.set(from_value(ordered).expect("faults"));
        let status = Route::of("/api/v1/namespaces/a/pods/b/status").expect("a route");
        let pod = Route::of("/api/v1/namespaces/a/pods/b").expect("a route");
        assert!(faults.take("PATCH", &pod).is_none());
        assert!(faults.take("PATCH", &status).is_some());
        assert!(faults.take("PATCH", &status).is_some());
        assert!(faults.take("PATCH", &status).is_none());
        for _ in 0..3 {
            let refused = faults.take("GET", &pod).and_then(|it| it.answer.status());
            assert_eq!(refused.expect("a status").code, 429);
        }
    }
}
