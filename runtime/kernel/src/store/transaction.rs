//! The end of a transaction, and its inverse.

use weir_grant::store::{Change, Location, Revert};

use super::Store;
use crate::error::Result;
use crate::perform::{Changes, Inverse, Transaction, Undo};

impl Transaction for Store {
    fn commit(&mut self, changes: &mut Changes<'_>) -> Result<()> {
        let done = self.take_changes()?;
        if !done.is_empty() {
            RevertStore::note(&self.location, done, changes);
        }
        Ok(())
    }

    fn uncommitted(&self) -> usize {
        self.open.as_ref().map_or(0, |open| open.journal.size())
    }
}

/// Reverts what transactions of one store have changed, except keys that others have changed since.
pub struct RevertStore(pub(super) Revert);

impl RevertStore {
    /// Notes what a transaction has changed. Consecutive transactions of one store are reverted in one step.
    pub fn note(location: &Location, done: Vec<Change>, changes: &mut Changes<'_>) {
        let mut left = Some(done);
        let is_taken_in = changes.log.amend_last(|noted: &mut Self| {
            let is_of_it = noted.0.location == *location;
            if let Some(done) = left.take_if(|_| is_of_it) {
                left = noted.0.take_in(done).err();
            }
            left.is_none()
        });
        if let (false, Some(changes_left)) = (is_taken_in, left) {
            changes.undo_with(Self(Revert {
                location: location.clone(),
                changes: changes_left,
            }));
        }
    }
}

impl Inverse for RevertStore {
    fn undo(self: Box<Self>, undo: &mut Undo<'_>) -> Result<()> {
        undo.perform(self.0)
    }

    fn size(&self) -> usize {
        self.0.size()
    }
}
