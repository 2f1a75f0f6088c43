//! Capability `sysctl`: kernel parameters below `net.`.

use crate::{Context, Error, IpConfig, IpFamily, Namespace, Result};

pub use crate::bindings::weir::cni::sysctl::{read, write};

/// Writes a value unless the key has it already. Errors: `not-found`, `invalid`.
pub fn ensure(namespace: Namespace, key: &str, value: &str) -> Result<()> {
    if read(namespace, key)? == value {
        return Ok(());
    }
    write(namespace, key, value)
}

/// Makes the host forward packets of a family.
pub fn forward(family: IpFamily) -> Result<(), Error> {
    let key = match family {
        IpFamily::Ipv4 => "net.ipv4.ip_forward",
        IpFamily::Ipv6 => "net.ipv6.conf.all.forwarding",
    };
    ensure(Namespace::Host, key, "1").context("cannot enable forwarding")
}

/// Makes the host forward packets of the families of a result's addresses.
pub fn forward_for(ips: &[IpConfig]) -> Result<(), Error> {
    for family in [IpFamily::Ipv4, IpFamily::Ipv6] {
        if ips
            .iter()
            .any(|ip| IpFamily::of(ip.address.addr()) == family)
        {
            forward(family)?;
        }
    }
    Ok(())
}

/// Returns the key of one interface's parameter, for example
/// `interface_key("ipv6.conf", "eth0.1", "accept_dad")`.
pub fn interface_key(table: &str, interface: &str, parameter: &str) -> String {
    let interface = interface_segment(interface);
    format!("net.{table}.{interface}.{parameter}")
}

/// Returns an interface's name as a part of a key, with a slash for each dot.
pub fn interface_segment(interface: &str) -> String {
    interface.replace('.', "/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dots_of_an_interface_name_do_not_separate() {
        assert_eq!(
            interface_key("ipv4.conf", "eth0.1", "arp_notify"),
            "net.ipv4.conf.eth0/1.arp_notify"
        );
    }
}
