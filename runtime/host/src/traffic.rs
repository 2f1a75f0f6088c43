//! Capability `traffic`: from the contract to the gate and the kernel.

use weir_grant::traffic::{self, Handle};
use weir_kernel::Result;

use super::bindings::weir::cni::traffic::{self as contract, Host as Contract};
use super::bindings::weir::cni::types::{LinkReference, Namespace};
use super::convert::{each, network, same_fields};
use super::view::View;

impl Contract for View<'_, traffic::TrafficRule> {
    fn add_qdisc(
        &mut self,
        namespace: Namespace,
        link: LinkReference,
        qdisc: contract::Qdisc,
    ) -> Result<()> {
        let operation = traffic::AddQdisc {
            link: self.identify(namespace, &link)?,
            qdisc: qdisc.into(),
        };
        self.perform(operation)
    }

    fn delete_qdisc(
        &mut self,
        namespace: Namespace,
        link: LinkReference,
        parent: contract::Handle,
    ) -> Result<()> {
        let link = self.identify(namespace, &link)?;
        let parent = Handle(parent);
        let present = if link.is_absent() {
            None
        } else {
            self.kernel().present_qdisc(&link, parent)?
        };
        let operation = traffic::DeleteQdisc {
            link,
            parent,
            present,
        };
        self.perform(operation)
    }

    fn list_qdiscs(
        &mut self,
        namespace: Namespace,
        link: LinkReference,
    ) -> Result<Vec<contract::Qdisc>> {
        let operation = traffic::ListQdiscs {
            link: self.identify(namespace, &link)?,
        };
        self.perform(operation).map(each)
    }

    fn add_class(
        &mut self,
        namespace: Namespace,
        link: LinkReference,
        class: contract::Class,
    ) -> Result<()> {
        let operation = traffic::AddClass {
            link: self.identify(namespace, &link)?,
            class: class.into(),
        };
        self.perform(operation)
    }

    fn list_classes(
        &mut self,
        namespace: Namespace,
        link: LinkReference,
    ) -> Result<Vec<contract::Class>> {
        let operation = traffic::ListClasses {
            link: self.identify(namespace, &link)?,
        };
        self.perform(operation).map(each)
    }

    fn add_filter(
        &mut self,
        namespace: Namespace,
        link: LinkReference,
        filter: contract::Filter,
    ) -> Result<()> {
        let operation = traffic::AddFilter {
            link: self.identify(namespace, &link)?,
            filter: self.wanted(namespace, filter)?,
        };
        self.perform(operation)
    }

    fn list_filters(
        &mut self,
        namespace: Namespace,
        link: LinkReference,
        parent: contract::Handle,
    ) -> Result<Vec<contract::Filter>> {
        let operation = traffic::ListFilters {
            link: self.identify(namespace, &link)?,
            parent: Handle(parent),
        };
        self.perform(operation).map(each)
    }
}

impl View<'_, traffic::TrafficRule> {
    /// The target of a redirect is a link of the same namespace.
    fn wanted(
        &mut self,
        namespace: Namespace,
        filter: contract::Filter,
    ) -> Result<traffic::Filter> {
        let action = match filter.action {
            contract::Action::Redirect(target) => {
                traffic::Action::Redirect(self.identify(namespace, &target)?)
            }
            contract::Action::Classify(class) => traffic::Action::Classify(Handle(class)),
        };
        Ok(traffic::Filter {
            parent: Handle(filter.parent),
            priority: filter.priority,
            source: filter.source.map(network).transpose()?,
            destination: filter.destination.map(network).transpose()?,
            action,
        })
    }
}

same_fields! {
    contract::Qdisc => traffic::Qdisc { handle parent discipline }
    traffic::Qdisc => contract::Qdisc { handle parent discipline }
    contract::TokenBucket => traffic::TokenBucket { rate burst latency }
    traffic::TokenBucket => contract::TokenBucket { rate burst latency }
    contract::Class => traffic::Class { handle parent rate ceil burst cburst }
    traffic::Class => contract::Class { handle parent rate ceil burst cburst }
    traffic::Filter<u32> => contract::Filter { parent priority action; map source destination }
}

impl From<contract::Discipline> for traffic::Discipline {
    fn from(discipline: contract::Discipline) -> Self {
        match discipline {
            contract::Discipline::Tbf(bucket) => Self::Tbf(bucket.into()),
            contract::Discipline::Htb(default) => Self::Htb { default },
            contract::Discipline::Ingress => Self::Ingress,
            contract::Discipline::Clsact => Self::Clsact,
            contract::Discipline::Other(word) => Self::Other { word },
        }
    }
}

impl From<traffic::Discipline> for contract::Discipline {
    fn from(discipline: traffic::Discipline) -> Self {
        match discipline {
            traffic::Discipline::Tbf(bucket) => Self::Tbf(bucket.into()),
            traffic::Discipline::Htb { default } => Self::Htb(default),
            traffic::Discipline::Ingress => Self::Ingress,
            traffic::Discipline::Clsact => Self::Clsact,
            traffic::Discipline::Other { word } => Self::Other(word),
        }
    }
}

impl From<traffic::Action<u32>> for contract::Action {
    fn from(action: traffic::Action<u32>) -> Self {
        match action {
            traffic::Action::Redirect(index) => Self::Redirect(LinkReference::Index(index)),
            traffic::Action::Classify(class) => Self::Classify(class.into()),
        }
    }
}
