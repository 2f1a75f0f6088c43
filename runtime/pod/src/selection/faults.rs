//! The mistakes in a selection, and what follows from them.

use weir_cni::Error;

use crate::codes;

/// The most faults in an error: a program that writes selections makes the same mistake in every element.
const MOST_LISTED: usize = 16;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// Code [`codes::SELECTION`]: the first fault in the message, the others in the details.
    pub error: Error,
    pub consequence: Consequence,
}

/// What an invalid selection means for its pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Consequence {
    /// The pod is attached without it: "the Network Attachment Selection Annotation shall be invalid and ignored" (sections
    /// 4.1.2.1.3, 4.1.2.1.4 and 4.1.2.1.5, for an invalid `ips`, `mac` or `interface`).
    SelectionIgnored,
    /// The pod is not attached, since the standard does not say that the annotation is ignored.
    PodFails,
}

/// The faults of one annotation, in the order of its text.
pub(super) struct Faults {
    annotation: &'static str,
    faults: Vec<String>,
    consequence: Consequence,
}

impl Faults {
    pub(super) fn of(annotation: &'static str) -> Self {
        Self {
            annotation,
            faults: Vec::new(),
            consequence: Consequence::PodFails,
        }
    }

    /// Adds a fault. If one has the selection ignored, the others cannot fail the pod.
    pub(super) fn add(&mut self, consequence: Consequence, fault: impl Into<String>) {
        self.faults.push(fault.into());
        if consequence == Consequence::SelectionIgnored {
            self.consequence = consequence;
        }
    }

    /// Adds a fault that fails the pod.
    pub(super) fn fatal(&mut self, fault: impl Into<String>) {
        self.add(Consequence::PodFails, fault);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.faults.is_empty()
    }

    /// All faults as one error.
    pub(super) fn refusal(self) -> Refused {
        let others = self.faults.len().saturating_sub(MOST_LISTED);
        let mut listed = self.faults.into_iter().take(MOST_LISTED);
        let first = listed.next().unwrap_or_default();
        let more = (others > 0).then(|| format!("and {others} more"));
        let msg = format!("annotation {}: {first}", self.annotation);
        Refused {
            error: Error::new(codes::SELECTION, msg).and_details(listed.chain(more)),
            consequence: self.consequence,
        }
    }
}
