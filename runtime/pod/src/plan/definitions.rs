//! NetworkAttachmentDefinitions of the cluster, each asked for once for a plan.

use std::collections::HashMap;

use weir_cni::Error;
use weir_network::ConfigPath;

use super::super::cluster::{Cluster, Definition};
use super::super::reference::Reference;
use super::super::selection::Element;
use super::super::{codes, definition};
use super::Wanted;

/// The annotation of a definition that names the resource whose devices its attachments are of.
const RESOURCE_NAME: &str = "k8s.v1.cni.cncf.io/resourceName";

/// What was asked for, and what there was.
pub(super) struct Definitions<'a> {
    cluster: Option<&'a dyn Cluster>,
    known: HashMap<Reference, Option<Definition>>,
}

impl<'a> Definitions<'a> {
    /// None is known at first.
    pub(super) fn new(cluster: Option<&'a dyn Cluster>) -> Self {
        Self {
            cluster,
            known: HashMap::new(),
        }
    }

    /// The network of a definition; none where there is no such definition, or no cluster.
    pub(super) fn find(
        &mut self,
        reference: &Reference,
        conf_dir: ConfigPath<'_>,
    ) -> Result<Option<Wanted>, Error> {
        let Some(definition) = self.get(reference)? else {
            return Ok(None);
        };
        Ok(Some(Wanted {
            list: definition::list(definition, conf_dir)?,
            definition: Some(reference.clone()),
            is_file: definition.config.is_none(),
            resource: definition.annotations.get(RESOURCE_NAME).cloned(),
            element: None,
        }))
    }

    /// The networks that a pod selects, in order.
    ///
    /// Errors: `codes::NO_NETWORK` for one that does not exist.
    pub(super) fn of_elements(
        &mut self,
        elements: Vec<Element>,
        conf_dir: ConfigPath<'_>,
    ) -> Result<Vec<Wanted>, Error> {
        elements
            .into_iter()
            .map(|element| self.of_element(element, conf_dir))
            .collect()
    }

    /// The network that one element of a selection names.
    pub(super) fn of_element(
        &mut self,
        element: Element,
        conf_dir: ConfigPath<'_>,
    ) -> Result<Wanted, Error> {
        let wanted = self.find(&element.reference, conf_dir)?;
        let wanted = wanted.ok_or_else(|| missing(&element.reference))?;
        Ok(Wanted {
            element: Some(element),
            ..wanted
        })
    }

    fn get(&mut self, reference: &Reference) -> Result<Option<&Definition>, Error> {
        let Some(cluster) = self.cluster else {
            return Ok(None);
        };
        if !self.known.contains_key(reference) {
            let found = cluster.definition(reference)?;
            self.known.insert(reference.clone(), found);
        }
        Ok(self.known.get(reference).and_then(Option::as_ref))
    }
}

fn missing(reference: &Reference) -> Error {
    let Reference { namespace, name } = reference;
    Error::new(
        codes::NO_NETWORK,
        format!("network `{reference}`: there is no NetworkAttachmentDefinition `{name}` in namespace `{namespace}`"),
    )
    .with_details(format!(
        "kubectl get network-attachment-definitions --namespace {namespace} shows those that there are; a network \
         of another namespace is named with it, `namespace/name`"
    ))
}
