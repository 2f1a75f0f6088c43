//! Many pods at a time, as when a node starts again.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::thread;

use anyhow::{Context, Result, ensure};
use weir_kit::State;

use crate::world::{Pod, World, interfaces};

const PODS: usize = 100;
const AT_A_TIME: usize = 20;
/// How much more memory than for the first pod one process may have, in a hundredth: what it is is a figure of
/// `make bench`.
const MOST_GROWTH: u64 = 125;

/// Runs a command for all pods, some at a time. Returns the highest peak of memory.
fn for_all(world: &World, pods: &[Pod], command: &str) -> Result<u64> {
    let next = Mutex::new(pods.iter());
    let highest = Mutex::new(0);
    thread::scope(|scope| {
        let workers = (0..AT_A_TIME).map(|_| {
            scope.spawn(|| -> Result<()> {
                loop {
                    let Some(pod) = next.lock().expect("no panic").next() else {
                        return Ok(());
                    };
                    let call = world.call(command, pod, &world.config());
                    let measured = world.node.inside(|| call.measure())?;
                    let outcome = &measured.outcome;
                    ensure!(
                        outcome.succeeded(),
                        "{command} of {}: {outcome:?}",
                        pod.name
                    );
                    let mut highest = highest.lock().expect("no panic");
                    *highest = measured.peak.max(*highest);
                }
            })
        });
        let workers: Vec<_> = workers.collect();
        workers
            .into_iter()
            .try_for_each(|worker| worker.join().expect("no panic"))
    })?;
    Ok(highest.into_inner().expect("no panic"))
}

#[test]
fn a_hundred_pods_with_two_networks_twenty_at_a_time() -> Result<()> {
    let world = World::with_bridge("many", "10.54.0.0/16")?;
    let warm = world.pod("warm", "many")?;
    let first = for_all(&world, std::slice::from_ref(&warm), "ADD")?;
    let most = first * MOST_GROWTH / 100;
    let before = State::of(&world.node)?;
    let pods = (0..PODS).map(|n| world.pod(&format!("pod{n}"), "many"));
    let pods = pods.collect::<Result<Vec<Pod>>>()?;

    world.api.forget_requests()?;
    let peak = for_all(&world, &pods, "ADD")?;
    assert!(peak <= most, "ADD: {peak} bytes, the first {first}");
    let mut addresses = BTreeSet::new();
    for pod in &pods {
        let interfaces = interfaces(&pod.container)?;
        let status = world.status(pod).with_context(|| pod.name.clone())?;
        assert_eq!(status.len(), 2, "{}: {status:#?}", pod.name);
        for (entry, ifname) in status.iter().zip(["eth0", "net1"]) {
            assert_eq!(entry["interface"], ifname, "{}", pod.name);
            let ip = entry["ips"][0].as_str().unwrap_or_default().to_owned();
            assert_eq!(
                interfaces[ifname],
                std::slice::from_ref(&ip),
                "{}",
                pod.name
            );
            assert!(addresses.insert(ip.clone()), "{ip} is assigned twice");
        }
    }
    assert_eq!(addresses.len(), 2 * PODS);
    if world.api.is_stand_in() {
        let asked = world.requests()?.len();
        assert!(asked <= 3 * PODS, "{asked} requests for {PODS} pods");
    }

    // What users of Multus report: unbounded memory when a node starts again with many pods.
    let peak = for_all(&world, &pods, "DEL")?;
    assert!(peak <= most, "DEL: {peak} bytes, the first ADD {first}");
    State::of(&world.node)?.assert_same(&before);
    assert_eq!(world.records().len(), 1);
    world.del(&warm)
}
