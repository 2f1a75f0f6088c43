//! Capability `ipam`: the IPAM plugin answers as the test says.

use weir_cni::{Code, Error};

use super::error::Result;
use super::{Host, current, note};
use crate::bindings::weir::cni::cni::{AttachmentResult, Failure};

pub fn add() -> Result<AttachmentResult, Failure> {
    answer("ipam.add", |host| {
        host.ipam.clone().unwrap_or_else(|| Err(no_answer().into()))
    })
}

pub fn del() -> Result<(), Failure> {
    answer("ipam.del", |_| Ok(()))
}

pub fn check() -> Result<(), Failure> {
    answer("ipam.check", |_| Ok(()))
}

pub fn status() -> Result<(), Failure> {
    answer("ipam.status", |_| Ok(()))
}

pub fn gc() -> Result<(), Failure> {
    answer("ipam.gc", |_| Ok(()))
}

fn no_answer() -> Error {
    let msg = "ipam.add: the fake host has no IPAM plugin: give it an answer with \
               `FakeHost::answer_ipam`";
    Error::new(Code::INVALID_CONFIG, msg)
}

fn answer<T>(
    function: &'static str,
    act: impl FnOnce(&Host) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let host = current(function).map_err(|error| Failure::from(Error::from(error)))?;
    let mut host = host.borrow_mut();
    let fault = host.take_fault(function);
    let outcome = match fault {
        Ok(()) => act(&host),
        Err(fault) => Err(Error::from(fault).with_prefix(function).into()),
    };
    let error = outcome.as_ref().err().map(|failure| failure.msg.clone());
    note(&mut host, function, String::new(), error.as_ref());
    outcome
}
