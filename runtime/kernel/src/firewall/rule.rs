//! A rule's conditions and statements, translated into expressions.

use std::net::IpAddr;

use ipnet::IpNet;
use netlink_bindings::nftables::{NatRangeFlags, RejectInetCode, RejectTypes};
use weir_grant::firewall::{
    Condition, Family, Field, MapLookup, MarkChange, Nat, NatOptions, NatTarget, Rule, Statement,
    Value, Verdict,
};

use super::expression::{Expressions, NatRegisters, Register};
use super::family::protocol_family;
use super::field::{self, IPV4, IPV6, Known};
use super::value::Format;
use crate::error::{Error, Result, WhileDoing as _};

/// `NFT_NAT_SNAT` and `NFT_NAT_DNAT`.
const SOURCE_NAT: u32 = 0;
const DESTINATION_NAT: u32 = 1;

/// `ICMP_PORT_UNREACH` and `ICMPV6_PORT_UNREACH`.
const ICMP_PORT_UNREACHABLE: u8 = 3;
const ICMPV6_PORT_UNREACHABLE: u8 = 4;

/// `IPPROTO_TCP`.
const TCP: u32 = 6;

/// The data registers have 64 bytes in all.
const LONGEST_KEY: usize = 64;

/// The kernel sends each new rule back in one page.
const LARGEST_RULE: usize = 3 << 10;

/// Translates a rule for a table of a family.
///
/// Errors: `Invalid` for values that do not fit their fields, fields that the family's packets
/// do not have, a statement behind a verdict, and a rule that is too large.
pub(super) fn expressions(family: Family, rule: &Rule) -> Result<Expressions> {
    let mut program = Program {
        family,
        expressions: Expressions::default(),
        known: Known::default(),
        is_tcp: false,
    };
    for condition in &rule.conditions {
        program.condition(condition)?;
    }
    let last = rule.statements.len().saturating_sub(1);
    for (index, statement) in rule.statements.iter().enumerate() {
        if index < last && is_final(statement) {
            return Err(Error::invalid(format!(
                "`{}` must be the last statement of a rule",
                statement.kind()
            )));
        }
        program.statement(statement)?;
    }
    if program.expressions.bytes().len() > LARGEST_RULE {
        return Err(Error::invalid(
            "the rule is too large: put what it compares with into a set",
        ));
    }
    Ok(program.expressions)
}

fn is_final(statement: &Statement) -> bool {
    !matches!(
        statement,
        Statement::SetMark(_)
            | Statement::SetConnectionMark(_)
            | Statement::Counter
            | Statement::Notrack
    )
}

struct Program {
    family: Family,
    expressions: Expressions,
    known: Known,
    is_tcp: bool,
}

impl Program {
    fn condition(&mut self, condition: &Condition) -> Result<()> {
        match condition {
            Condition::Equals {
                field,
                value,
                negate,
            } => self.equals(*field, value, *negate),
            Condition::Within {
                field,
                network,
                negate,
            } => self.within(*field, network, *negate),
            Condition::Masked {
                field,
                mask,
                value,
                negate,
            } => self.masked(*field, *mask, *value, *negate),
            Condition::InSet {
                fields,
                set,
                negate,
            } => {
                self.load_key(fields)?;
                self.expressions.look_up(Register::FIRST, set, *negate);
                Ok(())
            }
        }
    }

    fn equals(&mut self, field: Field, value: &Value, negate: bool) -> Result<()> {
        let bytes = field::format(field)
            .encode(value)
            .while_doing(format_args!("compare `{field}`"))?;
        self.load(field, Register::FIRST)?;
        self.expressions.compare(Register::FIRST, negate, &bytes);
        match (field, value, negate) {
            (Field::NetworkProtocol, Value::Number(2), false) => self.known.note_network(IPV4),
            (Field::NetworkProtocol, Value::Number(10), false) => self.known.note_network(IPV6),
            (Field::TransportProtocol, Value::Number(TCP), false) => self.is_tcp = true,
            _ => {}
        }
        Ok(())
    }

    fn within(&mut self, field: Field, network: &IpNet, negate: bool) -> Result<()> {
        let bytes = field::format(field)
            .encode(&Value::Address(network.network()))
            .while_doing(format_args!("compare `{field}` with the network {network}"))?;
        self.load(field, Register::FIRST)?;
        if network.prefix_len() < network.max_prefix_len() {
            let mask = octets(network.netmask());
            self.expressions
                .mask(Register::FIRST, &mask, &vec![0; mask.len()]);
        }
        self.expressions.compare(Register::FIRST, negate, &bytes);
        Ok(())
    }

    fn masked(&mut self, field: Field, mask: u32, value: u32, negate: bool) -> Result<()> {
        if field::format(field) != Format::Word {
            return Err(Error::invalid(format!(
                "`{field}` has no bit mask: only marks and connection states have"
            )));
        }
        self.load(field, Register::FIRST)?;
        self.expressions
            .mask(Register::FIRST, &mask.to_ne_bytes(), &[0; 4]);
        self.expressions
            .compare(Register::FIRST, negate, &value.to_ne_bytes());
        Ok(())
    }

    fn load(&mut self, field: Field, to: Register) -> Result<()> {
        self.known
            .require(&mut self.expressions, self.family, field)?;
        field::load(&mut self.expressions, field, to);
        Ok(())
    }

    /// Loads fields side by side, as the key of a set or map.
    fn load_key(&mut self, fields: &[Field]) -> Result<()> {
        let length: usize = fields
            .iter()
            .map(|f| field::format(*f).length().next_multiple_of(4))
            .sum();
        if fields.is_empty() || length > LONGEST_KEY {
            return Err(Error::invalid(format!(
                "a key has 1 to {LONGEST_KEY} bytes, and these fields have {length}"
            )));
        }
        // What a field needs is compared in the first register: before the key lies there.
        for field in fields {
            self.known
                .require(&mut self.expressions, self.family, *field)?;
        }
        let mut to = Register::FIRST;
        for field in fields {
            field::load(&mut self.expressions, *field, to);
            to = to.after(field::format(*field).length());
        }
        Ok(())
    }

    fn statement(&mut self, statement: &Statement) -> Result<()> {
        match statement {
            Statement::Accept => self.expressions.verdict(&Verdict::Accept),
            Statement::Drop => self.expressions.verdict(&Verdict::Drop),
            Statement::Return => self.expressions.verdict(&Verdict::Return),
            Statement::Jump(chain) => self.expressions.verdict(&Verdict::Jump(chain.clone())),
            Statement::Goto(chain) => self.expressions.verdict(&Verdict::Goto(chain.clone())),
            Statement::VerdictMap(lookup) => self.map(lookup, Register::VERDICT)?,
            Statement::Masquerade(options) => self.expressions.masquerade(nat_flags(*options)),
            Statement::Snat(nat) => self.translate(SOURCE_NAT, nat)?,
            Statement::Dnat(nat) => self.translate(DESTINATION_NAT, nat)?,
            Statement::SetMark(change) => {
                self.load_mark(Field::Mark, *change);
                self.expressions.set_mark(Register::FIRST);
            }
            Statement::SetConnectionMark(change) => {
                self.load_mark(Field::ConnectionMark, *change);
                self.expressions.set_connection_mark(Register::FIRST);
            }
            Statement::Reject => self.reject(),
            Statement::Counter => self.expressions.counter(),
            Statement::Notrack => self.expressions.notrack(),
        }
        Ok(())
    }

    fn map(&mut self, lookup: &MapLookup, to: Register) -> Result<()> {
        self.load_key(&lookup.fields)?;
        self.expressions.map(Register::FIRST, &lookup.map, to);
        Ok(())
    }

    fn translate(&mut self, kind: u32, nat: &Nat) -> Result<()> {
        let flags = nat_flags(nat.options);
        let (family, to) = match &nat.target {
            NatTarget::Fixed { address, port } => self.fixed_target(*address, *port)?,
            NatTarget::FromMap {
                lookup,
                with_port,
                ipv6,
            } => {
                self.map(lookup, Register::FIRST)?;
                let format = if *ipv6 { Format::Ipv6 } else { Format::Ipv4 };
                let behind = Register::FIRST.after(format.length());
                let to = NatRegisters {
                    address: Some(Register::FIRST),
                    port: with_port.then_some(behind),
                };
                (self.address_family(*ipv6)?, to)
            }
        };
        self.expressions.translate(kind, family, to, flags);
        Ok(())
    }

    fn fixed_target(
        &mut self,
        address: Option<IpAddr>,
        port: Option<u16>,
    ) -> Result<(u8, NatRegisters)> {
        if address.is_none() && port.is_none() {
            return Err(Error::invalid(
                "a translation needs an address, a port or both",
            ));
        }
        let family = match address {
            Some(address) => self.address_family(address.is_ipv6())?,
            None => protocol_family(self.family),
        };
        let mut next = Register::FIRST;
        let mut load = |value: Vec<u8>| {
            let register = next;
            next = register.after(value.len());
            self.expressions.load_value(&value, register);
            register
        };
        let address = address.map(|address| load(octets(address)));
        let port = port.map(|port| load(port.to_be_bytes().to_vec()));
        Ok((family, NatRegisters { address, port }))
    }

    /// The `NFPROTO_…` of a translation to an address.
    fn address_family(&self, ipv6: bool) -> Result<u8> {
        let wrong = if ipv6 { Family::Ip } else { Family::Ip6 };
        if self.family == wrong {
            return Err(Error::invalid(format!(
                "a table of family {wrong} translates no IPv{} addresses",
                if ipv6 { 6 } else { 4 }
            )));
        }
        Ok(if ipv6 { IPV6 } else { IPV4 })
    }

    /// `mark & ~mask | value`, which is `mark & ~(mask | value) ^ value`.
    fn load_mark(&mut self, field: Field, MarkChange { mask, value }: MarkChange) {
        let kept = !(mask | value);
        if kept == 0 {
            return self
                .expressions
                .load_value(&value.to_ne_bytes(), Register::FIRST);
        }
        field::load(&mut self.expressions, field, Register::FIRST);
        let (kept, value) = (kept.to_ne_bytes(), value.to_ne_bytes());
        self.expressions.mask(Register::FIRST, &kept, &value);
    }

    fn reject(&mut self) {
        if self.is_tcp {
            return self.expressions.reject(RejectTypes::TcpRst as u32, 0);
        }
        let (kind, code) = match self.family {
            Family::Ip => (RejectTypes::IcmpUnreach, ICMP_PORT_UNREACHABLE),
            Family::Ip6 => (RejectTypes::IcmpUnreach, ICMPV6_PORT_UNREACHABLE),
            _ => (
                RejectTypes::IcmpxUnreach,
                RejectInetCode::IcmpxPortUnreach as u8,
            ),
        };
        self.expressions.reject(kind as u32, code);
    }
}

/// In network byte order.
pub(super) fn octets(address: IpAddr) -> Vec<u8> {
    match address {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets().to_vec(),
    }
}

fn nat_flags(options: NatOptions) -> u32 {
    let flag = |set: bool, flag: NatRangeFlags| if set { flag as u32 } else { 0 };
    flag(options.random, NatRangeFlags::ProtoRandom)
        | flag(options.fully_random, NatRangeFlags::ProtoRandomFully)
        | flag(options.persistent, NatRangeFlags::Persistent)
}
