//! The process killed at many points of a pod's ADD and DEL: a later DEL leaves nothing.

use anyhow::Result;
use weir_kit::State;
use weir_kit::trace::kill_at_points;

use crate::world::{Pod, World, names};

/// How many points of one ADD, and of one DEL, are tried.
const POINTS: usize = 40;

fn world_with_three_networks() -> Result<World> {
    let world = World::with_bridge("two", "10.53.2.0/24")?;
    world.define_bridge("three", "10.53.3.0/24")?;
    Ok(world)
}

fn pod(world: &World, n: usize) -> Result<Pod> {
    world.pod(&format!("crash{n}"), "two,three")
}

fn killed_at_every_point(command: &str) -> Result<()> {
    let world = world_with_three_networks()?;
    let warm = pod(&world, 1000)?;
    world.add(&warm);
    let before = State::of(&world.node)?;
    let mut tried = 0;
    kill_at_points(POINTS, |point| {
        let pod = pod(&world, tried)?;
        tried += 1;
        if command == "DEL" {
            world.add(&pod);
        }
        let call = world.call(command, &pod, &world.config());
        let end = world.node.inside(|| call.run_until(point))?;
        world.del(&pod)?;
        assert_eq!(names(&pod.container)?, Vec::<String>::new());
        let after = State::of(&world.node)?;
        assert_eq!(after.difference(&before), "", "{command}, {point:?}");
        assert_eq!(world.records().len(), 1, "{command}, {point:?}");
        Ok(end)
    })?;
    assert!(world.run("CHECK", &warm)?.succeeded());
    world.del(&warm)
}

#[test]
fn a_del_after_an_add_killed_at_any_point_leaves_nothing() -> Result<()> {
    killed_at_every_point("ADD")
}

#[test]
fn a_del_after_a_del_killed_at_any_point_leaves_nothing() -> Result<()> {
    killed_at_every_point("DEL")
}
