//! What an operation on queueing disciplines does, in words, and how far it reaches.

use super::{
    Action, AddClass, AddFilter, AddQdisc, DeleteClass, DeleteFilter, DeleteQdisc, Discipline,
    Handle, ListClasses, ListFilters, ListQdiscs,
};
use crate::act::{Act, Severity};
use crate::invocation::Invocation;
use crate::operation::reads;

reads!(ListQdiscs, ListClasses, ListFilters);

impl Act for AddQdisc {
    fn act(&self) -> String {
        let link = &self.link;
        match &self.qdisc.discipline {
            Discipline::Tbf(bucket) => {
                let rate = bucket.rate;
                format!("limit what leaves {link} to {rate} bytes a second (`tbf`)")
            }
            Discipline::Htb { .. } => format!("share what leaves {link} among classes (`htb`)"),
            Discipline::Ingress => format!("add `ingress`, for filters of what enters, to {link}"),
            Discipline::Clsact => {
                format!("add `clsact`, for filters of what enters and leaves, to {link}")
            }
            Discipline::Other { word } => format!("add the discipline `{word}` to {link}"),
        }
    }

    fn severity(&self, invocation: &Invocation) -> Severity {
        Severity::of_changing(&self.link, invocation)
    }
}

impl Act for DeleteQdisc {
    fn act(&self) -> String {
        let link = &self.link;
        match &self.present {
            Some(present) => {
                let discipline = &present.discipline;
                format!("remove `{discipline}`, with its classes and filters, from {link}")
            }
            None => format!(
                "remove the discipline at {} from {link}, which has none",
                self.parent
            ),
        }
    }

    fn severity(&self, invocation: &Invocation) -> Severity {
        Severity::of_changing(&self.link, invocation)
    }
}

impl Act for AddClass {
    fn act(&self) -> String {
        let (class, link) = (&self.class, &self.link);
        let (handle, rate, ceil) = (class.handle, class.rate, class.ceil);
        format!("add class {handle} of {rate} to {ceil} bytes a second (`htb`) to {link}")
    }

    fn severity(&self, invocation: &Invocation) -> Severity {
        Severity::of_changing(&self.link, invocation)
    }
}

impl Act for DeleteClass {
    fn act(&self) -> String {
        format!("remove class {} (`htb`) from {}", self.handle, self.link)
    }

    fn severity(&self, invocation: &Invocation) -> Severity {
        Severity::of_changing(&self.link, invocation)
    }
}

/// The discipline of filters of what enters a link: `ffff:`.
const INGRESS_FILTERS: Handle = Handle(0xffff_0000);
/// Its parent for what leaves the link, of `clsact`: `ffff:fff3`.
const EGRESS_FILTERS: Handle = Handle(0xffff_fff3);

/// Which side of a link a filter looks at.
fn side(parent: Handle) -> &'static str {
    if parent.discipline() == INGRESS_FILTERS && parent != EGRESS_FILTERS {
        "enters"
    } else {
        "leaves"
    }
}

impl Act for AddFilter {
    fn act(&self) -> String {
        let (link, filter) = (&self.link, &self.filter);
        let source = filter.source.map(|source| format!(" from {source}"));
        let destination = filter.destination.map(|to| format!(" to {to}"));
        let selected: String = source.into_iter().chain(destination).collect();
        let every = if selected.is_empty() {
            "all that"
        } else {
            "what"
        };
        let side = side(filter.parent);
        let packets = format!("{every} {side} {link}{selected}");
        match &filter.action {
            Action::Redirect(target) => format!("redirect {packets} out of {target} (`mirred`)"),
            Action::Classify(class) => format!("put {packets} into class {class} (`htb`)"),
        }
    }

    fn severity(&self, invocation: &Invocation) -> Severity {
        let from = Severity::of_changing(&self.link, invocation);
        match &self.filter.action {
            Action::Redirect(target) => from.max(Severity::of_changing(target, invocation)),
            Action::Classify(_) => from,
        }
    }
}

impl Act for DeleteFilter {
    fn act(&self) -> String {
        let Self { link, action, .. } = self;
        match action {
            Action::Redirect(target) => {
                format!("stop redirecting from {link} to {target} (`mirred`)")
            }
            Action::Classify(class) => format!("remove a filter for class {class} from {link}"),
        }
    }

    fn severity(&self, invocation: &Invocation) -> Severity {
        Severity::of_changing(&self.link, invocation)
    }
}
