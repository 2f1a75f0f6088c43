//! What a transaction has changed since it was opened or last committed.

use std::collections::BTreeMap;

use weir_grant::store::{CHANGE_SIZE, Change};

/// One entry for each key that was touched: its value before the first change and after the last.
#[derive(Default)]
pub(super) struct Journal {
    changes: BTreeMap<String, Values>,
    size: usize,
}

struct Values {
    before: Option<Vec<u8>>,
    after: Option<Vec<u8>>,
}

impl Journal {
    /// Notes a change that was made.
    pub(super) fn note(&mut self, key: &str, before: Option<Vec<u8>>, after: Option<Vec<u8>>) {
        let length = |value: &Option<Vec<u8>>| value.as_ref().map_or(0, Vec::len);
        match self.changes.get_mut(key) {
            Some(values) => {
                self.size = self.size + length(&after) - length(&values.after);
                values.after = after;
            }
            None => {
                self.size += CHANGE_SIZE + key.len() + length(&before) + length(&after);
                self.changes
                    .insert(key.to_owned(), Values { before, after });
            }
        }
    }

    /// What the changes take in memory, in bytes.
    pub(super) fn size(&self) -> usize {
        self.size
    }

    /// Whether a key that existed at the start is gone.
    pub(super) fn has_removed(&self) -> bool {
        self.changes
            .values()
            .any(|v| v.before.is_some() && v.after.is_none())
    }

    /// The changes as plain data, without keys that are as they were. The journal is empty then.
    pub(super) fn take(&mut self) -> Vec<Change> {
        self.size = 0;
        std::mem::take(&mut self.changes)
            .into_iter()
            .filter(|(_, values)| values.before != values.after)
            .map(|(key, Values { before, after })| Change { key, before, after })
            .collect()
    }
}
