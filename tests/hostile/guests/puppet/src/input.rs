//! What the plugin was called with, as it can write it to the log.

use serde_json::{Value, json};
use weir_sdk::bindings::weir::cni::cni::{GcRequest, Request, StatusRequest};

/// One call of the plugin.
pub struct CommandInput {
    pub command: &'static str,
    pub config: String,
    parameters: String,
    previous: String,
}

impl CommandInput {
    /// A call about an attachment.
    pub fn of(command: &'static str, request: &Request) -> Self {
        let parameters = json!({
            "containerId": request.container_id,
            "ifname": request.ifname,
            "network": request.network,
            "args": request.args,
            "sandbox": request.sandbox,
            "hasContainer": request.has_container,
        });
        let previous = request.previous.as_ref();
        Self {
            command,
            config: request.config.clone(),
            parameters: parameters.to_string(),
            previous: previous.map_or_else(|| "none".to_owned(), |p| p.dns.search.join(" ")),
        }
    }

    /// A call about the node.
    pub fn of_status(request: &StatusRequest) -> Self {
        Self::of_node("STATUS", &request.config, "")
    }

    /// A call about the attachments that are valid.
    pub fn of_gc(request: &GcRequest) -> Self {
        let valid = request.valid_attachments.iter();
        let valid: Vec<String> = valid
            .map(|valid| format!("{}/{}", valid.container_id, valid.ifname))
            .collect();
        Self::of_node("GC", &request.config, &valid.join(" "))
    }

    fn of_node(command: &'static str, config: &str, parameters: &str) -> Self {
        Self {
            command,
            config: config.to_owned(),
            parameters: parameters.to_owned(),
            previous: String::new(),
        }
    }

    /// What one of these orders wants to know: the configuration without the orders, the parameters of the
    /// attachment or the valid attachments, or the marks that the previous result has.
    pub fn say(&self, order: &str) -> Option<String> {
        match order {
            "input.config" => Some(self.own_config()),
            "input.parameters" => Some(self.parameters.clone()),
            "input.previous" => Some(self.previous.clone()),
            _ => None,
        }
    }

    fn own_config(&self) -> String {
        let mut config: Value = serde_json::from_str(&self.config).unwrap_or_default();
        if let Some(keys) = config.as_object_mut() {
            keys.remove("orders");
        }
        config.to_string()
    }
}
