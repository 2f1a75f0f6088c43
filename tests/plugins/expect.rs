//! `weir plugin test --expect`: whether the outcome of ADD is expected.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;
use serde_json::json;
use weir_kit::{assert_contains, assert_contains_without, assert_lacks, binary, component};

use crate::outcome::labelled;
use crate::test::{Case, after_ptp};
use crate::{example, path, said};

/// The file that a case is compared with.
fn expected_of(case: &Case) -> PathBuf {
    case.config.with_file_name("expected.yaml")
}

/// A case, and the file that it is compared with.
fn compared() -> Result<(Case, PathBuf)> {
    let case = labelled()?;
    let file = expected_of(&case);
    Ok((case, file))
}

#[test]
fn what_is_expected_is_written_and_compared() -> Result<()> {
    let (case, file) = compared()?;
    let expect = ["--expect", path(&file)?];
    let text = case.said("labels", &expect, 1);
    assert_contains(&text, &["expected.yaml` does not exist", "--update"]);

    let updated = case.run("labels", &["--expect", path(&file)?, "--update"], 0);
    assert_eq!(updated["expected"]["updated"], true);
    let written = fs::read_to_string(&file)?;
    assert_contains_without(
        &written,
        &[
            "{mac of container eth0}",
            "{mac of host veth{1}}",
            "name: veth{1}",
            "{netns}",
            "10.94.0.2/24",
        ],
        &["/tmp"],
    );
    // Addresses and paths are others in each run.
    let report = case.run("labels", &expect, 0);
    assert_eq!(report["expected"]["matches"], true, "{report:#}");
    // What matches is not written again, with what its author changed.
    let commented = format!("# By hand.\n{written}");
    fs::write(&file, &commented)?;
    let report = case.run("labels", &["--expect", path(&file)?, "--update"], 0);
    assert_eq!(report["expected"]["updated"], false);
    assert_eq!(fs::read_to_string(&file)?, commented);

    // Another result, and another change.
    let other = written
        .replace("tried/", "untried/")
        .replace("10.94.0.2/24", "10.94.0.3/24");
    fs::write(&file, &other)?;
    let text = case.said("labels", &expect, 3);
    assert_contains(
        &text,
        &[
            "expected.yaml differs",
            "    -  - address: 10.94.0.3/24",
            "    +  - address: 10.94.0.2/24",
            "FAILED",
        ],
    );
    // Of two lines that differ in one word only that line differs: placeholders have their values.
    assert_lacks(&text, &["{mac of"]);
    Ok(())
}

#[test]
fn an_update_of_no_file_is_not_silent() -> Result<()> {
    let case = compared()?.0;
    let text = case.said("labels", &["--update"], 1);
    assert_contains(&text, &["nothing is written", "--expect FILE"]);
    let output = Command::new(binary())
        .args(["plugin", "test"])
        .args([&component("labels"), &case.config])
        .env("UPDATE_EXPECTED", "1")
        .output()?;
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert_contains(&said(&output), &["`UPDATE_EXPECTED`: nothing is written"]);
    Ok(())
}

/// The variable is for `cargo test`, in which a test has no options.
#[test]
fn a_failing_test_writes_nothing() -> Result<()> {
    let (case, file) = compared()?;
    case.grant("labels", "{ link: [{ verbs: [read] }] }")?;
    let output = Command::new(binary())
        .args(["plugin", "test"])
        .args([&component("labels"), &case.config])
        .args(["--expect", path(&file)?])
        .env("UPDATE_EXPECTED", "1")
        .output()?;
    assert_eq!(output.status.code(), Some(3), "{}", said(&output));
    assert_contains(&said(&output), &["was not compared or written"]);
    assert!(!file.exists());
    Ok(())
}

#[test]
fn a_value_that_the_author_chose_is_compared_as_it_is() -> Result<()> {
    let mut list = after_ptp("labels", json!({}));
    list["plugins"][0] = json!({
        "type": "bridge", "bridge": "tried0", "capabilities": { "mac": true },
        "ipam": { "type": "host-local", "subnet": "10.94.0.0/24" }
    });
    let case = Case::create(&list)?;
    case.write(
        "grant.yaml",
        &fs::read_to_string(example("labels", "grant.yaml"))?,
    )?;
    let file = expected_of(&case);
    let words = |mac: &str| format!("{{ \"mac\": \"{mac}\" }}");
    let own = words("0a:00:00:00:00:01");
    let update = [
        "--expect",
        path(&file)?,
        "--update",
        "--capability-args",
        &own,
    ];
    case.run("labels", &update, 0);
    assert_contains(&fs::read_to_string(&file)?, &["0a:00:00:00:00:01"]);
    let other = words("0a:00:00:00:00:02");
    let expect = ["--expect", path(&file)?, "--capability-args", &other];
    let text = case.said("labels", &expect, 3);
    assert_contains(&text, &["0a:00:00:00:00:01", "0a:00:00:00:00:02"]);
    Ok(())
}

#[test]
fn a_mistake_in_the_file_is_reported_with_its_place() -> Result<()> {
    let (case, file) = compared()?;
    fs::write(&file, "result: {}\nadd: []\n")?;
    let text = case.said("labels", &["--expect", path(&file)?], 1);
    assert_contains(
        &text,
        &["expected.yaml:2:1: unknown key `add`; expected `result`"],
    );
    Ok(())
}
