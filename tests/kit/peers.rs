//! Files that peers publish, as data to test against. They are not weir's, and not in the repository.

use std::env;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};

/// Where they are, if not beside the house.
const PLACE: &str = "WEIR_PEERS";

/// The text of a file, such as `multus-4.3.0/multus-daemonset.yml`.
///
/// Errors: it is not there; how to get it.
pub fn peer(file: &str) -> Result<String> {
    let place = env::var_os(PLACE).map(PathBuf::from);
    let place = place.unwrap_or_else(|| super::house().join("../shared/peers"));
    let path = place.join(file);
    fs::read_to_string(&path).with_context(|| {
        format!(
            "`{}`: let {PLACE} name a directory that has it; `multus-4.3.0` are the files of `deployments` in \
             https://github.com/k8snetworkplumbingwg/multus-cni at v4.3.0",
            path.display()
        )
    })
}
