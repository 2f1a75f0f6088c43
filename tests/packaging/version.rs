//! `weir version`.

use anyhow::Result;
use serde_json::{Value, json};
use weir_kit::{STANDARD, assert_contains, assert_lacks, house, target, toolchain};

use super::weir;

fn version(arguments: &[&str]) -> Result<Value> {
    let text = weir(&[&["version", "--output", "json"], arguments].concat())?;
    Ok(serde_json::from_str(&text)?)
}

#[test]
fn it_says_which_weir_this_is() -> Result<()> {
    assert_eq!(weir(&["version"])?, weir(&["--version"])?);
    assert_eq!(
        version(&[])?,
        json!({ "version": env!("CARGO_PKG_VERSION") })
    );
    Ok(())
}

#[test]
fn it_says_what_is_built_in() -> Result<()> {
    let built = version(&["--build"])?;
    assert_eq!(built["target"], target());
    let lock = std::fs::read_to_string(house().join("Cargo.lock"))?;
    let wasmtime = format!("name = \"wasmtime\"\nversion = {}\n", built["wasmtime"]);
    assert_contains(&lock, &[&wasmtime]);
    let rustc = built["rustc"]
        .as_str()
        .and_then(|text| text.split(' ').next());
    assert_eq!(rustc, Some(toolchain()?.as_str()));
    assert_eq!(built["optimised"], false);
    for absent in ["commit", "profile", "layout"] {
        assert_eq!(built.get(absent), None, "{built}");
    }
    Ok(())
}

#[test]
fn its_plugins_are_those_that_it_runs() -> Result<()> {
    let built = version(&["--build"])?;
    let listed: Vec<Value> = serde_json::from_str(&weir(&["plugin", "list", "--output", "json"])?)?;
    let own = listed
        .iter()
        .filter(|plugin| plugin["builtIn"] == true || plugin["built_in"] == true);
    let own: Vec<Value> = own
        .map(|plugin| json!({ "name": plugin["name"], "digest": plugin["digest"] }))
        .collect();
    assert_eq!(built["plugins"], json!(own));
    let names: Vec<&Value> = own.iter().map(|plugin| &plugin["name"]).collect();
    assert_eq!(json!(names), json!(STANDARD));
    Ok(())
}

#[test]
fn it_says_the_same_to_people_and_not_where_it_was_built() -> Result<()> {
    let text = weir(&["version", "--build"])?;
    let built = version(&["--build"])?;
    for (title, fact) in built.as_object().into_iter().flatten() {
        if let Some(fact) = fact.as_str() {
            assert_contains(&text, &[fact]);
            assert!(
                title == "version" || text.contains(title),
                "{title}: {text}"
            );
        }
    }
    assert_contains(
        &text,
        &[
            "commit      not recorded",
            "profile     none",
            "layout      none",
        ],
    );
    let here = house().canonicalize()?.display().to_string();
    assert_lacks(&text, &[&here, "/target/"]);
    Ok(())
}
