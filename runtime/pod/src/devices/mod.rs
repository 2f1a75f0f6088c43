//! The devices of a pod: which ones kubelet has given it, and what is said about those.
//!
//! A NetworkAttachmentDefinition whose annotation `k8s.v1.cni.cncf.io/resourceName` names a resource needs
//! one of the pod's devices of that resource for each attachment.

mod checkpoint;
pub(crate) mod info;

use std::collections::BTreeMap;

use weir_cni::Error;
use weir_files::Paths;

use super::codes;

/// The annotation of a NetworkAttachmentDefinition that names the resource.
pub(crate) const RESOURCE_NAME: &str = "k8s.v1.cni.cncf.io/resourceName";

/// The devices of one pod that no attachment has taken yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Devices {
    pod_uid: String,
    of_resource: BTreeMap<String, OfResource>,
}

/// Those of one resource.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct OfResource {
    /// In the checkpoint's order, each once.
    ids: Vec<String>,
    taken: usize,
}

impl Devices {
    /// The next device of a resource.
    ///
    /// Errors: `codes::DEVICE` when none is left.
    pub(crate) fn take(&mut self, resource: &str) -> Result<String, Error> {
        let Some(own) = self.of_resource.get_mut(resource) else {
            return Err(self.none_of(resource));
        };
        let Some(id) = own.ids.get(own.taken) else {
            let had = own.ids.len();
            return Err(none_left(&self.pod_uid, resource, had));
        };
        own.taken += 1;
        Ok(id.clone())
    }

    fn none_of(&self, resource: &str) -> Error {
        let others: Vec<&str> = self.of_resource.keys().map(String::as_str).collect();
        let has = if others.is_empty() {
            "it has no devices at all".to_owned()
        } else {
            format!("it has devices of {}", others.join(", "))
        };
        let pod = &self.pod_uid;
        let what = format!("kubelet gave the pod {pod} no device of resource `{resource}`: {has}");
        Error::new(codes::DEVICE, what).with_details(format!(
            "the annotation {RESOURCE_NAME} of the network names it: let a container of the pod request \
             it (resources.limits: `{resource}: 1`), or correct the annotation"
        ))
    }
}

fn none_left(pod: &str, resource: &str, had: usize) -> Error {
    let what = format!(
        "no device of resource `{resource}` is left for the pod {pod}: kubelet gave it {had}, and more \
         of its networks need one"
    );
    Error::new(codes::DEVICE, what).with_details(format!(
        "let the pod's containers request as many as it has networks of that resource \
         (resources.limits: `{resource}: {}` or more)",
        had + 1
    ))
}

/// The devices that kubelet gave a pod. `pod_uid` is kubelet's, `K8S_POD_UID` in `CNI_ARGS`: of a static
/// pod the API server has another one.
///
/// Once kubelet restarts, their order may be another; who needs it later remembers it.
///
/// Errors: `codes::DEVICE` when kubelet's checkpoint is not there or cannot be understood.
pub(crate) fn of_pod(paths: &Paths, pod_uid: &str) -> Result<Devices, Error> {
    let file = paths.kubelet_devices();
    let given = checkpoint::read(&file, paths.root(), pod_uid).map_err(|why| {
        let shown = file.display();
        let what = format!("kubelet's checkpoint of devices, `{shown}`, {why}");
        Error::new(codes::DEVICE, what).with_details(
            "a network's annotation names a resource, so that the pod's devices must be known; kubelet \
             keeps that file below its --root-dir as soon as a device plugin is registered",
        )
    })?;
    let mut of_resource: BTreeMap<String, OfResource> = BTreeMap::new();
    for (resource, id) in given {
        let own = of_resource.entry(resource).or_default();
        // An init container's devices are the other containers', too.
        if !own.ids.contains(&id) {
            own.ids.push(id);
        }
    }
    Ok(Devices {
        pod_uid: pod_uid.to_owned(),
        of_resource,
    })
}

#[cfg(test)]
mod tests;
