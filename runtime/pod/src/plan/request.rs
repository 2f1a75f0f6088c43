//! The networks that a pod requests by its annotations.

use weir_cni::Error;

use super::super::cluster::{Event, Pod};
use super::super::configuration::Configuration;
use super::super::selection::{self, Consequence, DEFAULT_NETWORK, Element, NETWORKS};
use super::restrict;

/// The networks besides the default ones. A selection that the standard says to ignore is reported in an event.
///
/// Errors: an invalid selection that the standard does not say to ignore; a network that the pod may not select.
pub(super) fn selected(
    pod: &Pod,
    configuration: &Configuration,
    events: &mut Vec<Event>,
) -> Result<Vec<Element>, Error> {
    let Some(text) = annotation(pod, NETWORKS) else {
        return Ok(Vec::new());
    };
    let selection = match selection::networks(text, &pod.namespace) {
        Ok(selection) => selection,
        Err(refused) if refused.consequence == Consequence::SelectionIgnored => {
            let message = format!("only the default networks are attached: {}", refused.error);
            events.push(Event::warning("NetworkSelectionIgnored", message));
            return Ok(Vec::new());
        }
        Err(refused) => return Err(refused.error),
    };
    let notes = selection.notes.into_iter();
    events.extend(notes.map(|note| Event::warning("NetworkSelectionKeyIgnored", note)));
    for element in &selection.elements {
        restrict::check(pod, &element.reference, configuration)?;
    }
    Ok(selection.elements)
}

/// The network in place of the cluster-wide default one.
pub(super) fn default_network(
    pod: &Pod,
    configuration: &Configuration,
) -> Result<Option<Element>, Error> {
    let Some(text) = annotation(pod, DEFAULT_NETWORK) else {
        return Ok(None);
    };
    let element = selection::default_network(text, &configuration.namespace)
        .map_err(|refused| refused.error)?;
    if element.reference.namespace != configuration.namespace {
        restrict::check(pod, &element.reference, configuration)?;
    }
    Ok(Some(element))
}

/// An empty annotation counts as missing.
fn annotation<'a>(pod: &'a Pod, key: &str) -> Option<&'a str> {
    let text = pod.annotations.get(key)?;
    Some(text.as_str()).filter(|text| !text.trim().is_empty())
}
