//! IP addresses with a prefix length, and what is wrong with a text that is not one.

use std::net::IpAddr;

use ipnet::IpNet;

/// Parses an IP address with its prefix length, such as `10.1.0.5/16`.
///
/// # Errors
///
/// What is expected in place of the text, to follow "expected": a prefix length where there is only an address.
///
/// ```
/// let expected = weir_cni::parse_cidr("10.1.0.5").unwrap_err();
/// assert_eq!(expected, "a prefix length after the address, such as `10.1.0.5/32`");
/// ```
pub fn parse_cidr(text: &str) -> Result<IpNet, String> {
    text.parse()
        .map_err(|_| expected(text, |address| IpNet::from(address).max_prefix_len()))
}

/// Parses a subnet, such as `10.1.0.0/24`.
///
/// # Errors
///
/// As [`parse_cidr`]; the prefix length of its example is one that subnets have.
///
/// ```
/// let expected = weir_cni::parse_subnet("10.1.0.0").unwrap_err();
/// assert_eq!(expected, "a prefix length after the address, such as `10.1.0.0/24`");
/// ```
pub fn parse_subnet(text: &str) -> Result<IpNet, String> {
    let usual = |address: IpAddr| if address.is_ipv4() { 24 } else { 64 };
    text.parse().map_err(|_| expected(text, usual))
}

/// What is expected in place of the text. `usual` is the prefix length for an example.
fn expected(text: &str, usual: impl Fn(IpAddr) -> u8) -> String {
    let (address, length) = match text.split_once('/') {
        Some((address, length)) => (address, Some(length)),
        None => (text, None),
    };
    let Ok(address) = address.parse::<IpAddr>() else {
        return "an IP address with a prefix length, such as `10.1.0.5/16`".to_owned();
    };
    let most = IpNet::from(address).max_prefix_len();
    match length {
        None => {
            let length = usual(address);
            format!("a prefix length after the address, such as `{address}/{length}`")
        }
        Some(_) => format!("a prefix length from 0 to {most} after the address"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_says_which_part_is_missing_or_wrong() {
        for (text, expected) in [
            (
                "10.0.0.1",
                "a prefix length after the address, such as `10.0.0.1/32`",
            ),
            (
                "2001:DB8::1",
                "a prefix length after the address, such as `2001:db8::1/128`",
            ),
            (
                "10.0.0.0/33",
                "a prefix length from 0 to 32 after the address",
            ),
            ("fd00::/", "a prefix length from 0 to 128 after the address"),
            (
                "10.0.0.0/255.0.0.0",
                "a prefix length from 0 to 32 after the address",
            ),
            (
                "10.0.0/8",
                "an IP address with a prefix length, such as `10.1.0.5/16`",
            ),
            (
                "",
                "an IP address with a prefix length, such as `10.1.0.5/16`",
            ),
        ] {
            assert_eq!(parse_cidr(text), Err(expected.to_owned()), "{text}");
        }
        assert!(parse_cidr("10.0.0.1/0").is_ok());
        let expected = "a prefix length after the address, such as `fd00::/64`";
        assert_eq!(parse_subnet("fd00::"), Err(expected.to_owned()));
        assert_eq!(parse_subnet("10.0.0.0/8"), parse_cidr("10.0.0.0/8"));
    }
}
