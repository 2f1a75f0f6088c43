//! Attaching several things one after another, and detaching them, last first, if one fails.

use std::fmt::Display;

use weir_cni::Error;

use super::failures::with_left;

#[derive(Debug)]
pub struct AddFailed {
    /// With the failures of undoing it in its details.
    pub error: Error,
    /// How many of its plugins, from the first on, the runtime's DEL must delete once more: up to one that
    /// is or runs a native plugin that failed, or those before a component of which one could not be deleted.
    pub owed: usize,
}

impl AddFailed {
    pub(super) fn with_prefix(self, prefix: impl Display) -> Self {
        let error = self.error.with_prefix(prefix);
        Self { error, ..self }
    }
}

impl From<AddFailed> for Error {
    fn from(failed: AddFailed) -> Self {
        failed.error
    }
}

impl From<Error> for AddFailed {
    /// One that left nothing. weir has undone what a component did.
    fn from(error: Error) -> Self {
        Self { error, owed: 0 }
    }
}

/// Several attachments of which one failed. Those before it are detached.
#[derive(Debug)]
pub struct RolledBack {
    /// The error of the one that failed, with the failures of undoing it in its details.
    pub error: Error,
    /// The index of the one that failed.
    pub at: usize,
    /// What is left for the next DEL, in order.
    pub left: Vec<Left>,
}

/// What is left of one of several attachments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Left {
    /// Its index among all.
    pub index: usize,
    /// How many of its plugins, from the first on, must be deleted once more; none for all.
    pub plugins: Option<usize>,
}

/// Attaches each in order. If one fails, those before it are detached, last first, and none after it is tried. Both
/// closures get the results of those before.
pub fn attach<T, R>(
    all: &[T],
    mut attach: impl FnMut(&T, &[R]) -> Result<R, AddFailed>,
    mut detach: impl FnMut(&T, &[R]) -> Result<(), Error>,
) -> Result<Vec<R>, RolledBack> {
    let mut made = Vec::with_capacity(all.len());
    for (index, one) in all.iter().enumerate() {
        match attach(one, &made) {
            Ok(result) => made.push(result),
            Err(failed) => {
                return Err(roll_back(&all[..index], failed, |one| detach(one, &made)));
            }
        }
    }
    Ok(made)
}

/// Detaches each, last first, and continues after failures. Returns them with the indexes of what could not be detached.
pub fn detach<T>(
    all: &[T],
    mut detach: impl FnMut(&T) -> Result<(), Error>,
) -> Vec<(usize, Error)> {
    let last_first = all.iter().enumerate().rev();
    last_first
        .filter_map(|(index, one)| Some((index, detach(one).err()?)))
        .collect()
}

/// Detaches what was made before something failed.
pub fn roll_back<T>(
    made: &[T],
    failed: AddFailed,
    detach: impl FnMut(&T) -> Result<(), Error>,
) -> RolledBack {
    let (stuck, errors): (Vec<usize>, Vec<Error>) = self::detach(made, detach).into_iter().unzip();
    let left = |index, plugins| Left { index, plugins };
    let mut all: Vec<Left> = stuck
        .into_iter()
        .rev()
        .map(|index| left(index, None))
        .collect();
    if failed.owed > 0 {
        all.push(left(made.len(), Some(failed.owed)));
    }
    RolledBack {
        error: with_left(failed.error, &errors),
        at: made.len(),
        left: all,
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    /// Attaches `a`, `b` and `c`, of which these fail, and tells what was called.
    fn run(failing: &str, owed: usize, stuck: &[&str]) -> (Vec<String>, Option<RolledBack>) {
        let calls = RefCell::new(Vec::new());
        let note = |call: String| calls.borrow_mut().push(call);
        let add = |one: &&str, made: &[usize]| {
            note(format!("add {one} after {}", made.len()));
            if *one == failing {
                let error = Error::internal(format!("{one} fails"));
                return Err(AddFailed { error, owed });
            }
            Ok(made.len())
        };
        let del = |one: &&str, made: &[usize]| {
            note(format!("del {one} of {}", made.len()));
            if stuck.contains(one) {
                return Err(Error::internal(format!("{one} is stuck")));
            }
            Ok(())
        };
        let rolled_back = attach(&["a", "b", "c"], add, del).err();
        (calls.into_inner(), rolled_back)
    }

    #[test]
    fn all_are_attached_in_order() {
        let (calls, failed) = run("none", 0, &[]);
        assert_eq!(calls, ["add a after 0", "add b after 1", "add c after 2"]);
        assert!(failed.is_none());
    }

    #[test]
    fn those_before_the_one_that_fails_are_detached_the_last_first() {
        let (calls, failed) = run("c", 0, &[]);
        assert_eq!(calls[3..], ["del b of 2", "del a of 2"]);
        let failed = failed.expect("c fails");
        assert_eq!((failed.at, failed.left), (2, Vec::new()));
        assert_eq!(failed.error.msg, "c fails");
    }

    #[test]
    fn what_cannot_be_detached_is_left_and_reported() {
        let (calls, failed) = run("c", 3, &["a", "b"]);
        assert_eq!(calls[3..], ["del b of 2", "del a of 2"]);
        let failed = failed.expect("c fails");
        let left = |index, plugins| Left { index, plugins };
        assert_eq!(
            failed.left,
            [left(0, None), left(1, None), left(2, Some(3))]
        );
        for stuck in ["b is stuck", "a is stuck"] {
            assert!(failed.error.details.contains(stuck), "{}", failed.error);
        }
    }
}
