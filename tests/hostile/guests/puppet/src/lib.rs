//! A plugin that calls the functions of the contract that its configuration lists, in that order and
//! whatever they answer, and says in the log what each answered. It speaks the contract without the
//! SDK's types, which would not let it say everything.

mod act;
mod input;
mod order;

use std::collections::BTreeMap;

use weir_sdk::AddResult;
use weir_sdk::bindings::exports::weir::cni::commands::Guest;
use weir_sdk::bindings::weir::cni::cni::{
    About, AttachmentResult, Failure, GcRequest, Request, StatusRequest,
};
use weir_sdk::bindings::weir::cni::log::{self, Level};

use act::Hand;
use input::CommandInput;
use order::{Order, Orders};

/// So many characters of an answer are logged.
const MOST_SAID: usize = 500;

/// The plugin.
pub struct Puppet;

impl Guest for Puppet {
    fn add(request: Request) -> Result<AttachmentResult, Failure> {
        let mark = obey(&CommandInput::of("ADD", &request))?;
        if mark.is_empty() {
            return Ok(nothing());
        }
        let mut result = request.previous.unwrap_or_else(nothing);
        result.dns.search.push(mark);
        Ok(result)
    }

    fn del(request: Request) -> Result<(), Failure> {
        obey(&CommandInput::of("DEL", &request)).map(drop)
    }

    fn check(request: Request) -> Result<(), Failure> {
        obey(&CommandInput::of("CHECK", &request)).map(drop)
    }

    fn status(request: StatusRequest) -> Result<(), Failure> {
        obey(&CommandInput::of_status(&request)).map(drop)
    }

    fn gc(request: GcRequest) -> Result<(), Failure> {
        obey(&CommandInput::of_gc(&request)).map(drop)
    }

    fn version() -> About {
        About {
            name: "puppet".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            description: "carries out the orders of its configuration".to_owned(),
        }
    }
}

fn nothing() -> AttachmentResult {
    AddResult::default().into()
}

/// Carries the orders out. Returns the mark that ADD is to leave.
fn obey(input: &CommandInput) -> Result<String, Failure> {
    let orders: Orders =
        serde_json::from_str(&input.config).map_err(|e| failure(100, e.to_string()))?;
    let mut hand = Hand::default();
    for order in &orders.orders {
        carry_out(&mut hand, order, input);
    }
    let ends = orders.only.is_empty() || orders.only == input.command;
    match orders.end.as_str() {
        "" => Ok(orders.mark),
        _ if !ends => Ok(orders.mark),
        "trap" => trap(),
        other => Err(failure(150, other.to_owned())),
    }
}

/// As often as it says; what was answered is logged once for each answer.
fn carry_out(hand: &mut Hand, order: &Order, input: &CommandInput) {
    let mut answers: BTreeMap<String, (u64, String)> = BTreeMap::new();
    for _ in 0..order.times.max(1) {
        let acted = match input.say(&order.function) {
            Some(said) => Ok(said),
            None => hand.act(order),
        };
        let (answer, message) = match acted {
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
