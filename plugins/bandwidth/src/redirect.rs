//! The redirection of what the container sends to its ifb: the kernel can shape only what leaves a link.

use weir_sdk::check::wrong;
use weir_sdk::link::Link;
use weir_sdk::traffic::{self, Action, Discipline, Filter, INGRESS, INGRESS_PLACE, Qdisc};
use weir_sdk::{Context, Error, LinkReference, Namespace, OperationError, Outcome};

use crate::root;

/// The filter's priority, as the reference plugin's.
const PRIORITY: u16 = 1;

/// The index that the kernel reports for the target of a redirection when the target is gone.
const GONE: u32 = 0;

/// Redirects what arrives at the host's end to the ifb.
pub fn add(host: &Link, ifb: &Link) -> Result<(), Error> {
    let added = || {
        traffic::add_qdisc(Namespace::Host, host, Qdisc::ingress())?;
        let everything = Filter {
            priority: PRIORITY,
            ..Filter::redirect(INGRESS, ifb)
        };
        traffic::add_filter(Namespace::Host, host, everything)
    };
    let (from, to) = (&host.name, &ifb.name);
    added().context(format!("cannot redirect traffic from `{from}` to `{to}`"))
}

/// Fails unless what arrives at the host's end is redirected to the ifb.
pub fn check(host: &Link, ifb: &Link) -> Result<(), Error> {
    let (from, to) = (&host.name, &ifb.name);
    let filters = traffic::list_filters(Namespace::Host, host, INGRESS)
        .context(format!("cannot read the filters of `{from}`"))?;
    let of_all = |filter: &&Filter| filter.source.is_none() && filter.destination.is_none();
    let mut everything = filters.iter().filter(of_all);
    if everything.any(|filter| leads_to(filter, ifb.index)) {
        Ok(())
    } else {
        Err(wrong(format!(
            "`{from}`: its incoming traffic is not redirected to `{to}`"
        )))
    }
}

/// Removes what [`add`] or the reference plugin made for one of these ifbs. Another one stays.
pub fn remove(host: &Link, ifbs: &[Link]) -> Result<(), Error> {
    let removed = || {
        let is_ingress = |qdisc: Qdisc| matches!(qdisc.discipline, Discipline::Ingress);
        if root::find(host, INGRESS_PLACE)?.is_some_and(is_ingress) && is_ours(host, ifbs)? {
            traffic::delete_qdisc(Namespace::Host, host, INGRESS_PLACE).found()?;
        }
        Ok::<_, OperationError>(())
    };
    removed().context(format!("cannot end the redirection from `{}`", host.name))
}

/// Whether all filters lead to one of the ifbs, or to one that is gone. Without a filter, an existing ifb means that
/// ADD was about to make one.
fn is_ours(host: &Link, ifbs: &[Link]) -> Result<bool, OperationError> {
    let filters = traffic::list_filters(Namespace::Host, host, INGRESS).found()?;
    let filters = filters.unwrap_or_default();
    let is_own = |filter: &Filter| {
        leads_to(filter, GONE) || ifbs.iter().any(|ifb| leads_to(filter, ifb.index))
    };
    Ok(if filters.is_empty() {
        !ifbs.is_empty()
    } else {
        filters.iter().all(is_own)
    })
}

fn leads_to(filter: &Filter, index: u32) -> bool {
    matches!(filter.action, Action::Redirect(LinkReference::Index(target)) if target == index)
}

#[cfg(test)]
mod tests {
    use weir_sdk::traffic::handle;

    use super::*;

    #[test]
    fn a_redirection_leads_to_one_link() {
        let redirection = Filter::redirect(INGRESS, 7);
        assert!(leads_to(&redirection, 7) && !leads_to(&redirection, GONE));
        assert!(leads_to(&Filter::redirect(INGRESS, GONE), GONE));
        assert!(!leads_to(&Filter::classify(handle(1, 7)), 7));
    }
}
