//! How long weir waits for the API server, and when it repeats a request.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::thread;
use std::time::{Duration, Instant};

use super::ask::Ask;
use super::failure::{Failure, GivenUp};

/// The time limits of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// For one request, with connecting and the answer.
    pub request: Duration,
    /// For a whole call, with repetitions and pauses.
    pub call: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            request: Duration::from_secs(10),
            call: Duration::from_secs(30),
        }
    }
}

/// How often a request is repeated, and after which pauses.
#[derive(Clone, Copy, Debug)]
struct BackOff {
    /// The next pause; each is `factor` times as long as the one before, up to `longest`.
    pause: Duration,
    factor: u32,
    longest: Duration,
    /// How many attempts are left.
    left: u32,
}

/// After a failure of the server or the connection: until the deadline.
const AFTER_FAILURE: BackOff = BackOff {
    pause: Duration::from_millis(100),
    factor: 2,
    longest: Duration::from_secs(4),
    left: u32::MAX,
};

/// After a write conflict: the other write is done by then. A conflict that stays has another cause.
const AFTER_CONFLICT: BackOff = BackOff {
    pause: Duration::from_millis(10),
    factor: 3,
    longest: Duration::from_secs(1),
    left: 5,
};

impl BackOff {
    /// The pause before the next attempt, if one is left. Half of it is random, so that the pods of a starting node do not
    /// send requests in step.
    fn next(&mut self) -> Option<Duration> {
        self.left = self.left.checked_sub(1)?;
        let pause = self.pause;
        self.pause = (pause * self.factor).min(self.longest);
        Some(pause / 2 + pause.mul_f64(chance() / 2.0))
    }
}

/// The attempts of one call.
pub(super) struct Repetitions {
    limits: Limits,
    begun: Instant,
    deadline: Instant,
    tries: u32,
    failures: BackOff,
    conflicts: BackOff,
    /// The last failure that the server answered with.
    answered: Option<Failure>,
}

impl Repetitions {
    pub(super) fn new(limits: Limits, deadline: Instant) -> Self {
        Self {
            limits,
            begun: Instant::now(),
            deadline,
            tries: 0,
            failures: AFTER_FAILURE,
            conflicts: AFTER_CONFLICT,
            answered: None,
        }
    }

    /// How long the next request may take.
    pub(super) fn time_for_one(&mut self) -> Duration {
        self.tries += 1;
        let left = self.deadline.saturating_duration_since(Instant::now());
        self.limits.request.min(left)
    }

    /// Waits before the next attempt. Errors: `failure`, or the server's last answer, if no attempt is left or useful.
    pub(super) fn pause_after(&mut self, ask: &Ask, failure: Failure) -> Result<(), GivenUp> {
        match self.pause(ask, &failure) {
            Some(pause) => thread::sleep(pause),
            None => return Err(self.give_up(failure)),
        }
        if failure.is_answer() {
            self.answered = Some(failure);
        }
        Ok(())
    }

    /// Waits before an object is read and written again after a conflict. Errors: as [`Repetitions::pause_after`].
    pub(super) fn pause_after_conflict(&mut self, conflict: Failure) -> Result<(), GivenUp> {
        let pause = self.conflicts.next();
        match pause.filter(|pause| Instant::now() + *pause < self.deadline) {
            Some(pause) => thread::sleep(pause),
            None => return Err(self.give_up(conflict)),
        }
        Ok(())
    }

    fn pause(&mut self, ask: &Ask, failure: &Failure) -> Option<Duration> {
        let pause = if failure.is_conflict() {
            ask.survives_conflicts().then(|| self.conflicts.next())??
        } else if failure.is_passing() {
            failure.retry_after().or_else(|| self.failures.next())?
        } else {
            return None;
        };
        (Instant::now() + pause < self.deadline).then_some(pause)
    }

    /// An earlier answer says more than an attempt that timed out.
    fn give_up(&mut self, last: Failure) -> GivenUp {
        let answered = self.answered.take().filter(|_| last.is_timeout());
        GivenUp {
            last_try: answered.is_some().then(|| last.to_string()),
            failure: answered.unwrap_or(last),
            tries: self.tries,
            took: self.begun.elapsed(),
        }
    }
}

/// Between 0 and 1. The random keys of a hash map are good enough for a pause.
fn chance() -> f64 {
    let random = RandomState::new().build_hasher().finish();
    f64::from(u32::try_from(random >> 32).unwrap_or_default()) / f64::from(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::super::super::reference::Reference;
    use super::super::ask::PODS;
    use super::*;

    fn ask() -> Ask {
        Ask::get(
            &PODS,
            &Reference::new("default", "web").expect("a reference"),
        )
    }

    fn refused(status: u16, retry_after: Option<u64>) -> Failure {
        Failure::refused(status, retry_after, b"{}")
    }

    fn within(call: Duration) -> Repetitions {
        let limits = Limits {
            request: Duration::from_secs(1),
            call,
        };
        Repetitions::new(limits, Instant::now() + call)
    }

    fn patch() -> Ask {
        let reference = Reference::new("default", "web").expect("a reference");
        Ask::patch_status(&PODS, &reference, &serde_json::json!({}))
    }

    #[test]
    fn pauses_grow_up_to_the_longest() {
        let mut repetitions = within(Duration::from_secs(3600));
        let mut expected = AFTER_FAILURE.pause;
        for _ in 0..10 {
            let pause = repetitions.pause(&ask(), &refused(503, None));
            let pause = pause.expect("there is time");
            assert!(pause >= expected / 2 && pause <= expected, "{pause:?}");
            expected = (expected * 2).min(AFTER_FAILURE.longest);
        }
    }

    #[test]
    fn the_server_says_how_long_unless_that_is_too_long() {
        let mut repetitions = within(Duration::from_secs(10));
        let wait = repetitions.pause(&ask(), &refused(429, Some(7)));
        assert_eq!(wait, Some(Duration::from_secs(7)));
        assert_eq!(repetitions.pause(&ask(), &refused(429, Some(60))), None);
    }

    #[test]
    fn a_request_has_no_more_time_than_its_call() {
        assert_eq!(
            within(Duration::from_secs(10)).time_for_one(),
            Duration::from_secs(1)
        );
        assert!(within(Duration::from_millis(5)).time_for_one() <= Duration::from_millis(5));
    }

    #[test]
    fn only_a_patch_is_sent_again_after_a_conflict() {
        let mut repetitions = within(Duration::from_secs(10));
        assert_eq!(repetitions.pause(&ask(), &refused(409, None)), None);
        assert!(repetitions.pause(&patch(), &refused(409, None)).is_some());
    }

    #[test]
    fn a_conflict_is_met_a_few_times_with_growing_pauses() {
        let mut repetitions = within(Duration::from_secs(3600));
        let pause = || repetitions.pause(&patch(), &refused(409, None));
        let pauses: Vec<Duration> = std::iter::from_fn(pause).collect();
        assert_eq!(pauses.len(), AFTER_CONFLICT.left as usize);
        assert!(pauses.is_sorted_by(|one, next| one < next), "{pauses:?}");
    }

    #[test]
    fn an_answer_is_returned_rather_than_the_try_that_the_deadline_cut_short() {
        let mut repetitions = within(Duration::from_secs(10));
        repetitions
            .pause_after(&patch(), refused(409, None))
            .expect("there is time");
        repetitions.deadline = Instant::now();
        let given_up = repetitions.pause_after(&patch(), Failure::Timeout(Duration::ZERO));
        let given_up = given_up.expect_err("there is no time");
        assert!(given_up.failure.is_conflict(), "{given_up:?}");
        assert_eq!(given_up.last_try.as_deref(), Some("no answer within 0.0 s"));
    }

    #[test]
    fn a_timeout_is_returned_where_the_server_never_answered() {
        let mut repetitions = within(Duration::ZERO);
        let given_up = repetitions.pause_after(&ask(), Failure::Timeout(Duration::ZERO));
        let given_up = given_up.expect_err("there is no time");
        assert!(given_up.failure.is_timeout() && given_up.last_try.is_none());
    }
}
