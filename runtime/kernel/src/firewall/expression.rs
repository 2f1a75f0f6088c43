//! The expressions of a rule, as the kernel's small machine runs them on registers.

use netlink_bindings::nftables::{
    BitwiseOps, CmpOps, CtKeys, FibFlags, LookupFlags, MetaKeys, PayloadBase, PushDataAttrs,
    PushExprAttrs, PushExprListAttrs, PushExprMasqAttrs, VerdictCode,
};
use netlink_bindings::traits::Pusher;
use netlink_bindings::utils::{finalize_nested_header, push_header, push_nested_header};
use weir_grant::firewall::Verdict;

/// `NFTA_EXPR_DATA`.
const EXPRESSION_DATA: u16 = 2;

/// `NFT_FIB_RESULT_ADDRTYPE`. The bindings begin to count at 0, the kernel at 1.
const FIB_ADDRESS_TYPE: u32 = 3;

/// `NFTA_LOOKUP_SET`, `NFTA_LOOKUP_SREG`, `NFTA_LOOKUP_DREG`, `NFTA_LOOKUP_FLAGS`. The bindings
/// number them in another order than the kernel.
const LOOKUP_SET: u16 = 1;
const LOOKUP_KEY: u16 = 2;
const LOOKUP_TO: u16 = 3;
const LOOKUP_FLAGS: u16 = 5;

/// `IP_CT_DIR_ORIGINAL`.
const DIRECTION_ORIGINAL: u8 = 0;

/// A register. The 32-bit ones lie side by side, so that a value of any length starts at one and
/// a concatenation fills the following ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Register(u32);

impl Register {
    /// `NFT_REG_VERDICT`.
    pub(super) const VERDICT: Self = Self(0);
    /// `NFT_REG32_00`.
    pub(super) const FIRST: Self = Self(8);

    /// The register behind a value of `length` bytes.
    pub(super) fn after(self, length: usize) -> Self {
        Self(self.0 + length.div_ceil(4) as u32)
    }
}

/// The registers that hold a translation's new address and port.
#[derive(Clone, Copy, Debug)]
pub(super) struct NatRegisters {
    pub address: Option<Register>,
    pub port: Option<Register>,
}

/// A list of encoded expressions: the content of `NFTA_RULE_EXPRESSIONS`.
#[derive(Default)]
pub(super) struct Expressions {
    bytes: Vec<u8>,
}

impl Expressions {
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The next expression of the list. It is complete when the answer goes out of scope.
    fn next(&mut self) -> PushExprAttrs<PushExprListAttrs<&mut Vec<u8>>> {
        PushExprListAttrs::new(&mut self.bytes).nested_elem()
    }

    /// An expression that the bindings have no data for.
    fn next_named(&mut self, name: &std::ffi::CStr, data: impl FnOnce(&mut Vec<u8>)) {
        let mut expression = self.next().push_name(name);
        let start = push_nested_header(expression.as_vec_mut(), EXPRESSION_DATA);
        data(expression.as_vec_mut());
        finalize_nested_header(expression.as_vec_mut(), start);
    }

    pub(super) fn load_meta(&mut self, key: MetaKeys, to: Register) {
        self.next()
            .nested_data_meta()
            .push_key(key as u32)
            .push_dreg(to.0);
    }

    pub(super) fn load_connection(&mut self, key: CtKeys, to: Register) {
        self.next()
            .nested_data_ct()
            .push_key(key as u32)
            .push_dreg(to.0);
    }

    /// As the connection's first packet had it, before any translation.
    pub(super) fn load_original_connection(&mut self, key: CtKeys, to: Register) {
        self.next()
            .nested_data_ct()
            .push_dreg(to.0)
            .push_key(key as u32)
            .push_direction(DIRECTION_ORIGINAL);
    }

    /// `length` bytes from `offset` of a header.
    pub(super) fn load_payload(
        &mut self,
        base: PayloadBase,
        offset: u32,
        length: u32,
        to: Register,
    ) {
        self.next()
            .nested_data_payload()
            .push_dreg(to.0)
            .push_base(base as u32)
            .push_offset(offset)
            .push_len(length);
    }

    /// The type of the packet's source or destination address in the routing tables.
    pub(super) fn load_address_type(&mut self, of: FibFlags, to: Register) {
        self.next()
            .nested_data_fib()
            .push_dreg(to.0)
            .push_result(FIB_ADDRESS_TYPE)
            .push_flags(of as u32);
    }

    /// `register = register & mask ^ xor`, all of one length.
    pub(super) fn mask(&mut self, register: Register, mask: &[u8], xor: &[u8]) {
        self.next()
            .nested_data_bitwise()
            .push_sreg(register.0)
            .push_dreg(register.0)
            .push_len(mask.len() as u32)
            .push_op(BitwiseOps::MaskXor as u32)
            .nested_mask()
            .push_value(mask)
            .end_nested()
            .nested_xor()
            .push_value(xor);
    }

    pub(super) fn compare(&mut self, register: Register, negate: bool, value: &[u8]) {
        let operator = if negate { CmpOps::Neq } else { CmpOps::Eq };
        self.next()
            .nested_data_cmp()
            .push_sreg(register.0)
            .push_op(operator as u32)
            .nested_data()
            .push_value(value);
    }

    /// Whether the key is in the set, or not in it.
    pub(super) fn look_up(&mut self, key: Register, set: &str, negate: bool) {
        self.lookup(key, set, |data| {
            if negate {
                push_number(data, LOOKUP_FLAGS, LookupFlags::Invert as u32);
            }
        });
    }

    /// What the map has for the key.
    pub(super) fn map(&mut self, key: Register, map: &str, to: Register) {
        self.lookup(key, map, |data| push_number(data, LOOKUP_TO, to.0));
    }

    fn lookup(&mut self, key: Register, set: &str, more: impl FnOnce(&mut Vec<u8>)) {
        self.next_named(c"lookup", |data| {
            push_header(data, LOOKUP_SET, set.len() as u16 + 1);
            data.extend(set.as_bytes());
            data.push(0);
            push_number(data, LOOKUP_KEY, key.0);
            more(data);
        });
    }

    pub(super) fn load_value(&mut self, value: &[u8], to: Register) {
        self.next()
            .nested_data_immediate()
            .push_dreg(to.0)
            .nested_data()
            .push_value(value);
    }

    pub(super) fn verdict(&mut self, verdict: &Verdict) {
        let immediate = self.next().nested_data_immediate();
        let data = immediate.push_dreg(Register::VERDICT.0).nested_data();
        push_verdict(data, verdict);
    }

    pub(super) fn set_mark(&mut self, from: Register) {
        let meta = self.next().nested_data_meta();
        meta.push_key(MetaKeys::Mark as u32).push_sreg(from.0);
    }

    pub(super) fn set_connection_mark(&mut self, from: Register) {
        let connection = self.next().nested_data_ct();
        connection.push_key(CtKeys::Mark as u32).push_sreg(from.0);
    }

    /// `flags` are those of `NF_NAT_RANGE_…`.
    pub(super) fn masquerade(&mut self, flags: u32) {
        self.next_named(c"masq", |data| {
            if flags != 0 {
                PushExprMasqAttrs::new(data).push_flags(flags);
            }
        });
    }

    /// `kind` is `NFT_NAT_SNAT` or `NFT_NAT_DNAT`, `family` an `NFPROTO_…`.
    pub(super) fn translate(&mut self, kind: u32, family: u8, to: NatRegisters, flags: u32) {
        let mut nat = self
            .next()
            .nested_data_nat()
            .push_type(kind)
            .push_family(family.into());
        if let Some(address) = to.address {
            nat = nat.push_reg_addr_min(address.0);
        }
        if let Some(port) = to.port {
            nat = nat.push_reg_proto_min(port.0);
        }
        if flags != 0 {
            nat.push_flags(flags);
        }
    }

    pub(super) fn reject(&mut self, kind: u32, code: u8) {
        self.next()
            .nested_data_reject()
            .push_type(kind)
            .push_icmp_code(code);
    }

    pub(super) fn counter(&mut self) {
        self.next()
            .nested_data_counter()
            .push_bytes(0)
            .push_packets(0);
    }

    pub(super) fn notrack(&mut self) {
        self.next().push_name(c"notrack");
    }
}

fn push_number(data: &mut Vec<u8>, attribute: u16, number: u32) {
    push_header(data, attribute, 4);
    data.extend(number.to_be_bytes());
}

/// A verdict as data: of an immediate expression or of a map's element.
pub(super) fn push_verdict<P: Pusher>(
    data: PushDataAttrs<P>,
    verdict: &Verdict,
) -> PushDataAttrs<P> {
    let (code, chain) = match verdict {
        Verdict::Accept => (VerdictCode::Accept, None),
        Verdict::Drop => (VerdictCode::Drop, None),
        Verdict::Return => (VerdictCode::Return, None),
        Verdict::Jump(chain) => (VerdictCode::Jump, Some(chain)),
        Verdict::Goto(chain) => (VerdictCode::Goto, Some(chain)),
    };
    let attributes = data.nested_verdict().push_code(code as u32);
    match chain {
        Some(chain) => attributes.push_chain_bytes(chain.as_bytes()).end_nested(),
        None => attributes.end_nested(),
    }
}
