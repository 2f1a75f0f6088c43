//! The devices that kubelet gave a pod, and their descriptions.
//!
//! A NetworkAttachmentDefinition whose annotation `k8s.v1.cni.cncf.io/resourceName` names a resource needs one of the pod's
//! devices of that resource for each attachment.

mod checkpoint;
pub(crate) mod info;

use std::collections::BTreeMap;

use weir_cni::Error;
use weir_files::Paths;

use super::codes;

/// The annotation of a NetworkAttachmentDefinition that names the resource.
pub(crate) const RESOURCE_NAME: &str = "k8s.v1.cni.cncf.io/resourceName";

/// The devices of one pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Devices {
    pod_uid: String,
    of_resource: BTreeMap<String, OfResource>,
}

/// The devices of one resource.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct OfResource {
    /// In the checkpoint's order, each once.
    ids: Vec<String>,
    taken: usize,
}

impl Devices {
    /// Takes the next device of a resource. Errors: `codes::DEVICE` if none is left.
    pub(crate) fn take(&mut self, resource: &str) -> Result<String, Error> {
        let Some(own) = self.of_resource.get_mut(resource) else {
            return Err(self.none_of(resource));
        };
        let Some(id) = own.ids.get(own.taken) else {
            return Err(none_left(&self.pod_uid, resource, own.ids.len()));
        };
        own.taken += 1;
        Ok(id.clone())
    }

    fn none_of(&self, resource: &str) -> Error {
        let others: Vec<&str> = self.of_resource.keys().map(String::as_str).collect();
        let has = if others.is_empty() {
            "it has no devices".to_owned()
        } else {
            format!("it has devices of {}", others.join(", "))
        };
        let pod = &self.pod_uid;
        let what = format!("kubelet gave the pod {pod} no device of resource `{resource}`: {has}");
        Error::new(codes::DEVICE, what).with_details(format!(
            "the network's annotation {RESOURCE_NAME} names it: let a container of the pod request it \
              (resources.limits: `{resource}: 1`), or correct the annotation"
        ))
    }
}

fn none_left(pod: &str, resource: &str, had: usize) -> Error {
    let what = format!(
        "no device of resource `{resource}` is left for the pod {pod}: kubelet gave it {had}, and more of \
         its networks need one"
    );
    Error::new(codes::DEVICE, what).with_details(format!(
        "let the pod's containers request as many as it has networks of that resource \
         (resources.limits: `{resource}: {}` or more)",
        had + 1
    ))
}

/// The devices that kubelet gave a pod, whose order may change when kubelet restarts. `pod_uid` is kubelet's, `K8S_POD_UID`
/// in `CNI_ARGS`: for a static pod the API server has another one.
///
/// Errors: `codes::DEVICE` if kubelet's checkpoint does not exist or cannot be read.
pub(crate) fn of_pod(paths: &Paths, pod_uid: &str) -> Result<Devices, Error> {
    let file = paths.kubelet_devices();
    let given = checkpoint::read(&file, paths.root(), pod_uid).map_err(|why| {
        let shown = file.display();
        let what = format!("kubelet's checkpoint of devices, `{shown}`, {why}");
        Error::new(codes::DEVICE, what).with_details(
            "a network's annotation names a resource, so weir must know the pod's devices; kubelet keeps the \
             file below its --root-dir once a device plugin is registered",
        )
    })?;
    let mut of_resource: BTreeMap<String, OfResource> = BTreeMap::new();
    for (resource, id) in given {
        let own = of_resource.entry(resource).or_default();
        // Containers share the devices of init containers.
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
