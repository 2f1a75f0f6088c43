//! A node of its own for one contender: a host namespace, a container and the leases.
//!
//! Each call is made as a CNI runtime makes it, and afterwards the node is looked at: a contender
//! that is fast because it does nothing is an error.

use std::ffi::OsStr;
use std::fs;
use std::net::{Ipv4Addr, UdpSocket};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use crate::call::{Answer, call};
use crate::contender::{Contender, Contenders};
use crate::interrupt;
use crate::scratch::Scratch;
use weir_kit::Namespace;

pub const NETWORK: &str = "bench";
pub const SUBNET: &str = "10.88.0.0/16";
/// The bridge's own address.
pub const GATEWAY: Ipv4Addr = Ipv4Addr::new(10, 88, 0, 1);
pub const BRIDGE: &str = "cni0";
pub const INTERFACE: &str = "eth0";

/// Of a configuration's `routes`.
pub const DEFAULT_ROUTE: &str = "0.0.0.0/0";

pub struct Node {
    contender: Contender,
    program: PathBuf,
    search_path: PathBuf,
    pub host: Namespace,
    pub container: Namespace,
    container_path: PathBuf,
    directory: PathBuf,
    /// How many containers there have been.
    count: u32,
    /// What of its operations weir records.
    audit_reads: &'static str,
}

/// An attachment that DEL takes away again.
pub struct Attachment {
    pub container_id: String,
    pub result: Value,
    /// Of `host-local`.
    lease: Option<PathBuf>,
}

impl Node {
    /// An empty node; `name` tells it from the contender's others.
    pub fn create(
        contender: Contender,
        contenders: &Contenders,
        scratch: &Scratch,
        name: &str,
    ) -> Result<Self> {
        let directory = scratch.path().join(format!("{}-{name}", contender.name()));
        let container = Namespace::create()?;
        let node = Self {
            contender,
            program: contenders.program(contender),
            search_path: contenders.search_path(contender).to_owned(),
            host: Namespace::create()?,
            container_path: container.path()?,
            container,
            directory,
            count: 0,
            audit_reads: "0",
        };
        fs::create_dir_all(node.root())?;
        fs::create_dir_all(node.store()?)?;
        Ok(node)
    }

    /// Has weir record its reads as well from now on.
    pub fn record_reads(&mut self) {
        self.audit_reads = "1";
    }

    /// weir's.
    pub fn audit_log(&self) -> PathBuf {
        self.root().join("var/log/weir/audit.jsonl")
    }

    /// The id of a container that has not been here yet.
    pub fn next_container(&mut self) -> String {
        self.count += 1;
        format!("{:064x}", self.count)
    }

    /// ADD of a new container.
    pub fn add(&mut self) -> Result<(Answer, Attachment)> {
        let container_id = self.next_container();
        let answer = self.call("ADD", &container_id, None)?;
        let attachment = self.attached(container_id, answer.output.clone())?;
        Ok((answer, attachment))
    }

    /// CHECK of an attachment.
    pub fn check(&self, attachment: &Attachment) -> Result<Answer> {
        self.call("CHECK", &attachment.container_id, Some(&attachment.result))
    }

    /// DEL of an attachment, whose namespace lives on.
    pub fn del(&self, attachment: Attachment) -> Result<Answer> {
        let answer = self.call("DEL", &attachment.container_id, Some(&attachment.result))?;
        self.detached(&attachment)?;
        Ok(answer)
    }

    /// `CNI_COMMAND=VERSION`.
    pub fn version(&self) -> Result<Answer> {
        self.call("VERSION", "", None)
    }

    /// Takes the bridge away, as if no container had ever been here.
    pub fn delete_bridge(&self) -> Result<()> {
        if self.host.has_link(BRIDGE)? {
            self.host.ip(&format!("link delete {BRIDGE}\n"))?;
        }
        Ok(())
    }

    /// The directory with the leases.
    pub fn store(&self) -> Result<PathBuf> {
        let data = self.data();
        let data = match self.contender {
            Contender::Weir => self.root().join(data.strip_prefix("/")?),
            _ => data,
        };
        Ok(data.join(NETWORK))
    }

    fn call(&self, command: &str, container_id: &str, result: Option<&Value>) -> Result<Answer> {
        let configuration = self.configuration(result);
        self.run_program(&self.program, command, container_id, &configuration)
    }

    /// Calls a plugin by its name.
    pub fn run(
        &self,
        plugin: &str,
        command: &str,
        container_id: &str,
        configuration: &Value,
    ) -> Result<Answer> {
        let program = match self.contender {
            Contender::Floor => self.program.clone(),
            _ => self.search_path.join(plugin),
        };
        self.run_program(&program, command, container_id, configuration)
            .with_context(|| plugin.to_owned())
    }

    fn run_program(
        &self,
        program: &Path,
        command: &str,
        container_id: &str,
        configuration: &Value,
    ) -> Result<Answer> {
        interrupt::check()?;
        self.host.enter()?;
        let root = self.root();
        let environment: [(&str, &OsStr); 9] = [
            ("CNI_COMMAND", command.as_ref()),
            ("CNI_CONTAINERID", container_id.as_ref()),
            ("CNI_NETNS", self.container_path.as_ref()),
            ("CNI_IFNAME", INTERFACE.as_ref()),
            (
                "CNI_ARGS",
                "IgnoreUnknown=1;K8S_POD_NAMESPACE=bench;K8S_POD_NAME=pod".as_ref(),
            ),
            ("CNI_PATH", self.search_path.as_ref()),
            (
                "PATH",
                "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin".as_ref(),
            ),
            ("WEIR_ROOT", root.as_ref()),
            ("WEIR_AUDIT_READS", self.audit_reads.as_ref()),
        ];
        let errors = self.directory.join("stderr");
        call(program, &environment, configuration, &errors)
            .with_context(|| format!("{} {command}", self.name()))
    }

    fn configuration(&self, result: Option<&Value>) -> Value {
        let mut configuration = json!({
            "cniVersion": "1.0.0",
            "name": NETWORK,
            "type": "bridge",
            "bridge": BRIDGE,
            "isGateway": true,
            "ipam": self.host_local(),
        });
        configuration["ipam"]["routes"] = json!([{"dst": DEFAULT_ROUTE}]);
        if let Some(result) = result {
            configuration["prevResult"] = result.clone();
        }
        configuration
    }

    /// A bridge that is its containers' way out, for a list.
    pub fn bridge(&self) -> Value {
        json!({
            "type": "bridge",
            "bridge": BRIDGE,
            "isDefaultGateway": true,
            "ipam": self.host_local(),
        })
    }

    /// Addresses of `host-local`.
    pub fn host_local(&self) -> Value {
        json!({
            "type": "host-local",
            "dataDir": self.data(),
            "ranges": [[{"subnet": SUBNET}]],
        })
    }

    /// Makes sure that ADD did what its result says.
    pub fn attached(&self, container_id: String, result: Value) -> Result<Attachment> {
        let lease = Some(self.lease(&container_id, &result)?);
        let attachment = self.attached_without_lease(container_id, result)?;
        Ok(Attachment {
            lease,
            ..attachment
        })
    }

    /// The same where the address is not `host-local`'s.
    pub fn attached_without_lease(
        &self,
        container_id: String,
        result: Value,
    ) -> Result<Attachment> {
        let (name, address) = (self.name(), self.address(&result)?);
        let link_is_there = self.container.has_link(INTERFACE)?;
        ensure!(link_is_there, "{name}: there is no `{INTERFACE}` after ADD");
        UdpSocket::bind((address, 0))
            .with_context(|| format!("{name}: the container does not have {address} after ADD"))?;
        Ok(Attachment {
            container_id,
            result,
            lease: None,
        })
    }

    /// The container's lease.
    fn lease(&self, container_id: &str, result: &Value) -> Result<PathBuf> {
        let name = self.name();
        let lease = self.store()?.join(self.address(result)?.to_string());
        let holder = fs::read_to_string(&lease)
            .with_context(|| format!("{name}: the lease `{}`", lease.display()))?;
        ensure!(
            holder.starts_with(container_id),
            "{name}: `{}` is of `{holder}`, not of `{container_id}`",
            lease.display()
        );
        Ok(lease)
    }

    /// The address in a result.
    fn address(&self, result: &Value) -> Result<Ipv4Addr> {
        let address = result.pointer("/ips/0/address").and_then(Value::as_str);
        let address = address.and_then(|address| address.split_once('/')?.0.parse().ok());
        address.with_context(|| format!("{}: no address in {result}", self.name()))
    }

    /// Makes sure that DEL left nothing.
    pub fn detached(&self, attachment: &Attachment) -> Result<()> {
        if let Some(lease) = &attachment.lease {
            ensure!(
                !lease.exists(),
                "{}: DEL left the lease `{}`",
                self.name(),
                lease.display()
            );
        }
        let link_is_there = self.container.has_link(INTERFACE)?;
        ensure!(!link_is_there, "{}: DEL left `{INTERFACE}`", self.name());
        Ok(())
    }

    pub fn name(&self) -> &'static str {
        self.contender.name()
    }

    fn root(&self) -> PathBuf {
        self.directory.join("root")
    }

    /// `dataDir`: weir's grant allows its default, which `WEIR_ROOT` relocates.
    fn data(&self) -> PathBuf {
        match self.contender {
            Contender::Weir => PathBuf::from("/var/lib/cni/networks"),
            _ => self.directory.join("data"),
        }
    }
}
