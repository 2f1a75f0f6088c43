//! NetworkAttachmentDefinitions of the cluster, each read once for a plan.

use std::collections::HashMap;

use weir_cni::Error;
use weir_network::ConfigPath;

use super::super::cluster::Definition;
use super::super::kubernetes::Kubernetes;
use super::super::reference::Reference;
use super::super::selection::Element;
use super::super::{codes, definition, devices};
use super::Wanted;

pub(super) struct Definitions<'a> {
    cluster: Option<&'a Kubernetes>,
    known: HashMap<Reference, Option<Definition>>,
}

impl<'a> Definitions<'a> {
    pub(super) fn new(cluster: Option<&'a Kubernetes>) -> Self {
        Self {
            cluster,
            known: HashMap::new(),
        }
    }

    /// The network of a definition; none without the definition, or without a cluster.
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
            resource: definition.annotations.get(devices::RESOURCE_NAME).cloned(),
            element: None,
        }))
    }

    /// The network that one element of a selection names. Errors: `codes::NO_NETWORK` if it does not exist.
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
        format!("network `{reference}`: no such NetworkAttachmentDefinition in namespace `{namespace}`: `{name}`"),
    )
    .with_details(format!(
        "kubectl get network-attachment-definitions --namespace {namespace} lists those that exist; a network of \
         another namespace is `namespace/name`"
    ))
}
