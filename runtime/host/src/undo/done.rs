//! What an invocation has done and the host can undo, in order.

use weir_grant::link::Delete;
use weir_grant::store::{Change, Location, Revert};

use super::step::Undo;

/// What an invocation has done. The last is undone first.
#[derive(Default)]
pub struct Done {
    steps: Vec<Undo>,
    /// Steps that were ever noted: those that are taken out count as well.
    noted: u64,
    /// What the steps take in memory, in bytes.
    size: usize,
}

impl Done {
    /// Notes the inverse of what was done just now.
    pub fn push(&mut self, step: Undo) {
        self.noted += 1;
        self.size += step.size();
        self.steps.push(step);
    }

    /// Notes what a transaction of a store has changed. Transactions of one store, one after another, are one step.
    pub(crate) fn push_changes(&mut self, location: &Location, changes: Vec<Change>) {
        let changes = match self.steps.last_mut() {
            Some(Undo::Store(revert)) if revert.location == *location => {
                let before = revert.size();
                let taken = revert.take_in(changes);
                self.size = self.size + revert.size() - before;
                match taken {
                    Ok(()) => return,
                    Err(changes) => changes,
                }
            }
            _ => changes,
        };
        self.push(Undo::Store(Revert {
            location: location.clone(),
            changes,
        }));
    }

    /// How many changes an invocation has made, as its limit counts them.
    pub fn noted(&self) -> u64 {
        self.noted
    }

    /// What the steps take in memory, in bytes.
    pub fn size(&self) -> usize {
        self.size
    }

    /// What was done last.
    pub fn pop(&mut self) -> Option<Undo> {
        self.steps.pop()
    }

    /// The steps, the oldest first.
    pub fn iter_mut(&mut self) -> std::slice::IterMut<'_, Undo> {
        self.steps.iter_mut()
    }

    /// Takes the links out that were made, where nothing done since may have given them another index, and that are
    /// removed whatever else they have: all but bridges, which others may use.
    pub(crate) fn take_links(&mut self) -> Vec<Delete> {
        let is_move = |step: &Undo| matches!(step, Undo::Move { .. });
        let after = self.steps.iter().rposition(is_move).map_or(0, |at| at + 1);
        let taken = self.steps.extract_if(
            after..,
            |step| matches!(step, Undo::Link(delete) if delete.link.kind != "bridge"),
        );
        taken
            .filter_map(|step| match step {
                Undo::Link(delete) => Some(delete),
                _ => None,
            })
            .collect()
    }
}

impl Extend<Undo> for Done {
    fn extend<I: IntoIterator<Item = Undo>>(&mut self, steps: I) {
        steps.into_iter().for_each(|step| self.push(step));
    }
}
