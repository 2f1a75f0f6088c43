//! The pods of `examples/kubernetes` over interfaces and devices of the node, from the very files.

use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use crate::world::{NETWORKS, Pod, World, interfaces, names};

const RESOURCE_NAME: &str = "k8s.v1.cni.cncf.io/resourceName";

/// Where the device plugin's and the attachment's descriptions of devices are.
const DEVICE_INFO: &str = "var/run/k8s.cni.cncf.io/devinfo";

/// How long a first packet may take, where a machine is emulated.
const CONNECT: Duration = Duration::from_secs(30);

/// A definition and the pod that selects it.
struct Example {
    definition: Value,
    pod: Value,
}

impl Example {
    fn read(text: &str) -> Result<Self> {
        let documents: Vec<Value> = serde_saphyr::from_multiple(text)?;
        let [definition, pod] = <[Value; 2]>::try_from(documents)
            .map_err(|documents| anyhow::anyhow!("{} documents", documents.len()))?;
        ensure!(definition["kind"] == "NetworkAttachmentDefinition" && pod["kind"] == "Pod");
        Ok(Self { definition, pod })
    }

    /// A cluster with the definition, on a node with these interfaces. Their other ends are what is on the wire.
    fn world(&self, devices: &[&str]) -> Result<World> {
        let world = World::create()?;
        for device in devices {
            let pair = format!("link add {device} up type veth peer name {device}-wire");
            world.node.ip(&pair)?;
            world.node.ip(&format!("link set {device}-wire up"))?;
        }
        let definition = &self.definition;
        let annotation = definition["metadata"]["annotations"][RESOURCE_NAME].as_str();
        let annotations = annotation.map(|resource| (RESOURCE_NAME, resource));
        world.api.create_definition(
            &world.namespace,
            text(&definition["metadata"]["name"])?,
            definition["spec"]["config"].as_str(),
            annotations.as_slice(),
        )?;
        Ok(world)
    }

    fn pod(&self, world: &World) -> Result<Pod> {
        let metadata = &self.pod["metadata"];
        let selection = text(&metadata["annotations"][NETWORKS])?;
        world.pod(text(&metadata["name"])?, selection)
    }
}

fn text(value: &Value) -> Result<&str> {
    value.as_str().context("text")
}

/// The pod is refused with the line to add while the node lists nothing, and gets `net1` with this address when it lists
/// the interface. With DEL the interface is gone.
fn is_over_a_listed_interface(example: &str, device: &str, address: &str) -> Result<()> {
    let example = Example::read(example)?;
    let world = example.world(&[device])?;
    let pod = example.pod(&world)?;
    let line = format!(r#"add `"hostInterfaces": ["{device}"]` to /etc/weir/weir.json"#);
    world.refused(&pod, 100, &[&line])?;

    world.list_interfaces(&[device])?;
    world.add(&pod);
    let attached = interfaces(&pod.container)?.remove("net1");
    assert_eq!(attached.unwrap_or_default(), [address]);
    let status = world.status(&pod)?;
    assert_eq!(status[1]["interface"], "net1", "{status:#?}");
    assert_eq!(status[1]["ips"], json!([address]));
    assert!(world.run("CHECK", &pod)?.succeeded());
    // Whoever is on the wire reaches it.
    let on_wire = address.rsplit_once('.').context("an address")?.0;
    let wire = format!("address add {on_wire}.1/24 dev {device}-wire");
    world.node.ip(&wire)?;
    let listener = (pod.container).inside(|| Ok(TcpListener::bind((address, 0))?))?;
    let server = listener.local_addr()?;
    (world.node).inside(|| Ok(TcpStream::connect_timeout(&server, CONNECT)?))?;

    world.del(&pod)?;
    assert_eq!(names(&pod.container)?, [""; 0]);
    world.node.ip(&format!("link show {device}")).map(drop)
}

#[test]
fn a_pod_of_the_example_is_on_the_lan() -> Result<()> {
    let example = include_str!("../../examples/kubernetes/macvlan.yaml");
    is_over_a_listed_interface(example, "eth1", "192.0.2.7")
}

#[test]
#[ignore = "needs a kernel with ipvlan: `machine` runs it"]
fn a_pod_of_the_example_is_on_the_backbone() -> Result<()> {
    let example = include_str!("../../examples/kubernetes/ipvlan.yaml");
    is_over_a_listed_interface(example, "eth2", "198.51.100.7")
}

/// Has the kubelet assign a device to a pod, and the device plugin describe it. Returns the description.
fn assign(world: &World, pod: &Pod, resource: &str, id: &str) -> Result<Value> {
    let checkpoint = json!({
        "Data": {
            "PodDeviceEntries": [{
                "PodUID": pod.uid, "ContainerName": "shell", "ResourceName": resource,
                "DeviceIDs": { "-1": [id] }, "AllocResp": "",
            }],
            "RegisteredDevices": { resource: [id] },
        },
        "Checksum": 1,
    });
    let kubelet = "var/lib/kubelet/device-plugins/kubelet_internal_checkpoint";
    world.node.write(kubelet, checkpoint.to_string())?;
    let info = json!({ "type": "pci", "version": "1.1.0", "pci": { "pci-address": id } });
    let file = format!(
        "{DEVICE_INFO}/dp/{}-{id}-device.json",
        resource.replace('/', "-")
    );
    world.node.write(&file, info.to_string())?;
    Ok(info)
}

/// The device that the kubelet's checkpoint has for the pod is in the pod and in its status, and comes back: of a PCI
/// function, and of a scalable function on the auxiliary bus.
#[test]
fn a_pod_of_the_example_has_the_device_that_kubelet_assigned() -> Result<()> {
    let example = Example::read(include_str!("../../examples/kubernetes/device.yaml"))?;
    let limits = &example.pod["spec"]["containers"][0]["resources"]["limits"];
    let resource = text(&example.definition["metadata"]["annotations"][RESOURCE_NAME])?;
    assert_eq!(limits[resource], "1", "{limits}");
    for (bus, id) in [("pci", "0000:03:00.1"), ("auxiliary", "mlx5_core.sf.4")] {
        let world = example.world(&["nic0", "nic1"])?;
        world.node.put_device("pci", "0000:03:00.0", "nic0")?;
        world.node.put_device(bus, id, "nic1")?;
        let pod = example.pod(&world)?;
        world.refused(
            &pod,
            238,
            &["kubelet_internal_checkpoint", "does not exist"],
        )?;

        let info = assign(&world, &pod, resource, id)?;
        world.refused(&pod, 100, &[r#"add `"hostInterfaces": ["nic1"]` to"#])?;
        world.list_interfaces(&["nic1"])?;
        world.add(&pod);
        let address = "203.0.113.7".to_owned();
        assert_eq!(
            interfaces(&pod.container)?.remove("net1"),
            Some(vec![address])
        );
        assert!(world.node.ip("link show nic1").is_err(), "it is in the pod");
        let status = world.status(&pod)?;
        assert_eq!(status[1]["device-info"], info, "{status:#?}");
        assert!(world.run("CHECK", &pod)?.succeeded());

        world.del(&pod)?;
        assert_eq!(names(&pod.container)?, [""; 0]);
        world.node.ip("link show nic1")?;
        let left = world.node.root().join(DEVICE_INFO).join("cni");
        assert_eq!(left.read_dir()?.count(), 0, "the attachment's description");
        let warned = world
            .log()
            .into_iter()
            .filter(|line| line["level"] == "warn");
        assert_eq!(warned.collect::<Vec<_>>(), Vec::<Value>::new());
    }
    Ok(())
}

/// One pod that requested one device cannot have two networks of it, nor another pod's device.
#[test]
fn a_device_of_another_pod_is_nobody_elses() -> Result<()> {
    let example = Example::read(include_str!("../../examples/kubernetes/device.yaml"))?;
    let world = example.world(&["nic1"])?;
    world.list_interfaces(&["nic1"])?;
    world.node.put_device("pci", "0000:03:00.1", "nic1")?;
    let (owner, other) = (example.pod(&world)?, world.pod("other", "fast")?);
    assign(&world, &owner, "example.com/nic", "0000:03:00.1")?;
    world.refused(&other, 238, &["no device of resource `example.com/nic`"])?;
    let greedy = world.pod("greedy", "fast,fast")?;
    assign(&world, &greedy, "example.com/nic", "0000:03:00.1")?;
    world.refused(
        &greedy,
        238,
        &["no device of resource `example.com/nic` is left"],
    )?;
    world.node.ip("link show nic1").map(drop)
}
