//! A plugin that calls the functions of the contract that its configuration lists, in that order and
//! whatever they answer, and says in the log what each answered. It speaks the contract without the
//! SDK's types, which would not let it say everything.

mod act;
mod order;

use std::collections::BTreeMap;

use weir_sdk::bindings::Guest;
use weir_sdk::bindings::weir::cni::cni::{
    About, AttachmentResult, Dns, Failure, GcRequest, Request, StatusRequest,
};
use weir_sdk::bindings::weir::cni::log::{self, Level};

use act::Hand;
use order::{Order, Orders};

/// So many characters of an answer are told.
const MOST_SAID: usize = 500;

/// The plugin.
pub struct Puppet;

impl Guest for Puppet {
    fn add(request: Request) -> Result<AttachmentResult, Failure> {
        obey(&request.config)?;
        Ok(AttachmentResult {
            interfaces: Vec::new(),
            ips: Vec::new(),
            routes: Vec::new(),
            dns: Dns {
                nameservers: Vec::new(),
                domain: String::new(),
                search: Vec::new(),
                options: Vec::new(),
            },
        })
    }

    fn del(request: Request) -> Result<(), Failure> {
        obey(&request.config)
    }

    fn check(request: Request) -> Result<(), Failure> {
        obey(&request.config)
    }

    fn status(request: StatusRequest) -> Result<(), Failure> {
        obey(&request.config)
    }

    fn gc(request: GcRequest) -> Result<(), Failure> {
        obey(&request.config)
    }

    fn version() -> About {
        About {
            name: "puppet".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            description: "does what it is told".to_owned(),
        }
    }
}

fn obey(config: &str) -> Result<(), Failure> {
    let orders: Orders = serde_json::from_str(config).map_err(|e| failure(100, e.to_string()))?;
    let mut hand = Hand::default();
    for order in &orders.orders {
        carry_out(&mut hand, order);
    }
    match orders.end.as_str() {
        "" => Ok(()),
        "trap" => trap(),
        other => Err(failure(150, other.to_owned())),
    }
}

/// As often as it says; what was answered is logged once for each answer.
fn carry_out(hand: &mut Hand, order: &Order) {
    let mut answers: BTreeMap<String, (u64, String)> = BTreeMap::new();
    for _ in 0..order.times.max(1) {
        let (answer, message) = match hand.act(order) {
            Ok(said) => ("ok".to_owned(), said),
            Err(fault) => (fault.code, fault.message),
        };
        let known = answers.entry(answer).or_default();
        known.0 += 1;
        known.1 = message.chars().take(MOST_SAID).collect();
    }
    for (answer, (times, message)) in answers {
        let fields = [
            ("answer".to_owned(), answer),
            ("times".to_owned(), times.to_string()),
            ("said".to_owned(), message),
        ];
        log::write(Level::Info, &order.function, &fields);
    }
}

fn failure(code: u32, msg: String) -> Failure {
    Failure {
        code,
        msg,
        details: String::new(),
    }
}

fn trap() -> ! {
    #[cfg(target_family = "wasm")]
    core::arch::wasm32::unreachable();
    #[cfg(not(target_family = "wasm"))]
    std::process::abort();
}

#[cfg(target_family = "wasm")]
weir_sdk::bindings::export_component!(Puppet with_types_in weir_sdk::bindings);
