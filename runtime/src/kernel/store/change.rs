//! What a transaction has changed since it was opened or last committed.

use std::collections::BTreeMap;

use crate::grant::store::Change;

/// One entry for each key that was touched: its value before the first change and after the last.
#[derive(Default)]
pub(super) struct Journal {
    changes: BTreeMap<String, Values>,
}

struct Values {
    before: Option<Vec<u8>>,
    after: Option<Vec<u8>>,
}

impl Journal {
    /// Notes a change that was made.
    pub fn note(&mut self, key: &str, before: Option<Vec<u8>>, after: Option<Vec<u8>>) {
        match self.changes.get_mut(key) {
            Some(values) => values.after = after,
            None => {
                self.changes
                    .insert(key.to_owned(), Values { before, after });
            }
        }
    }

    /// Whether a key that existed at the start is gone.
    pub fn has_removed(&self) -> bool {
        self.changes
            .values()
            .any(|v| v.before.is_some() && v.after.is_none())
    }

    /// The changes as plain data, without keys that are as they were. The journal is empty then.
    pub fn take(&mut self) -> Vec<Change> {
        std::mem::take(&mut self.changes)
            .into_iter()
            .filter(|(_, values)| values.before != values.after)
            .map(|(key, Values { before, after })| Change { key, before, after })
            .collect()
    }
}
