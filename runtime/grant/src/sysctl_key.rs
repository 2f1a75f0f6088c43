//! Keys of kernel parameters below `net.`.

/// Returns the parts of a key below `net.`, as files and directories of `/proc/sys/net`. A slash stands for a dot in
/// the name of a link.
pub fn segments(key: &str) -> impl Iterator<Item = String> {
    key.split('.')
        .skip(1)
        .map(|segment| segment.replace('/', "."))
}

/// Says why this is not a parameter's key.
///
/// Each key has one path and each path one key, so that a grant for a key is a grant for a file.
pub fn flaw_of_key(key: &str) -> Option<String> {
    let below_net = key.strip_prefix("net.");
    let is_key = below_net.is_some_and(|rest| rest.split('.').all(is_name));
    (!is_key).then(|| {
        format!(
            "`{}` is not a key below `net.`, such as `net.ipv4.ip_forward`, or \
             `net.ipv4.conf.eth0/1.forwarding` for the link `eth0.1`",
            key.escape_debug()
        )
    })
}

/// Whether a segment, in which a slash stands for a dot, names a file.
fn is_name(segment: &str) -> bool {
    let forbidden = |c: char| c.is_whitespace() || c.is_control();
    !matches!(segment, "" | "/" | "//") && !segment.contains(forbidden)
}
