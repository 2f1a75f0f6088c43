//! The default network's readiness (section 6.1), waited for and bounded.

use std::fs;

use anyhow::Result;
use serde_json::json;

use crate::world::{World, names};

#[test]
fn npwg_6_1_2_an_attachment_waits_until_the_default_network_is_ready() -> Result<()> {
    let world = World::create()?;
    let pod = world.pod_with("waits", &[])?;
    let config = world.config_with(json!({ "readinessindicatorfile": "/run/flannel/subnet.env" }));
    let call = world.call("ADD", &pod, &config);
    let child = world.node.inside(|| call.start())?;
    // It is not done before the file is there, however long that takes.
    let directory = world.node.root().join("run/flannel");
    fs::create_dir_all(&directory)?;
    fs::write(directory.join("other"), "")?;
    assert_eq!(names(&pod.container)?, Vec::<String>::new());
    fs::write(directory.join("subnet.env"), "FLANNEL_NETWORK=10.0.0.0/8")?;
    let output = child.wait_with_output()?;
    assert!(output.status.success(), "{output:?}");
    assert_eq!(names(&pod.container)?, ["eth0"]);
    // DEL never waits.
    fs::remove_dir_all(&directory)?;
    world.del_with(&pod, &config)
}
