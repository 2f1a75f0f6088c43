//! The administrator's list of the parameters that a configuration may name.
//!
//! A file with one regular expression in a line. Without the file every parameter is allowed that the plugin's grant
//! allows.

use regex_lite::Regex;
use weir_sdk::{Context, Error, Outcome, store};

use crate::codes;
use crate::parameters::Parameter;

const FILE: &str = "/etc/cni/tuning/allowlist.conf";

/// Fails if the list does not have one of the parameters. Keys are compared as they were configured.
pub fn check(parameters: &[Parameter]) -> Result<(), Error> {
    if parameters.is_empty() {
        return Ok(());
    }
    let file = store::read_file(FILE).found();
    let Some(text) = file.context("cannot read the list of allowed parameters")? else {
        return Ok(());
    };
    let allowed = expressions(&text)?;
    let mut keys = parameters.iter().map(|parameter| &parameter.configured);
    keys.try_for_each(|key| check_one(&allowed, key))
}

fn check_one(allowed: &[Regex], key: &str) -> Result<(), Error> {
    if allowed.iter().any(|expression| expression.is_match(key)) {
        return Ok(());
    }
    let key = key.escape_debug();
    let msg = format!("sysctl: `{key}` is not allowed: no line of {FILE} matches it");
    let details = "the administrator of this host decides there which parameters may be set";
    Err(Error::new(codes::NOT_ALLOWED, msg).with_details(details))
}

/// The expressions of the lines that are not empty.
fn expressions(text: &[u8]) -> Result<Vec<Regex>, Error> {
    let text = str::from_utf8(text).map_err(|error| unusable(format!("{FILE}: {error}")))?;
    let lines = text.lines().map(str::trim).zip(1..);
    let lines = lines.filter(|(line, _)| !line.is_empty());
    lines
        .map(|(line, number)| expression(line, number))
        .collect()
}

fn expression(line: &str, number: usize) -> Result<Regex, Error> {
    Regex::new(line).map_err(|error| {
        let line = line.escape_debug();
        unusable(format!(
            "{FILE}, line {number}: `{line}` is not a regular expression: {error}"
        ))
    })
}

fn unusable(msg: String) -> Error {
    Error::new(codes::BAD_ALLOWLIST, msg)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allows(list: &str, key: &str) -> bool {
        check_one(&expressions(list.as_bytes()).unwrap(), key).is_ok()
    }

    #[test]
    fn one_line_that_matches_is_enough() {
        let list = "\n  ^net\\.core\\.somaxconn$ \r\n\n^net.ipv4.conf.IFNAME.[a-z_]*$\n";
        assert!(allows(list, "net.core.somaxconn"));
        assert!(allows(list, "net.ipv4.conf.IFNAME.rp_filter"));
        assert!(!allows(list, "net.core.somaxconn2"));
        assert!(!allows(list, "net.ipv4.ip_forward"));
    }

    #[test]
    fn an_expression_matches_anywhere_in_the_key() {
        assert!(allows("core", "net.core.somaxconn"));
        assert!(allows("max(conn|_dgram)", "net/core/somaxconn"));
        assert!(!allows("^core", "net.core.somaxconn"));
    }

    #[test]
    fn an_empty_list_allows_nothing() {
        assert!(!allows("", "net.core.somaxconn"));
        assert!(!allows("\n \n", "net.core.somaxconn"));
    }

    #[test]
    fn what_is_refused_is_reported_with_the_file() {
        let error = check_one(&[], "net.core.somaxconn").unwrap_err();
        assert_eq!(error.code, codes::NOT_ALLOWED);
        assert!(error.msg.contains("`net.core.somaxconn`"), "{error}");
        assert!(error.msg.contains(FILE), "{error}");
    }

    #[test]
    fn a_bad_expression_is_reported_with_its_line() {
        let error = expressions(b"^net\n\n(net\n").unwrap_err();
        assert_eq!(error.code, codes::BAD_ALLOWLIST);
        assert!(
            error.msg.contains("allowlist.conf, line 3: `(net`"),
            "{error}"
        );
        let error = expressions(b"^net\n\xff\n").unwrap_err();
        assert_eq!(error.code, codes::BAD_ALLOWLIST);
        assert!(error.msg.contains(FILE), "{error}");
    }

    /// What Go's expressions have and administrators use.
    #[test]
    fn classes_counts_and_flags_are_known() {
        for (expression, key) in [
            (
                r"^net\.ipv[46]\.conf\.\w+\.[[:alpha:]_]{2,}$",
                "net.ipv4.conf.all.rp_filter",
            ),
            (r"(?i)^NET\.CORE\.", "net.core.somaxconn"),
            (r"^net\.(?:core|unix)\.", "net.unix.max_dgram_qlen"),
            (r"\bsomaxconn\b", "net.core.somaxconn"),
            (r"^net\.ipv4\.tcp_\S+?\d?$", "net.ipv4.tcp_rfc1337"),
        ] {
            assert!(allows(expression, key), "{expression}");
        }
    }
}
