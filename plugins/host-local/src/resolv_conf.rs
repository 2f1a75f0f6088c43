//! Resolver configuration files, resolv.conf(5).

use weir_sdk::Dns;

/// Returns the name servers, domain, search list and options. Other lines and comments are skipped; of several
/// domains the last counts.
pub fn parse(text: &str) -> Dns {
    let mut dns = Dns::default();
    for line in text.lines() {
        let mut words = line.split_whitespace();
        let (Some(keyword), Some(first)) = (words.next(), words.next()) else {
            continue;
        };
        let all = || std::iter::once(first).chain(words).map(str::to_owned);
        match keyword {
            "nameserver" => dns.nameservers.push(first.to_owned()),
            "domain" => dns.domain = first.to_owned(),
            "search" => dns.search.extend(all()),
            "options" => dns.options.extend(all()),
            _ => {}
        }
    }
    dns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_it_knows() {
        let dns = parse(
            "# comment\n; comment\n\nnameserver 192.0.2.1\n  nameserver 2001:db8::1 trailing\n\
             domain example.net\ndomain example.com\nsearch a.example b.example\nsearch c.example\n\
             options ndots:2 edns0\r\nsortlist 192.0.2.0\nnameserver\n#nameserver 192.0.2.9\n",
        );
        assert_eq!(dns.nameservers, ["192.0.2.1", "2001:db8::1"]);
        assert_eq!(dns.domain, "example.com");
        assert_eq!(dns.search, ["a.example", "b.example", "c.example"]);
        assert_eq!(dns.options, ["ndots:2", "edns0"]);
    }
}
