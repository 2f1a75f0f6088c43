//! Lines that are not in the log yet: they are written with the next ones, whichever invocation has them.

use std::mem;
use std::sync::Arc;

/// The most bytes that wait.
const MOST: usize = 64 << 10;

/// The lines that wait, in their order.
#[derive(Default)]
pub(super) struct Waiting {
    parts: Vec<Part>,
    /// Whether there are intents among them.
    has_intents: bool,
    /// The heads of invocations whose lines another one has spooled, and why.
    spooled: Vec<(Arc<[u8]>, String)>,
}

/// Lines of one invocation.
struct Part {
    /// The invocation's head, which the log has.
    head: Arc<[u8]>,
    lines: Vec<u8>,
}

impl Waiting {
    /// Whether there is room for so many bytes of intents.
    pub(super) fn has_room(&self, bytes: usize) -> bool {
        self.bytes() + bytes <= MOST
    }

    /// Adds lines of an invocation.
    pub(super) fn add(&mut self, head: &Arc<[u8]>, lines: Vec<u8>) {
        match self.parts.last_mut() {
            Some(last) if Arc::ptr_eq(&last.head, head) => last.lines.extend_from_slice(&lines),
            _ => self.parts.push(Part {
                head: Arc::clone(head),
                lines,
            }),
        }
    }

    /// Adds intents of an invocation.
    pub(super) fn add_intents(&mut self, head: &Arc<[u8]>, lines: Vec<u8>) {
        self.has_intents = true;
        self.add(head, lines);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    pub(super) fn has_intents(&self) -> bool {
        self.has_intents
    }

    /// The size of all lines.
    pub(super) fn bytes(&self) -> usize {
        self.parts.iter().map(|part| part.lines.len()).sum()
    }

    /// Appends all lines to what is written to the log.
    pub(super) fn write(&self, into: &mut Vec<u8>) {
        for part in &self.parts {
            into.extend_from_slice(&part.lines);
        }
    }

    pub(super) fn clear(&mut self) {
        self.parts.clear();
        self.has_intents = false;
    }

    /// Why lines of an invocation are in the spool, if another one has put them there.
    pub(super) fn why_spooled(&self, head: &Arc<[u8]>) -> Option<&String> {
        let spooled = self.spooled.iter().find(|(of, _)| Arc::ptr_eq(of, head));
        spooled.map(|(_, why)| why)
    }

    /// Takes all lines for the spool, because of `why`: the heads are not in that file.
    pub(super) fn spool(&mut self, why: &str) -> Vec<u8> {
        let parts = mem::take(&mut self.parts);
        self.has_intents = false;
        // Invocations that have ended have no further lines.
        self.spooled.retain(|(head, _)| Arc::strong_count(head) > 1);
        let heads = parts.iter().map(|part| Arc::clone(&part.head));
        self.spooled
            .extend(heads.map(|head| (head, why.to_owned())));
        let lines = parts.iter().flat_map(|part| [&part.head[..], &part.lines]);
        lines.flatten().copied().collect()
    }
}
