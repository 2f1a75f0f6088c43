//! What a container is attached to, on disk: written before the first plugin runs, and removed after the last one is
//! deleted. So a DEL needs neither the configurations of the ADD nor a cluster.

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};
use serde_with::skip_serializing_none;
use weir_cni::{Args, Command, Error, NetworkConfigList};
use weir_sandbox::Sandbox;

use super::attachment::Attachment;
use super::codes;
use super::in_order::Left;
use super::list::Network;
use super::source::Source;

/// The version of the document. Pods had 1; networks attached by name had none. Both are read.
const VERSION: u64 = 2;

/// The attachments of a container.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Record {
    version: u64,
    pub container_id: String,
    /// The delegating plugin's network. It and what follows, up to the attachments, are empty for networks that were
    /// attached by name.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub network: String,
    /// `CNI_IFNAME`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub ifname: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    netns: String,
    /// The namespace that was at `netns`, so that another one in its place is not mistaken for it.
    namespace: Option<NamespaceId>,
    /// `CNI_ARGS`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    args: String,
    pub pod: Option<PodName>,
    /// In the order in which they are made.
    pub attachments: Vec<RecordedAttachment>,
}

/// One attachment, as its plugins are called for it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RecordedAttachment {
    /// What people know the network by.
    pub network: String,
    #[serde(alias = "default")]
    pub is_default: bool,
    /// The NetworkAttachmentDefinition, as `namespace/name`.
    #[serde(
        default,
        deserialize_with = "definition",
        skip_serializing_if = "Option::is_none"
    )]
    pub definition: Option<String>,
    /// The definition has no text of its own, and selects a file of the node.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_file: bool,
    #[serde(alias = "interface")]
    pub ifname: String,
    /// The network configuration list.
    #[serde(alias = "configuration")]
    pub config: Value,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub capability_args: Map<String, Value>,
    /// The file in which the plugins may describe the attachment's device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_info: Option<PathBuf>,
}

/// The pod that a runtime names in `CNI_ARGS`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PodName {
    pub namespace: String,
    pub name: String,
    /// A pod of the same name with another uid is another pod.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<String>,
}

/// A network namespace, for as long as the machine runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct NamespaceId {
    boot: String,
    device: u64,
    inode: u64,
}

/// Records of version 1 have an object.
fn definition<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Form {
        Text(String),
        Object { namespace: String, name: String },
    }
    let form = Option::deserialize(deserializer)?;
    Ok(form.map(|form| match form {
        Form::Text(definition) => definition,
        Form::Object { namespace, name } => format!("{namespace}/{name}"),
    }))
}

impl PodName {
    pub fn of(args: &Args) -> Option<Self> {
        let pod = args.pod();
        Some(Self {
            namespace: pod.namespace?.to_owned(),
            name: pod.name?.to_owned(),
            uid: pod.uid.map(str::to_owned),
        })
    }
}

impl NamespaceId {
    /// Identifies an attachment's namespace, if it has one.
    fn of(attachment: &Attachment) -> Option<Self> {
        let namespace = attachment.namespace()?;
        let metadata = File::from(namespace.try_clone().ok()?).metadata().ok()?;
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
        Some(Self {
            boot: boot.trim().to_owned(),
            device: metadata.dev(),
            inode: metadata.ino(),
        })
    }
}

impl RecordedAttachment {
    /// Where the network's configuration comes from.
    pub fn source(&self) -> Source {
        Source {
            definition: self.definition.clone().filter(|_| !self.is_file),
            requested_by_pod: Vec::new(),
        }
    }

    /// Returns the network, with native plugins of these directories. Errors: those of the list, naming the network.
    pub fn network(&self, sandbox: &Arc<Sandbox>, bin_dirs: &[PathBuf]) -> Result<Network, Error> {
        let network = Network::new(sandbox, self.list()?, self.capability_args.clone());
        Ok(network
            .from_source(self.source())
            .with_native(bin_dirs.to_vec()))
    }

    /// Returns the container with the interface of this attachment.
    pub fn attachment(&self, container: &Attachment) -> Attachment {
        container.with_ifname(self.ifname.as_str())
    }

    /// Returns the network configuration list. Errors: those of the list, naming the network.
    pub fn list(&self) -> Result<NetworkConfigList, Error> {
        NetworkConfigList::from_value(self.config.clone())
            .map_err(|e| e.with_prefix(format_args!("network `{}`, as recorded", self.network)))
    }

    /// The same with only the first plugins of its list. A list that cannot be read stays as it is.
    fn of_first_plugins(self, count: usize) -> Self {
        let config = self.list().map(|list| list.first_plugins(count).to_value());
        Self {
            config: config.unwrap_or_else(|_| self.config.clone()),
            ..self
        }
    }
}

/// Returns the attachments that a failed ADD left to the next DEL.
pub fn left_of(attachments: &[RecordedAttachment], left: &[Left]) -> Vec<RecordedAttachment> {
    let kept = left.iter().map(|left| {
        let attachment = attachments[left.index].clone();
        match left.plugins {
            Some(count) => attachment.of_first_plugins(count),
            None => attachment,
        }
    });
    kept.collect()
}

impl Record {
    /// Makes a pod that is about to be attached, or is attached.
    pub fn of_pod(
        network: &str,
        attachment: &Attachment,
        pod: Option<PodName>,
        attachments: Vec<RecordedAttachment>,
    ) -> Self {
        Self {
            network: network.to_owned(),
            ifname: attachment.ifname.clone(),
            netns: attachment.netns.clone(),
            namespace: NamespaceId::of(attachment),
            args: attachment.args.to_string(),
            pod,
            attachments,
            ..Self::of_container(&attachment.container_id)
        }
    }

    /// A container without attachments.
    pub(super) fn of_container(container_id: &str) -> Self {
        Self {
            version: VERSION,
            container_id: container_id.to_owned(),
            ..Self::default()
        }
    }

    /// Returns the attachment, for GC, which the runtime does not describe. It has the pod's namespace only if that is
    /// still the one at its path.
    pub fn attachment(&self) -> Result<Attachment, Error> {
        let args: Args = self.args.parse().unwrap_or_default();
        let open = |netns: String| {
            let (id, ifname) = (self.container_id.clone(), self.ifname.clone());
            Attachment::open(Command::Del, id, ifname, netns, args.clone())
        };
        match open(self.netns.clone()) {
            Ok(attachment) if NamespaceId::of(&attachment) == self.namespace => Ok(attachment),
            _ => open(String::new()),
        }
    }

    /// Whether it is about one of these attachments.
    pub fn is_of(&self, attachments: &[weir_cni::Attachment]) -> bool {
        attachments.contains(&weir_cni::Attachment::new(&self.container_id, &self.ifname))
    }
}

/// Why a record cannot be used.
#[derive(Debug)]
pub enum Unusable {
    /// It is not what weir wrote: `codes::RECORD`.
    Damaged(Error),
    /// It cannot be read, or another version of weir wrote it.
    Refused(Error),
}

impl From<Error> for Unusable {
    fn from(error: Error) -> Self {
        Self::Refused(error)
    }
}

impl From<Unusable> for Error {
    fn from(unusable: Unusable) -> Self {
        match unusable {
            Unusable::Damaged(error) | Unusable::Refused(error) => error,
        }
    }
}

/// Reads a record of this version or of an earlier one. `path` is for errors, and names the container if the record does not.
pub(super) fn parse(path: &Path, text: &str) -> Result<Record, Unusable> {
    let damaged = |why: String| {
        let error = Error::new(codes::RECORD, format!("{} is damaged: {why}", shown(path)));
        Unusable::Damaged(error.with_details("it was changed after weir wrote it"))
    };
    let mut document: Map<String, Value> =
        serde_json::from_str(text).map_err(|e| damaged(e.to_string()))?;
    // Those of networks attached by name had neither.
    if !document.contains_key("version") && !document.contains_key("containerId") {
        let container_id = path.file_stem().unwrap_or_default().to_string_lossy();
        document.insert("containerId".to_owned(), container_id.into());
        document.insert("version".to_owned(), 1.into());
    }
    let version = document.insert("version".to_owned(), VERSION.into());
    match version.as_ref().and_then(Value::as_u64) {
        Some(1..=VERSION) => {
            serde_json::from_value(Value::Object(document)).map_err(|e| damaged(e.to_string()))
        }
        Some(other) => Err(Unusable::Refused(Error::new(
            codes::RECORD,
            format!(
                "{}: version {other}: another weir wrote it; this one knows {VERSION}",
                shown(path)
            ),
        ))),
        None => Err(damaged("it has no version".to_owned())),
    }
}

/// A record in an error.
pub(super) fn shown(path: &Path) -> String {
    format!("record `{}` of a container's attachments", path.display())
}
