//! What gives a parameter its value back.

use weir_grant::sysctl::Write;

use crate::error::{Code, Result};
use crate::perform::{Changes, DynKernel, Inverse, Undo};

/// The kernel takes any white space between several numbers, and prints tabs.
pub(super) fn is_same(one: &str, other: &str) -> bool {
    one.split_whitespace().eq(other.split_whitespace())
}

/// Gives a parameter its value back.
pub struct RestoreValue {
    back: Write,
    /// What the invocation wrote, where another may have written something else since.
    changed: Option<String>,
}

impl RestoreValue {
    /// Notes what gives a parameter its value back, where it had another one that could be read.
    pub fn note(
        write: &Write,
        before: Option<&str>,
        changed: Option<String>,
        changes: &mut Changes<'_>,
    ) {
        let before = before.filter(|before| !is_same(before, &write.value));
        if let Some(before) = before {
            let back = Write {
                value: before.to_owned(),
                ..write.clone()
            };
            changes.undo_with(Self { back, changed });
        }
    }

    /// Updates an inverse noted earlier with the value that the invocation has written now. False if there is none.
    pub fn note_again(write: &Write, changes: &mut Changes<'_>) -> bool {
        changes.log.amend(|noted: &mut Self| {
            let is_it = noted.changed.is_some() && noted.back.key == write.key;
            if is_it {
                noted.changed = Some(write.value.clone());
            }
            is_it
        })
    }
}

impl Inverse for RestoreValue {
    fn undo(self: Box<Self>, undo: &mut Undo<'_>) -> Result<()> {
        let Some(changed) = self.changed else {
            return undo.perform(self.back);
        };
        let kernel = &mut *undo.kernel;
        match (undo.gate).undo(self.back, |permit| kernel.set_back(permit, &changed)) {
            Err(error) if error.code == Code::Busy => Ok(()),
            set => set,
        }
    }

    fn keep(&self, kernel: &mut DynKernel) -> Result<()> {
        match self.changed {
            Some(_) => kernel.keep_parameter(&self.back),
            None => Ok(()),
        }
    }

    fn size(&self) -> usize {
        let changed = self.changed.as_ref().map_or(0, String::len);
        self.back.key.len() + self.back.value.len() + changed
    }
}
