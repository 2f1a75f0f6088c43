//! The address of an attachment.

use std::net::Ipv4Addr;

use anyhow::Result;

use crate::lease;
use crate::request::{Ipam, Request};

/// Assigns one.
pub fn assign(request: &Request) -> Result<Ipv4Addr> {
    match &request.ipam {
        Ipam::Leases(store) => lease::take(store, request),
        Ipam::Fixed(address) => Ok(*address),
    }
}

/// Fails unless the address is this attachment's.
pub fn check(request: &Request, address: Ipv4Addr) -> Result<()> {
    match &request.ipam {
        Ipam::Leases(store) => lease::holds(store, request, address),
        Ipam::Fixed(_) => Ok(()),
    }
}

/// Gives the address back.
pub fn release(request: &Request, address: Ipv4Addr) -> Result<()> {
    match &request.ipam {
        Ipam::Leases(store) => lease::release(store, address),
        Ipam::Fixed(_) => Ok(()),
    }
}
