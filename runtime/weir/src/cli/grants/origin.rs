//! Whose a plugin is: weir's own, or that of a third party.

use anyhow::{Result, anyhow};
use serde::Serialize;
use weir_grant::pattern::Pattern;
use weir_grant::{Capabilities, internal_grant};
use weir_sandbox::Catalogue;

/// Whose a plugin is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Whose {
    /// It comes with weir, inside the binary.
    Shipped,
    /// A component that somebody installed.
    ThirdParty,
    /// A program outside the sandbox.
    Native,
    /// weir itself.
    Weir,
}

impl Whose {
    /// Whose the component is that runs under this name.
    pub fn of(plugin: &str) -> Self {
        if Catalogue::is_built_in(plugin) {
            Self::Shipped
        } else {
            Self::ThirdParty
        }
    }

    /// Returns the word in a column. Third parties stand out.
    pub fn word(self) -> &'static str {
        match self {
            Self::Shipped => "shipped",
            Self::ThirdParty => "THIRD PARTY",
            Self::Native => "NATIVE",
            Self::Weir => "weir itself",
        }
    }
}

/// Returns what weir may do on its own behalf to whichever interface the attachment has.
pub fn rules_of_weir() -> Result<Capabilities> {
    let interface = Pattern::try_from("{ifname}".to_owned()).map_err(|why| anyhow!(why))?;
    Ok(internal_grant::capabilities(vec![interface]))
}

/// Returns all that weir may do on its own behalf, each with where that is fixed.
pub fn all_rules_of_weir() -> Result<[(&'static str, Capabilities); 2]> {
    Ok([
        ("fixed in the binary", rules_of_weir()?),
        (
            "fixed in the binary, for `weir uninstall`",
            internal_grant::handover(),
        ),
    ])
}
