//! Conditions in the words of nft(8).

use weir_sdk::firewall::{Condition, Field};
use weir_sdk::{Error, IpFamily};

use super::words::Words;

/// What is understood, for an error.
const EXPECTED: &str = "ip saddr, ip daddr, ip6 saddr, ip6 daddr, iifname, oifname, meta mark, \
                        meta l4proto, tcp, udp, sctp or th with sport or dport, fib saddr type or \
                        fib daddr type";

/// Takes one comparison, which may become two conditions: a port implies its protocol.
pub fn next(words: &mut Words) -> Result<Vec<Condition>, Error> {
    let word = words.take_after("")?;
    match word.as_str() {
        "ip" if words.family() == IpFamily::Ipv4 => address(words, &word),
        "ip6" if words.family() == IpFamily::Ipv6 => address(words, &word),
        "iifname" => one(name(words, Field::InputLinkName, &word)),
        "oifname" => one(name(words, Field::OutputLinkName, &word)),
        "meta" => one(meta(words)),
        "tcp" | "udp" | "sctp" => {
            let protocol = words.protocol(&word, false)?;
            Ok(vec![protocol, port(words, &word)?])
        }
        "th" => one(port(words, &word)),
        "fib" => one(address_type(words)),
        _ => Err(words.unknown(&word, EXPECTED)),
    }
}

fn one(condition: Result<Condition, Error>) -> Result<Vec<Condition>, Error> {
    condition.map(|condition| vec![condition])
}

/// The value after an operator, which may be left out.
fn compared(words: &mut Words, before: &str) -> Result<(bool, String), Error> {
    let negate = words.take_if("!=");
    if !negate {
        words.take_if("==");
    }
    Ok((negate, words.take_after(before)?))
}

fn address(words: &mut Words, before: &str) -> Result<Vec<Condition>, Error> {
    let side = words.take_after(before)?;
    let field = match side.as_str() {
        "saddr" => words.address_field(true),
        "daddr" => words.address_field(false),
        _ => return Err(words.unknown(&side, "saddr or daddr")),
    };
    let (negate, value) = compared(words, &side)?;
    one(words.within(field, &value, negate))
}

fn name(words: &mut Words, field: Field, before: &str) -> Result<Condition, Error> {
    let (negate, value) = compared(words, before)?;
    words.name(field, &value, negate)
}

fn meta(words: &mut Words) -> Result<Condition, Error> {
    let key = words.take_after("meta")?;
    match key.as_str() {
        "iifname" => name(words, Field::InputLinkName, &key),
        "oifname" => name(words, Field::OutputLinkName, &key),
        "mark" => {
            let (negate, value) = compared(words, &key)?;
            words.mark(&value, negate)
        }
        "l4proto" => {
            let (negate, value) = compared(words, &key)?;
            words.protocol(&value, negate)
        }
        _ => Err(words.unknown(&key, "iifname, oifname, mark or l4proto")),
    }
}

fn port(words: &mut Words, before: &str) -> Result<Condition, Error> {
    let side = words.take_after(before)?;
    let field = match side.as_str() {
        "sport" => Field::SourcePort,
        "dport" => Field::DestinationPort,
        _ => return Err(words.unknown(&side, "sport or dport")),
    };
    let (negate, value) = compared(words, &side)?;
    words.port(field, &value, negate)
}

fn address_type(words: &mut Words) -> Result<Condition, Error> {
    let side = words.take_after("fib")?;
    let field = match side.as_str() {
        "saddr" => Field::SourceAddressType,
        "daddr" => Field::DestinationAddressType,
        _ => return Err(words.unknown(&side, "saddr or daddr")),
    };
    let word = words.take_after(&side)?;
    if word != "type" {
        return Err(words.unknown(&word, "type"));
    }
    let (negate, value) = compared(words, &word)?;
    words.address_type(field, &value, negate)
}
