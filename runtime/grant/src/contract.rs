//! The names of the contract's interfaces, such as `weir:cni/link@0.2.0`. Most are called like their capability.

/// The package of the contract, with what separates it from an interface's own name.
const PACKAGE: &str = "weir:cni/";

/// An interface of the contract, as a component names it in an import or an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContractInterface<'a> {
    /// `link`.
    pub name: &'a str,
    /// `0.2.0`; empty if the component names none.
    pub version: &'a str,
}

impl<'a> ContractInterface<'a> {
    /// Reads the name of an import or an export. Returns none for what is not an interface of the contract.
    pub fn parse(name: &'a str) -> Option<Self> {
        let name = name.strip_prefix(PACKAGE)?;
        let (name, version) = name.split_once('@').unwrap_or((name, ""));
        Some(Self { name, version })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interface_has_a_name_and_may_have_a_version() {
        let parsed = |text| ContractInterface::parse(text).map(|i| (i.name, i.version));
        assert_eq!(parsed("weir:cni/link@0.2.0"), Some(("link", "0.2.0")));
        assert_eq!(parsed("weir:cni/link"), Some(("link", "")));
        assert_eq!(parsed("weir:cni@0.2.0"), None);
        assert_eq!(parsed("wasi:cli/exit@0.2.6"), None);
        assert_eq!(parsed("my-weir:cni/link@0.2.0"), None);
    }
}
