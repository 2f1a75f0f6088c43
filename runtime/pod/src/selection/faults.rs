//! What is wrong with a selection: all of it at once, and what follows from it.

use weir_cni::Error;

use crate::codes;

/// So many faults are told; a selection that some program wrote wrongly has the same one everywhere.
const MOST_TOLD: usize = 16;

/// A selection that is not carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// Code [`codes::SELECTION`]: the first fault in the message, the others in the details.
    pub error: Error,
    pub consequence: Consequence,
}

/// What a faulty selection means for its pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Consequence {
    /// The pod is attached as if the annotation were not there: "the Network Attachment Selection
    /// Annotation shall be invalid and ignored" (sections 4.1.2.1.3, 4.1.2.1.4 and 4.1.2.1.5, for an
    /// invalid `ips`, `mac` or `interface`).
    SelectionIgnored,
    /// The pod is not attached at all, since the standard does not say that the annotation is ignored.
    PodFails,
}

/// The faults of one annotation, in the order of its text.
pub(super) struct Faults {
    annotation: &'static str,
    told: Vec<String>,
    ignored: bool,
}

impl Faults {
    /// None yet.
    pub(super) fn of(annotation: &'static str) -> Self {
        Self {
            annotation,
            told: Vec::new(),
            ignored: false,
        }
    }

    /// Notes a fault. Where one has the selection ignored, no other can fail the pod: there is nothing
    /// left that could.
    pub(super) fn add(&mut self, consequence: Consequence, fault: impl Into<String>) {
        self.told.push(fault.into());
        self.ignored |= consequence == Consequence::SelectionIgnored;
    }

    /// Notes a fault that fails the pod.
    pub(super) fn fatal(&mut self, fault: impl Into<String>) {
        self.add(Consequence::PodFails, fault);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.told.is_empty()
    }

    /// All faults as one error.
    pub(super) fn refusal(self) -> Refused {
        let untold = self.told.len().saturating_sub(MOST_TOLD);
        let mut told = self.told.into_iter().take(MOST_TOLD);
        let first = told.next().unwrap_or_default();
        let mut others: Vec<String> = told.collect();
        if untold > 0 {
            others.push(format!("and {untold} more"));
        }
        let msg = format!("annotation {}: {first}", self.annotation);
        Refused {
            error: Error::new(codes::SELECTION, msg).with_details(others.join("; ")),
            consequence: if self.ignored {
                Consequence::SelectionIgnored
            } else {
                Consequence::PodFails
            },
        }
    }
}
