//! The workflow that publishes a release, as far as that can be read here: `make lint` has its syntax and its rights checked.

use std::fs;

use anyhow::{Context, Result};
use serde_json::Value;
use weir_kit::{house, toolchain};

fn workflow() -> Result<Value> {
    let text = fs::read_to_string(house().join(".github/workflows/release.yml"))?;
    Ok(serde_saphyr::from_str(&text)?)
}

fn steps(workflow: &Value) -> Result<Vec<&Value>> {
    let jobs = workflow["jobs"].as_object().context("jobs")?;
    let steps = jobs
        .values()
        .map(|job| job["steps"].as_array().context("steps"));
    Ok(steps
        .collect::<Result<Vec<_>>>()?
        .into_iter()
        .flatten()
        .collect())
}

#[test]
fn each_action_is_pinned_by_its_commit() -> Result<()> {
    let workflow = workflow()?;
    let used: Vec<&str> = steps(&workflow)?
        .iter()
        .filter_map(|step| step["uses"].as_str())
        .collect();
    assert!(used.len() > 4, "{used:?}");
    for action in used {
        let commit = action.split_once('@').map_or("", |(_, commit)| commit);
        let is_commit = commit.len() == 40 && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
        assert!(is_commit, "{action}");
    }
    Ok(())
}

/// What it runs can be run anywhere: a target of the Makefile, or a script.
#[test]
fn what_it_runs_exists() -> Result<()> {
    let workflow = workflow()?;
    let makefile = fs::read_to_string(house().join("Makefile"))?;
    let mut scripts = 0;
    for command in steps(&workflow)?
        .iter()
        .filter_map(|step| step["run"].as_str())
    {
        // A value of the event in a command would be a way to run one.
        assert!(!command.contains("${{"), "{command}");
        let mut words = command.split_whitespace();
        match words.next() {
            Some("make") => {
                for target in words {
                    assert!(makefile.contains(&format!("\n{target}: ")), "{target}");
                }
            }
            Some("docker") => (),
            Some(script) => {
                assert!(house().join(script).is_file(), "{script}");
                scripts += 1;
            }
            None => panic!("an empty command"),
        }
    }
    assert_eq!(scripts, 3);
    Ok(())
}

/// What builds others' code can write nothing, and what has an identity builds nothing.
#[test]
fn what_has_rights_builds_nothing() -> Result<()> {
    let workflow = workflow()?;
    assert_eq!(workflow["permissions"], serde_json::json!({}));
    assert_eq!(
        workflow["jobs"]["build"]["permissions"],
        serde_json::json!({ "contents": "read" })
    );
    for job in ["sdk", "publish"] {
        let steps = workflow["jobs"][job]["steps"].to_string();
        assert!(!steps.contains("make "), "{steps}");
    }
    Ok(())
}

#[test]
fn it_builds_with_the_toolchain_of_the_house() -> Result<()> {
    let version = toolchain()?;
    let workflow = workflow()?;
    let jobs = &workflow["jobs"];
    let image = jobs["build"]["container"]["image"]
        .as_str()
        .context("an image")?;
    assert!(
        image.starts_with(&format!(
            "docker.io/library/rust:{version}-bookworm@sha256:"
        )),
        "{image}"
    );
    assert_eq!(jobs["sdk"]["container"], image);
    Ok(())
}
