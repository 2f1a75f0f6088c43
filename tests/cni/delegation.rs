//! Section 4: plugin delegation.

use weir_kit::{component_file, failure};

use super::*;

/// The same component once more, as the plugin that the other one runs.
const SECOND: &str = "second";

/// A network of one plugin that runs another as its IPAM plugin, on each command.
fn delegating() -> Result<Network> {
    let orders = ["input.config", "input.parameters", "ipam.add"];
    let orders: Vec<Value> = orders.iter().map(|order| json!({ "do": order })).collect();
    let plugin = json!({
        "type": PLUGIN, "orders": orders, "ipam": { "type": SECOND, "own": [1] }, "other": { "a": 1 }
    });
    let network = Network::of(&[plugin])?;
    let node = &network.node;
    let grant = Grant {
        capabilities: "{ ipam: [second] }",
        ..Grant::nothing(PLUGIN)
    };
    node.put_grant("puppet.yaml", &grant.document(&node.digest(PLUGIN)?))?;
    let file = &component_file(PLUGIN);
    node.weir(&["plugin", "add", file, "--name", SECOND])?;
    let grant = Grant::nothing(SECOND);
    node.put_grant("second.yaml", &grant.document(&node.digest(SECOND)?))?;
    Ok(network)
}

/// What a plugin said to an order.
fn of(network: &Network, plugin: &str, order: &str) -> Result<Value> {
    let said = network.said();
    let mut said = said
        .iter()
        .filter(|s| s.plugin == plugin && s.order == order);
    let said = said.next().with_context(|| format!("{plugin}: {order}"))?;
    Ok(serde_json::from_str(&said.said)?)
}

#[test]
fn cni_4_1_a_delegated_plugin_has_the_complete_configuration() -> Result<()> {
    let network = delegating()?;
    network.run("add")?;
    let upper = of(&network, PLUGIN, "input.config")?;
    assert_eq!(of(&network, SECOND, "input.config")?, upper);
    assert_eq!(upper["type"], PLUGIN);
    assert_eq!(upper["ipam"], json!({ "type": SECOND, "own": [1] }));
    assert_eq!(upper["other"], json!({ "a": 1 }));
    Ok(())
}

#[test]
fn cni_4_1_a_delegated_plugin_has_the_same_parameters() -> Result<()> {
    let network = delegating()?;
    network.run_with("add", &["--ifname", "data7", "--args", "A=b"])?;
    let upper = of(&network, PLUGIN, "input.parameters")?;
    assert_eq!(of(&network, SECOND, "input.parameters")?, upper);
    assert_eq!(upper["ifname"], "data7");
    assert_eq!(upper["args"], json!([["A", "b"]]));
    Ok(())
}

#[test]
fn cni_4_1_success_is_a_result_that_the_upper_plugin_applies() -> Result<()> {
    let network = Network::of(&[bridge(json!([[{ "subnet": "10.62.1.0/24" }]]))])?;
    let result = network.add()?;
    assert_eq!(result["ips"][0]["address"], "10.62.1.2/24");
    let addresses = network.container.ip("-brief address show dev eth0")?;
    assert!(addresses.contains("10.62.1.2/24"), "{addresses}");
    Ok(())
}

#[test]
fn cni_4_2_del_and_check_run_the_delegated_plugin() -> Result<()> {
    let network = Network::of(&[bridge(json!([[{ "subnet": "10.62.2.0/24" }]]))])?;
    network.add()?;
    network.run("check")?;
    let lease = network.node.leases(NETWORK).join("10.62.2.2");
    let content = fs::read(&lease)?;
    fs::remove_file(&lease)?;
    let error = failure(network.run("check"))?;
    assert!(error.contains("CNI error 113"), "host-local's own: {error}");
    fs::write(&lease, content)?;
    network.run("del")?;
    assert!(network.node.taken(NETWORK).is_empty(), "it was released");
    Ok(())
}

#[test]
fn cni_4_2_an_error_of_the_delegated_plugin_is_the_upper_plugins() -> Result<()> {
    let network = Network::of(&[bridge(json!([[{ "subnet": "10.62.3.0/30" }]]))])?;
    network.add()?;
    let other = network.node.container()?;
    let exhausted = failure(network.run_for("add", &other, &[]))?;
    assert!(exhausted.contains("CNI error 110"), "{exhausted}");
    assert!(exhausted.contains("host-local"), "{exhausted}");

    // A file where the directory of the leases was.
    let leases = network.node.leases(NETWORK);
    fs::remove_dir_all(&leases)?;
    fs::write(&leases, "")?;
    let unusable = failure(network.run("del"))?;
    assert!(unusable.contains("host-local"), "{unusable}");
    Ok(())
}

#[test]
fn cni_4_2_after_an_add_that_failed_the_delegated_plugin_is_run_with_del() -> Result<()> {
    let ranges = json!([[{ "subnet": "10.62.4.0/24" }], [{ "subnet": "10.62.5.0/30" }]]);
    let network = Network::of(&[bridge(ranges)])?;
    network.add()?;
    let taken = network.node.taken(NETWORK);
    assert_eq!(taken, ["10.62.4.2", "10.62.5.2"]);
    let other = network.node.container()?;
    failure(network.run_for("add", &other, &[]))?;
    assert_eq!(network.node.taken(NETWORK), taken, "nothing is kept");

    // The same where what fails is what the upper plugin does with the addresses.
    let mut unroutable = bridge(json!([[{ "subnet": "10.62.6.0/24" }]]));
    unroutable["ipam"]["routes"] = json!([{ "dst": "192.0.2.0/24", "gw": "203.0.113.9" }]);
    network.write(json!({ "plugins": [unroutable] }))?;
    failure(network.run_for("add", &other, &[]))?;
    assert_eq!(network.node.taken(NETWORK), taken, "nothing is kept");
    Ok(())
}
