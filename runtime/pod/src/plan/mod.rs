//! The plan of a pod: its attachments in order, with the configurations of their plugins. Making one changes nothing.

mod defaults;
mod definitions;
mod interfaces;
mod request;
mod restrict;

use std::path::PathBuf;

use serde_json::{Map, Value};
use weir_cni::{Error, NetworkConfigList};
use weir_files::Paths;
use weir_grant::section::Request;
use weir_network::{ConfigPath, RecordedAttachment, Source};

use super::cluster::{Event, Pod};
use super::configuration::Configuration;
use super::devices::{self, Devices, info};
use super::kubernetes::Kubernetes;
use super::reference::Reference;
use super::runtime_config::{self, runtime_config};
use super::selection::Element;
use definitions::Definitions;

/// One attachment to be made.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Planned {
    /// Its network has the pod's requests. The default one is the cluster-wide network, or the one that the pod names in its
    /// place.
    pub recorded: RecordedAttachment,
    pub element: Option<Element>,
    pub device: Option<Device>,
}

impl Planned {
    /// The pod's requests, in its annotation or through the runtime.
    pub(crate) fn requests(&self) -> Vec<Request> {
        runtime_config::requests(self.element.as_ref(), &self.recorded.capability_args)
    }
}

/// A device that kubelet gave the pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Device {
    /// Such as `intel.com/sriov`.
    pub resource: String,
    pub id: String,
}

/// All attachments of a pod, the default network's first.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Plan {
    pub attachments: Vec<Planned>,
    /// Events for the pod's owner.
    pub events: Vec<Event>,
}

/// The input of a plan.
#[derive(Clone, Copy)]
pub(crate) struct PlanContext<'a> {
    pub configuration: &'a Configuration,
    pub paths: &'a Paths,
    /// None outside Kubernetes.
    pub cluster: Option<&'a Kubernetes>,
    pub pod: Option<&'a Pod>,
    /// kubelet's uid of the pod. The API server has another one for a static pod.
    pub kubelet_uid: Option<&'a str>,
    /// `CNI_CONTAINERID`.
    pub container_id: &'a str,
    /// `CNI_IFNAME`: the interface of the default network.
    pub ifname: &'a str,
}

impl<'a> PlanContext<'a> {
    /// `confDir`, of which only files count that root alone could have written.
    fn conf_dir(&self) -> ConfigPath<'a> {
        ConfigPath::of_node(&self.configuration.conf_dir, self.paths.root())
    }
}

impl Plan {
    /// Makes the plan of a pod, or of a container outside Kubernetes.
    ///
    /// Errors: those of [`codes`](super::codes) and of the networks' configurations, naming the network and where it is
    /// selected.
    pub(crate) fn new(context: PlanContext<'_>) -> Result<Self, Error> {
        let mut events = Vec::new();
        let mut definitions = Definitions::new(context.cluster);
        let mut networks = defaults::networks(context, &mut definitions)?;
        if let Some(pod) = context.pod {
            let selected = request::selected(pod, context.configuration, &mut events)?;
            for element in selected {
                networks.push(definitions.of_element(element, context.conf_dir())?);
            }
        }
        let ifnames = interfaces::names(context.ifname, &networks)?;
        let mut devices = None;
        let mut attachments = Vec::with_capacity(networks.len());
        for (network, ifname) in networks.into_iter().zip(ifnames) {
            let is_default = attachments.is_empty();
            let device = device(context, &network, &mut devices)?;
            attachments.push(network.planned(context, ifname, is_default, device)?);
        }
        Ok(Self {
            attachments,
            events,
        })
    }
}

/// The cluster-wide default network alone, and where its configuration comes from. Errors: as of [`Plan::new`].
pub(crate) fn cluster_network(
    context: PlanContext<'_>,
) -> Result<(NetworkConfigList, Source), Error> {
    let mut definitions = Definitions::new(context.cluster);
    let network = defaults::cluster_network(context, &mut definitions)?;
    let source = Source {
        definition: network.text_of().map(ToString::to_string),
        ..Source::default()
    };
    Ok((network.list, source))
}

#[derive(Clone, Debug, PartialEq)]
struct Wanted {
    list: NetworkConfigList,
    definition: Option<Reference>,
    /// The configuration is a file of the node.
    is_file: bool,
    /// `k8s.v1.cni.cncf.io/resourceName` of the definition.
    resource: Option<String>,
    element: Option<Element>,
}

impl Wanted {
    /// A network without a NetworkAttachmentDefinition.
    fn plain(list: NetworkConfigList) -> Self {
        Self {
            list,
            definition: None,
            is_file: true,
            resource: None,
            element: None,
        }
    }

    /// The definition that has the configuration.
    fn text_of(&self) -> Option<&Reference> {
        self.definition.as_ref().filter(|_| !self.is_file)
    }

    fn name(&self) -> String {
        match &self.definition {
            Some(definition) => definition.to_string(),
            None => self.list.name.clone(),
        }
    }

    /// The default network also gets the runtime's capability arguments.
    fn planned(
        self,
        context: PlanContext<'_>,
        ifname: String,
        is_default: bool,
        device: Option<Device>,
    ) -> Result<Planned, Error> {
        let network = self.name();
        let (list, own_args) = self.requested(device.as_ref())?;
        let mut capability_args = if is_default {
            context.configuration.capability_args.clone()
        } else {
            Map::new()
        };
        capability_args.extend(own_args);
        let device_info = self.device_info(context, &ifname, device.is_some());
        if let Some(file) = &device_info {
            let file = file.to_string_lossy().into_owned();
            capability_args.insert(info::CAPABILITY.to_owned(), file.into());
        }
        Ok(Planned {
            recorded: RecordedAttachment {
                network,
                is_default,
                is_file: self.definition.is_some() && self.is_file,
                definition: self.definition.as_ref().map(ToString::to_string),
                ifname,
                config: list.to_value(),
                capability_args,
                device_info,
            },
            element: self.element,
            device,
        })
    }

    /// The list with the pod's requests, and their capability arguments.
    fn requested(
        &self,
        device: Option<&Device>,
    ) -> Result<(NetworkConfigList, Map<String, Value>), Error> {
        let id = device.map(|device| device.id.as_str());
        match (&self.element, &self.definition) {
            (Some(element), _) => runtime_config(&self.list, element, id),
            (None, Some(definition)) => {
                runtime_config(&self.list, &Element::of(definition.clone()), id)
            }
            (None, None) => Ok((self.list.clone(), Map::new())),
        }
    }

    /// The file in which the plugins describe the attachment's device, or one that they make.
    fn device_info(
        &self,
        context: PlanContext<'_>,
        ifname: &str,
        has_device: bool,
    ) -> Option<PathBuf> {
        let mut plugins = self.list.plugins.iter();
        let is_requested =
            has_device || plugins.any(|plugin| plugin.has_capability(info::CAPABILITY));
        let definition = self.definition.as_ref().filter(|_| is_requested)?;
        let file = info::file_of_attachment(definition, context.container_id, ifname);
        Some(file)
    }
}

/// The next device of a network's resource. kubelet's checkpoint is read once.
fn device(
    context: PlanContext<'_>,
    network: &Wanted,
    known: &mut Option<Devices>,
) -> Result<Option<Device>, Error> {
    let (Some(pod), Some(resource)) = (context.pod, &network.resource) else {
        return Ok(None);
    };
    let devices = match known {
        Some(devices) => devices,
        None => known.insert(devices::of_pod(
            context.paths,
            context.kubelet_uid.unwrap_or(&pod.uid),
        )?),
    };
    let id = devices
        .take(resource)
        .map_err(|e| e.with_prefix(format_args!("network `{}`", network.name())))?;
    Ok(Some(Device {
        resource: resource.clone(),
        id,
    }))
}
