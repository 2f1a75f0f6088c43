//! `hostInterfaces` of weir's own configuration, from the options of `weir install`. The other keys are the administrator's.

use std::fs::File;
use std::io::Read;

use anyhow::{Context, Result};
use serde_json::{Map, Value, json};
use weir_files::{Paths, file_trust};

use super::config_file::ConfigFile;

const KEY: &str = "hostInterfaces";

/// weir's configuration with these interfaces; none if it has them already, or there are none.
///
/// Errors: the file cannot be read, or is not a JSON object; or someone other than root could have written it, whose keys
/// would then be in a file of root's.
pub(super) fn with_host_interfaces(
    paths: &Paths,
    interfaces: &[String],
) -> Result<Option<ConfigFile>> {
    if interfaces.is_empty() {
        return Ok(None);
    }
    let path = paths.configuration();
    let mut keys = match file_trust::open(&path, paths.root()) {
        Err(error) if error.is_missing() => Map::new(),
        file => (file.map_err(Into::into).and_then(read))
            .with_context(|| format!("cannot read `{}`", path.display()))?,
    };
    let wanted = json!(interfaces);
    if keys.get(KEY) == Some(&wanted) {
        return Ok(None);
    }
    keys.insert(KEY.to_owned(), wanted);
    let content = format!("{:#}\n", Value::Object(keys));
    Ok(Some(ConfigFile { path, content }))
}

fn read(mut file: File) -> Result<Map<String, Value>> {
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    if bytes.trim_ascii().is_empty() {
        return Ok(Map::new());
    }
    Ok(serde_json::from_slice(&bytes)?)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tempfile::TempDir;

    use super::*;

    /// What is written over a file; none if nothing is.
    fn written(before: Option<&str>, interfaces: &[&str]) -> Result<Option<Value>> {
        let root = TempDir::new()?;
        let paths = Paths::below(root.path());
        if let Some(before) = before {
            let path = paths.configuration();
            fs::create_dir_all(path.parent().context("a directory")?)?;
            fs::write(path, before)?;
        }
        let interfaces: Vec<String> = interfaces.iter().map(ToString::to_string).collect();
        let file = with_host_interfaces(&paths, &interfaces)?;
        Ok(file
            .map(|file| serde_json::from_str(&file.content))
            .transpose()?)
    }

    #[test]
    fn other_keys_stay() -> Result<()> {
        let listed = json!({ "hostInterfaces": ["eth1", "ens*"] });
        let interfaces = ["eth1", "ens*"];
        assert_eq!(written(None, &interfaces)?, Some(listed.clone()));
        assert_eq!(written(Some(""), &interfaces)?, Some(listed.clone()));
        assert_eq!(written(Some(&listed.to_string()), &interfaces)?, None);
        let before = r#"{ "hostInterfaces": ["eth9"], "audit": { "forward": "journald" } }"#;
        let mut expected = listed;
        expected["audit"] = json!({ "forward": "journald" });
        assert_eq!(written(Some(before), &interfaces)?, Some(expected));
        Ok(())
    }

    #[test]
    fn without_interfaces_nothing_is_written() -> Result<()> {
        assert_eq!(written(Some("not JSON"), &[])?, None);
        let error = written(Some("not JSON"), &["eth1"]).expect_err("not JSON");
        assert!(format!("{error:#}").contains("weir.json"), "{error:#}");
        Ok(())
    }
}
