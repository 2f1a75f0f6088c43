//! The plugin `vrf`: puts the container's interface into a VRF, so that what comes and goes over it is routed by a table
//! of its own. The first attachment makes the VRF, and it goes with its last interface.
//!
//! Errors in the configuration have code 7, the SDK's codes are in [`weir_sdk::codes`], and this is the plugin's own:
//!
//! | code | when |
//! |---|---|
//! | 110 [`codes::TABLE_TAKEN`] | the routing table is another VRF's, or the VRF has another table |

pub mod codes;
mod device;
mod port;
#[cfg(test)]
mod tests;

use weir_sdk::check::wrong;
use weir_sdk::cni::validate_interface_name;
use weir_sdk::store::{self, Access, Location, Transaction};
use weir_sdk::{AddResult, Code, Context, Error, Plugin, Request, check};

/// The plugin.
pub struct Vrf;

/// A plugin configuration of the type `vrf`.
#[weir_sdk::config(default)]
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// The VRF's name.
    pub vrfname: String,
    /// Its routing table, by number; 0 for a free one.
    pub table: u32,
}

/// A directory of all networks, for its lock: the VRFs of a container may be those of several networks.
const DIRECTORY: &str = "/run/cni/vrf";

impl Plugin for Vrf {
    type Config = Config;

    fn add(request: Request<Config>) -> Result<AddResult, Error> {
        let result = request.chained()?.clone();
        let _lock = lock()?;
        let interface = request.container_interface()?;
        port::require_free(&interface)?;
        let vrf = device::ensure(&request.config)?;
        port::enslave(&interface, &vrf)?;
        Ok(result)
    }

    fn del(request: Request<Config>) -> Result<(), Error> {
        // ADD has made nothing of a configuration that it refused.
        if !request.has_container || Self::validate(&request.config).is_err() {
            return Ok(());
        }
        let _lock = lock()?;
        let found = match device::find(&request.config.vrfname) {
            // A link of another kind made ADD fail, and stays.
            Err(error) if error.code == Code::INVALID_CONFIG => None,
            found => found?,
        };
        let Some(vrf) = found else {
            return Ok(());
        };
        port::release(&request, &vrf)?;
        device::delete_unused(&vrf)
    }

    fn check(request: Request<Config>) -> Result<(), Error> {
        let name = request.config.vrfname.as_str();
        check::previous(&request)?;
        let vrf = device::find(name)?;
        let vrf = vrf.ok_or_else(|| wrong(format!("VRF `{name}` does not exist")))?;
        device::require_table(&vrf, request.config.table)?;
        let interface = request.container_interface()?;
        if interface.master == Some(vrf.link.index) {
            return Ok(());
        }
        let ifname = &interface.name;
        Err(wrong(format!("`{ifname}` is not in VRF `{name}`")))
    }

    fn validate(config: &Config) -> Result<(), Error> {
        if config.vrfname.is_empty() {
            let msg = "vrfname: missing: it names the VRF that the interface is put into";
            return Err(Error::invalid_config(msg));
        }
        validate_interface_name(&config.vrfname)
            .map_err(|error| Error::invalid_config(format!("vrfname: {}", error.msg)))
    }
}

/// Waits until no other attachment changes VRFs, which none does for long. The lock is held until it is dropped.
fn lock() -> Result<Transaction, Error> {
    let directory = Location::SharedDirectory(DIRECTORY.to_owned());
    store::open(&directory, Access::Write).context(format!("cannot lock `{DIRECTORY}`"))
}

weir_sdk::export!(Vrf);
