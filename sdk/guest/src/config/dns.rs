//! The key `dns` of a plugin that delegates to an IPAM plugin.

use serde::Deserialize;
use weir_cni::Dns;

/// DNS settings, in place of the IPAM plugin's. A list that is there and empty counts as a setting, as with the
/// reference plugins: so a network has none although the IPAM plugin names some.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct DnsKeys {
    nameservers: Option<Vec<String>>,
    domain: String,
    search: Option<Vec<String>>,
    options: Option<Vec<String>>,
}

impl DnsKeys {
    /// Returns the settings; none where the configuration leaves them to the IPAM plugin.
    pub fn settings(&self) -> Option<Dns> {
        let lists = [&self.nameservers, &self.search, &self.options];
        let is_set = !self.domain.is_empty() || lists.into_iter().any(Option::is_some);
        let list = |list: &Option<Vec<String>>| list.clone().unwrap_or_default();
        is_set.then(|| Dns {
            nameservers: list(&self.nameservers),
            domain: self.domain.clone(),
            search: list(&self.search),
            options: list(&self.options),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(text: &str) -> Option<Dns> {
        serde_json::from_str::<DnsKeys>(text).unwrap().settings()
    }

    #[test]
    fn an_empty_list_is_a_setting_and_an_empty_object_is_none() {
        for none in ["{}", r#"{"domain": ""}"#, r#"{"nameservers": null}"#] {
            assert_eq!(settings(none), None, "{none}");
        }
        for key in ["nameservers", "search", "options"] {
            let text = format!(r#"{{"{key}": []}}"#);
            assert_eq!(settings(&text), Some(Dns::default()), "{text}");
        }
        let named = settings(r#"{"domain": "example.com", "search": ["a.example"]}"#).unwrap();
        assert_eq!(named.domain, "example.com");
        assert_eq!(named.search, ["a.example"]);
    }
}
