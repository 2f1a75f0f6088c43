//! The key `dns` of a plugin that delegates to an IPAM plugin.

use serde::Deserialize;
use weir_cni::Dns;

/// DNS settings, in place of the IPAM plugin's. An empty list is a setting too, as with the reference plugins: it
/// removes what the IPAM plugin names.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct DnsKeys {
    nameservers: Option<Vec<String>>,
    domain: String,
    search: Option<Vec<String>>,
    options: Option<Vec<String>>,
}

impl DnsKeys {
    /// Puts the settings in place of the IPAM plugin's, unless the configuration has none.
    pub fn apply(&self, dns: &mut Dns) {
        let lists = [&self.nameservers, &self.search, &self.options];
        if self.domain.is_empty() && lists.into_iter().all(Option::is_none) {
            return;
        }
        let [nameservers, search, options] = lists.map(|list| list.clone().unwrap_or_default());
        *dns = Dns {
            nameservers,
            domain: self.domain.clone(),
            search,
            options,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn applied(text: &str) -> Dns {
        let mut dns = Dns {
            domain: "ipam.example".to_owned(),
            ..Dns::default()
        };
        let keys: DnsKeys = serde_json::from_str(text).unwrap();
        keys.apply(&mut dns);
        dns
    }

    #[test]
    fn an_empty_list_is_a_setting_and_an_empty_object_is_none() {
        for none in ["{}", r#"{"domain": ""}"#, r#"{"nameservers": null}"#] {
            assert_eq!(applied(none).domain, "ipam.example", "{none}");
        }
        for key in ["nameservers", "search", "options"] {
            let text = format!(r#"{{"{key}": []}}"#);
            assert_eq!(applied(&text), Dns::default(), "{text}");
        }
        let named = applied(r#"{"domain": "example.com", "search": ["a.example"]}"#);
        assert_eq!(named.domain, "example.com");
        assert_eq!(named.search, ["a.example"]);
    }
}
