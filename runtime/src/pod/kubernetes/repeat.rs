//! How long weir waits for the API server, and when it asks again.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::time::{Duration, Instant};

use super::ask::Ask;
use super::failure::{Failure, GivenUp};

/// The bounds of a call in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Of one request, with its connection and its answer.
    pub request: Duration,
    /// Of a whole call, with repetitions and the pauses between them.
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

/// The first pause; each further one is twice as long, up to the last.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(4);

/// Somebody else's write is over when the server answers.
const AFTER_CONFLICT: Duration = Duration::from_millis(5);

/// The tries of one call.
pub struct Repetitions {
    limits: Limits,
    begun: Instant,
    deadline: Instant,
    tries: u32,
    pause: Duration,
}

impl Repetitions {
    pub fn new(limits: Limits, deadline: Instant) -> Self {
        Self {
            limits,
            begun: Instant::now(),
            deadline,
            tries: 0,
            pause: FIRST_PAUSE,
        }
    }

    /// How long the next request may take.
    pub fn time_for_one(&mut self) -> Duration {
        self.tries += 1;
        let left = self.deadline.saturating_duration_since(Instant::now());
        self.limits.request.min(left)
    }

    /// How long to wait before the next try; none where no other try is worth it, or none is left.
    pub fn pause_after(&mut self, ask: &Ask, failure: &Failure) -> Option<Duration> {
        let pause = if failure.is_conflict() {
            ask.survives_conflicts().then_some(AFTER_CONFLICT)?
        } else if failure.is_passing() {
            failure.retry_after().unwrap_or_else(|| self.back_off())
        } else {
            return None;
        };
        (Instant::now() + pause < self.deadline).then_some(pause)
    }

    /// Half of the pause is left to chance: many pods of a node that starts do not ask in step.
    fn back_off(&mut self) -> Duration {
        let pause = self.pause;
        self.pause = (pause * 2).min(LONGEST_PAUSE);
        pause / 2 + pause.mul_f64(chance() / 2.0)
    }

    pub fn give_up(&self, failure: Failure) -> GivenUp {
        GivenUp {
            failure,
            tries: self.tries,
            took: self.begun.elapsed(),
        }
    }
}

/// Between 0 and 1. The keys of a hash map are random, and that is good enough for a pause.
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

    #[test]
    fn pauses_grow_up_to_the_longest() {
        let mut repetitions = within(Duration::from_secs(3600));
        let mut expected = FIRST_PAUSE;
        for _ in 0..10 {
            let pause = repetitions.pause_after(&ask(), &refused(503, None));
            let pause = pause.expect("there is time");
            assert!(pause >= expected / 2 && pause <= expected, "{pause:?}");
            expected = (expected * 2).min(LONGEST_PAUSE);
        }
    }

    #[test]
    fn the_server_says_how_long_unless_that_is_too_long() {
        let mut repetitions = within(Duration::from_secs(10));
        let wait = repetitions.pause_after(&ask(), &refused(429, Some(7)));
        assert_eq!(wait, Some(Duration::from_secs(7)));
        assert_eq!(
            repetitions.pause_after(&ask(), &refused(429, Some(60))),
            None
        );
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
        assert_eq!(repetitions.pause_after(&ask(), &refused(409, None)), None);
        let reference = Reference::new("default", "web").expect("a reference");
        let patch = Ask::patch_status(&PODS, &reference, &serde_json::json!({}));
        let pause = repetitions.pause_after(&patch, &refused(409, None));
        assert_eq!(pause, Some(AFTER_CONFLICT));
    }
}
