//! What tests of traffic control put on a link.

use weir_grant::traffic::{Class, Discipline, Handle, Qdisc, TokenBucket};

pub const FIRST: Handle = Handle(0x1_0000);
pub const CLASS_30: Handle = Handle(0x1_0030);

/// The handle that the kernel gives `ingress` and `clsact`.
pub const HOOKS: Handle = Handle(0xffff_0000);

pub const BUCKET: TokenBucket = TokenBucket {
    rate: 1_000_000,
    burst: 20_000,
    latency: 25_000,
};

pub fn at_root(discipline: Discipline) -> Qdisc {
    Qdisc {
        handle: FIRST,
        parent: Handle::ROOT,
        discipline,
    }
}

pub fn ingress() -> Qdisc {
    Qdisc {
        handle: HOOKS,
        parent: Handle::INGRESS,
        discipline: Discipline::Ingress,
    }
}

pub fn class(handle: Handle, parent: Handle) -> Class {
    Class {
        handle,
        parent,
        rate: 1_000_000,
        ceil: 2_000_000,
        burst: 15_000,
        cburst: 30_000,
    }
}
