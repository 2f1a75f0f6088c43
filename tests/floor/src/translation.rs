//! What `portmap` and `ipMasq` have in nftables: where the host's ports lead to, and whose source is masqueraded.
//!
//! The table is there after the first attachment, which `nft` makes it in and which is not measured. Each attachment is
//! a transaction of elements then, as it is with a plugin.

use std::io::Write;
use std::net::Ipv4Addr;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use netlink_bindings::conntrack::PushConntrackAttrs;
use netlink_bindings::nftables::PushSetelemListAttrs;
use nix::errno::Errno;

use crate::netfilter::{Batch, CONNTRACK, NFTABLES, Netfilter};
use crate::request::{Mapping, Request};

const TABLE: &[u8] = b"floor";
const PORTS: &[u8] = b"ports";
const PODS: &[u8] = b"pods";

/// `NFT_MSG_NEWSETELEM`, `NFT_MSG_DELSETELEM`, `IPCTNL_MSG_CT_DELETE`.
const NEW_ELEMENTS: u8 = 12;
const DELETE_ELEMENTS: u8 = 14;
const DELETE_CONNECTIONS: u8 = 2;

const UDP: u8 = 17;

/// `CTA_FILTER_F_CTA_PROTO_NUM`, `CTA_FILTER_F_CTA_PROTO_DST_PORT`.
const BY_PROTOCOL_AND_PORT: u32 = 1 << 3 | 1 << 5;

/// Maps the ports of the request to its address.
pub fn add(request: &Request, address: Ipv4Addr) -> Result<()> {
    let mut socket = Netfilter::open()?;
    match change(&mut socket, NEW_ELEMENTS, request, address) {
        Err(error) if error.downcast_ref() == Some(&Errno::ENOENT) => {
            make_table(request)?;
            // The kernel has more to say over the other one.
            socket = Netfilter::open()?;
            change(&mut socket, NEW_ELEMENTS, request, address)?;
        }
        outcome => outcome?,
    }
    for mapping in request.mappings.iter().filter(|m| m.protocol == UDP) {
        forget(&mut socket, mapping)?;
    }
    Ok(())
}

/// Takes them back.
pub fn remove(request: &Request, address: Ipv4Addr) -> Result<()> {
    change(&mut Netfilter::open()?, DELETE_ELEMENTS, request, address)
}

fn change(socket: &mut Netfilter, kind: u8, request: &Request, address: Ipv4Addr) -> Result<()> {
    let mut batch = Batch::new(NFTABLES);
    batch.push(kind, |bytes| {
        let list = PushSetelemListAttrs::new(bytes).push_table_bytes(TABLE);
        let mut list = list.push_set_bytes(PORTS).nested_elements();
        for mapping in &request.mappings {
            let port = part(&mapping.host_port.to_be_bytes());
            let key = [part(&[mapping.protocol]), port].concat();
            let element = list
                .nested_elem()
                .nested_key()
                .push_value(&key)
                .end_nested();
            let port = part(&mapping.container_port.to_be_bytes());
            let target = [part(&address.octets()), port].concat();
            let element = element.nested_data().push_value(&target).end_nested();
            list = element.end_nested();
        }
    });
    batch.push(kind, |bytes| {
        let list = PushSetelemListAttrs::new(bytes).push_table_bytes(TABLE);
        let element = list.push_set_bytes(PODS).nested_elements().nested_elem();
        element.nested_key().push_value(&address.octets());
    });
    socket.transact(batch)
}

/// A part of a concatenation, which fills registers of four bytes.
fn part(value: &[u8]) -> [u8; 4] {
    let mut bytes = [0; 4];
    bytes[..value.len()].copy_from_slice(value);
    bytes
}

/// Has the kernel forget where datagrams to the host's port went before.
fn forget(socket: &mut Netfilter, mapping: &Mapping) -> Result<()> {
    socket.change(CONNTRACK, DELETE_CONNECTIONS, |bytes| {
        let original = PushConntrackAttrs::new(bytes).nested_tuple_orig();
        let protocol = original.nested_tuple_ip().end_nested().nested_tuple_proto();
        let protocol = protocol
            .push_proto_num(UDP)
            .push_proto_dst_port(mapping.host_port);
        let filter = protocol.end_nested().end_nested().nested_filter();
        filter
            .push_orig_flags(BY_PROTOCOL_AND_PORT)
            .push_reply_flags(0);
    })
}

fn make_table(request: &Request) -> Result<()> {
    let Request {
        gateway, prefix, ..
    } = request;
    let table = format!(
        "table inet floor {{
            map ports {{ type inet_proto . inet_service : ipv4_addr . inet_service; }}
            set pods {{ type ipv4_addr; }}
            chain prerouting {{
                type nat hook prerouting priority dstnat
                fib daddr type local dnat ip to meta l4proto . th dport map @ports
            }}
            chain postrouting {{
                type nat hook postrouting priority srcnat
                ip saddr @pods ip daddr != {gateway}/{prefix} masquerade
            }}
        }}"
    );
    let nft = Command::new("nft")
        .args(["-f", "-"])
        .stdin(Stdio::piped())
        .spawn();
    let mut nft = nft.context("run `nft`")?;
    let mut input = nft.stdin.take().expect("piped above");
    input.write_all(table.as_bytes())?;
    drop(input);
    ensure!(nft.wait()?.success(), "`nft` failed");
    Ok(())
}
