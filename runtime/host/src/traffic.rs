//! Capability `traffic`: from the contract to the gate and the kernel.

use weir_grant::traffic::{self, Handle};
use weir_kernel::{Broker, Error};

use super::bindings::weir::cni::traffic::{self as contract, Host as Contract};
use super::bindings::weir::cni::types::{LinkReference, Namespace};
use super::convert::network;
use super::facts::identify;

impl Contract for Broker {
    fn add_qdisc(
        &mut self,
        namespace: Namespace,
        link: LinkReference,
        qdisc: contract::Qdisc,
    ) -> Result<(), Error> {
        let operation = traffic::AddQdisc {
            link: identify(self, namespace, &link)?,
            qdisc: qdisc.into(),
        };
        self.perform(operation)
    }

    fn delete_qdisc(
        &mut self,
        namespace: Namespace,
        link: LinkReference,
        parent: contract::Handle,
    ) -> Result<(), Error> {
        let link = identify(self, namespace, &link)?;
        let parent = Handle(parent);
        let standing = if link.is_absent() {
            None
        } else {
            self.kernel().standing_discipline(&link, parent)?
        };
        let operation = traffic::DeleteQdisc {
            link,
            parent,
            standing,
        };
        self.perform(operation)
    }

    fn list_qdiscs(
        &mut self,
        namespace: Namespace,
        link: LinkReference,
    ) -> Result<Vec<contract::Qdisc>, Error> {
        let operation = traffic::ListQdiscs {
            link: identify(self, namespace, &link)?,
        };
        let qdiscs = self.perform(operation)?;
        Ok(qdiscs.into_iter().map(Into::into).collect())
    }

    fn add_class(
        &mut self,
        namespace: Namespace,
        link: LinkReference,
        class: contract::Class,
    ) -> Result<(), Error> {
        let operation = traffic::AddClass {
            link: identify(self, namespace, &link)?,
            class: class.into(),
        };
        self.perform(operation)
    }

    fn list_classes(
        &mut self,
        namespace: Namespace,
        link: LinkReference,
    ) -> Result<Vec<contract::Class>, Error> {
        let operation = traffic::ListClasses {
            link: identify(self, namespace, &link)?,
        };
        let classes = self.perform(operation)?;
        Ok(classes.into_iter().map(Into::into).collect())
    }

    fn add_filter(
        &mut self,
        namespace: Namespace,
        link: LinkReference,
        filter: contract::Filter,
    ) -> Result<(), Error> {
        let operation = traffic::AddFilter {
            link: identify(self, namespace, &link)?,
            filter: wanted(self, namespace, filter)?,
        };
        self.perform(operation)
    }

    fn list_filters(
        &mut self,
        namespace: Namespace,
        link: LinkReference,
        parent: contract::Handle,
    ) -> Result<Vec<contract::Filter>, Error> {
        let operation = traffic::ListFilters {
            link: identify(self, namespace, &link)?,
            parent: Handle(parent),
        };
        let filters = self.perform(operation)?;
        Ok(filters.into_iter().map(Into::into).collect())
    }
}

/// The target of a redirect is a link of the same namespace.
fn wanted(
    broker: &mut Broker,
    namespace: Namespace,
    filter: contract::Filter,
) -> Result<traffic::Filter, Error> {
    let action = match filter.action {
        contract::Action::Redirect(target) => {
            traffic::Action::Redirect(identify(broker, namespace, &target)?)
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

impl From<contract::Qdisc> for traffic::Qdisc {
    fn from(qdisc: contract::Qdisc) -> Self {
        Self {
            handle: Handle(qdisc.handle),
            parent: Handle(qdisc.parent),
            discipline: qdisc.discipline.into(),
        }
    }
}

impl From<traffic::Qdisc> for contract::Qdisc {
    fn from(qdisc: traffic::Qdisc) -> Self {
        Self {
            handle: qdisc.handle.0,
            parent: qdisc.parent.0,
            discipline: qdisc.discipline.into(),
        }
    }
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

impl From<contract::TokenBucket> for traffic::TokenBucket {
    fn from(bucket: contract::TokenBucket) -> Self {
        Self {
            rate: bucket.rate,
            burst: bucket.burst,
            latency: bucket.latency,
        }
    }
}

impl From<traffic::TokenBucket> for contract::TokenBucket {
    fn from(bucket: traffic::TokenBucket) -> Self {
        Self {
            rate: bucket.rate,
            burst: bucket.burst,
            latency: bucket.latency,
        }
    }
}

impl From<contract::Class> for traffic::Class {
    fn from(class: contract::Class) -> Self {
        Self {
            handle: Handle(class.handle),
            parent: Handle(class.parent),
            rate: class.rate,
            ceil: class.ceil,
            burst: class.burst,
            cburst: class.cburst,
        }
    }
}

impl From<traffic::Class> for contract::Class {
    fn from(class: traffic::Class) -> Self {
        Self {
            handle: class.handle.0,
            parent: class.parent.0,
            rate: class.rate,
            ceil: class.ceil,
            burst: class.burst,
            cburst: class.cburst,
        }
    }
}

impl From<traffic::Filter<u32>> for contract::Filter {
    fn from(filter: traffic::Filter<u32>) -> Self {
        Self {
            parent: filter.parent.0,
            priority: filter.priority,
            source: filter.source.map(Into::into),
            destination: filter.destination.map(Into::into),
            action: match filter.action {
                traffic::Action::Redirect(index) => {
                    contract::Action::Redirect(LinkReference::Index(index))
                }
                traffic::Action::Classify(class) => contract::Action::Classify(class.0),
            },
        }
    }
}
