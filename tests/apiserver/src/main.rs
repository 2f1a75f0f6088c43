//! A stand-in for the Kubernetes API server: what weir, its tests and its figures need of one.
//!
//! It behaves as the real one where a client can tell: TLS, bearer tokens and client certificates, RBAC,
//! `Status` objects, resource versions, patches, watches. It does what a test asks beside that: faults,
//! and a record of the requests.
//!
//! Standard output has one JSON document a line, the first of which says how to reach it; standard input
//! has commands (`control`), and its end is the program's.

mod access;
mod answer;
mod control;
mod discovery;
mod fault;
mod object;
mod patch;
mod route;
mod serve;
mod status;
mod store;
mod tls;
mod watch;
mod world;

use std::net::Ipv4Addr;

use anyhow::{Context, Result};
use serde_json::json;
use tokio::net::TcpListener;

use self::tls::Authority;
use self::world::World;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let authority = Authority::new()?;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await;
    let listener = listener.context("listen on 127.0.0.1: is the loopback interface up?")?;
    let world = World::new();
    let address = listener.local_addr()?;
    control::say(&json!({
        "server": format!("https://{address}"),
        "ca": authority.certificate(),
        "token": world.token_of(access::WEIR),
        "namespace": "default",
    }))
    .await?;
    let acceptor = authority.acceptor()?;
    tokio::spawn(serve::serve(listener, acceptor, world.clone()));
    control::obey(&world, &authority).await
}
