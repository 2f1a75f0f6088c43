//! The plugin `sbr`: what a container sends from an address of this interface is routed by a table of that address.
//!
//! It comes after the plugin that made the interface. Without it, a container with several interfaces answers over whichever
//! its main routing table prefers. With the key `table` it only adds the rules, and the routes are somebody else's.
//!
//! Errors in the configuration have code 7, the SDK's codes are in [`weir_sdk::codes`].

pub mod config;
mod record;
mod routes;
mod source;
#[cfg(test)]
mod tests;

use weir_sdk::{AddResult, Error, GcRequest, Plugin, Request, check};

use config::Config;
use routes::SourceTable;
use source::Source;

/// The plugin.
pub struct Sbr;

impl Plugin for Sbr {
    type Config = Config;

    fn add(request: Request<Config>) -> Result<AddResult, Error> {
        let config = &request.config;
        let result = request.chained()?.clone();
        let ips = source::require(&result, &request.ifname)?;
        let link = request.container_interface()?;
        if config.table.is_some() {
            let sources = record::choose(&request, &ips, &[])?;
            sources.iter().try_for_each(Source::add)?;
        } else {
            let routes = routes::all()?;
            let sources = record::choose(&request, &ips, &routes)?;
            let source_tables = SourceTable::all(config, &ips, &sources);
            routes::move_all(config, &link, routes, &source_tables)?;
        }
        Ok(result)
    }

    fn del(request: Request<Config>) -> Result<(), Error> {
        // The routes go with the interface.
        let sources = record::of_attachment(&request)?;
        sources.iter().try_for_each(Source::remove)?;
        record::remove(&request)
    }

    fn check(request: Request<Config>) -> Result<(), Error> {
        let config = &request.config;
        let ips = source::require(check::previous(&request)?, &request.ifname)?;
        let link = request.container_interface()?;
        let ruled = source::ruled()?;
        let recorded = record::of_attachment(&request)?;
        let mut sources = Vec::new();
        for ip in &ips {
            let address = ip.address.addr();
            let is_own = |source: &&Source| source.address == address && recorded.contains(source);
            let found = ruled.iter().find(is_own);
            let missing = || check::wrong(format!("no policy rule for packets from {address}"));
            sources.push(*found.ok_or_else(missing)?);
        }
        if config.table.is_some() {
            return Ok(());
        }
        routes::check(config, &link, &SourceTable::all(config, &ips, &sources))
    }

    fn gc(request: GcRequest<Config>) -> Result<(), Error> {
        record::retain(&request)
    }

    fn validate(config: &Config) -> Result<(), Error> {
        config.validate()
    }
}

weir_sdk::export!(Sbr);
