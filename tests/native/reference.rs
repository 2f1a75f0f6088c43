//! The reference plugins as native ones: `bridge` of Debian, with its own `host-local`, which it finds by
//! `CNI_PATH`.

use std::path::Path;

use anyhow::Result;
use serde_json::json;
use weir_kit::plugin::REFERENCE;

use crate::world::{NETWORK, World};

#[test]
fn the_reference_bridge_is_added_checked_and_deleted() -> Result<()> {
    let world = World::create()?;
    world.put(&Path::new(REFERENCE).join("bridge"), "ref-bridge")?;
    world.put(&Path::new(REFERENCE).join("host-local"), "ref-host-local")?;
    world.list("ref-bridge", json!({}))?;
    let leases = world.file("leases");
    let list = json!({
        "cniVersion": "1.0.0", "name": NETWORK,
        "plugins": [{
            "type": "ref-bridge", "bridge": "ref0", "isGateway": true,
            "ipam": { "type": "ref-host-local", "dataDir": leases, "subnet": "10.66.0.0/24" },
        }],
    });
    world.write("etc/cni/net.d/net.conflist", &list.to_string())?;
    let result = world.add()?;
    assert_eq!(result["ips"][0]["address"], "10.66.0.2/24");
    let addresses = world.container.ip_json("addr show eth0")?;
    assert_eq!(addresses[0]["addr_info"][0]["local"], "10.66.0.2");
    assert!(leases.join(NETWORK).join("10.66.0.2").exists());
    world.succeeds("check")?;
    world.container.ip("addr del 10.66.0.2/24 dev eth0")?;
    let said = world.fails("check")?;
    assert!(said.contains("native plugin `ref-bridge`"), "{said}");
    world.succeeds("del")?;
    assert!(!leases.join(NETWORK).join("10.66.0.2").exists());
    assert_eq!(world.container.ip_json("link show")?[0]["ifname"], "lo");
    assert_eq!(
        world
            .container
            .ip_json("link show")?
            .as_array()
            .map(Vec::len),
        Some(1)
    );
    world.succeeds("del")?;
    Ok(())
}
