//! The process killed at many points of a pod's ADD and DEL: a later DEL leaves nothing.

use anyhow::{Context, Result};
use weir_kit::State;
use weir_kit::trace::End;

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

/// How many points every run of a command has: a run that waits for something has more.
fn points(world: &World, command: &str) -> Result<usize> {
    let runs = (1001..1004).map(|n| points_once(world, command, n));
    let points = runs.collect::<Result<Vec<_>>>()?;
    points.into_iter().min().context("three runs")
}

/// The points of one command of a pod that is there, or is not.
fn points_once(world: &World, command: &str, n: usize) -> Result<usize> {
    let pod = pod(world, n)?;
    if command == "DEL" {
        world.add(&pod);
    }
    let call = world.call(command, &pod, &world.config());
    let End::Exited { status: 0, points } = world.node.inside(|| call.run_until(None))? else {
        anyhow::bail!("the traced {command} failed");
    };
    world.del(&pod)?;
    Ok(points)
}

fn killed_at_every_point(command: &str) -> Result<()> {
    let world = world_with_three_networks()?;
    let warm = pod(&world, 1000)?;
    world.add(&warm);
    let before = State::of(&world.node)?;
    let points = points(&world, command)?;
    assert!(points > 2 * POINTS, "only {points} points");
    let mut killed = 0;
    for nth in 0..POINTS + 5 {
        let point = nth * points / (POINTS + 5);
        let pod = pod(&world, nth)?;
        if command == "DEL" {
            world.add(&pod);
        }
        let call = world.call(command, &pod, &world.config());
        let end = world.node.inside(|| call.run_until(Some(point)))?;
        killed += usize::from(end == End::Killed);
        world.del(&pod)?;
        let context = || format!("{command} killed at point {point} of {points}");
        assert_eq!(
            names(&pod.container).with_context(context)?,
            Vec::<String>::new()
        );
        let after = State::of(&world.node)?;
        assert_eq!(after.difference(&before), "", "{}", context());
        assert_eq!(world.records().len(), 1, "{}", context());
    }
    assert!(
        killed >= POINTS,
        "only {killed} were killed before their end"
    );
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
