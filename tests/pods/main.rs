//! Pods: weir as the delegating plugin of a Kubernetes node, against an API server.

mod away;
mod configuration;
mod crash;
mod daemon;
mod default_route;
mod definitions;
mod examples;
mod grants;
mod interfaces;
mod many;
mod multus;
mod native;
mod order;
mod origins;
mod outside;
mod readiness;
mod selection;
mod stand_in;
mod state;
mod status;
mod uris;
mod world;
