//! The IPAM plugin of an invocation, which runs in its own sandbox.

use std::sync::Arc;
use std::time::Instant;

use serde_json::Value;
use weir_cni::{AddResult, Command, Error};
use weir_grant::Limits;
use weir_host::{DENIED, RunIpam};

use super::request::Request;

/// Runs the IPAM plugins of an invocation that are not components. The floor above implements it.
pub trait RunNativeIpam: Send + Sync {
    /// Runs one command of a program. Only ADD has a result, as the check returns it. An ADD that fails, also by the check,
    /// is followed by DEL.
    fn run(&self, ipam_call: NativeIpamCall<'_>) -> Result<Option<AddResult>, Error>;
}

/// One command of an IPAM plugin that is not a component.
#[derive(Clone, Copy)]
pub struct NativeIpamCall<'a> {
    /// `ipam.type`.
    pub plugin: &'a str,
    pub command: Command,
    /// The end of its time.
    pub latest: Instant,
    /// What its result must pass.
    pub check: &'a CheckResult<'a>,
}

/// Returns a result that passes the checks of any plugin's result.
pub type CheckResult<'a> = dyn Fn(AddResult) -> Result<AddResult, Error> + 'a;

/// What runs the IPAM plugins that are not components, if any may run.
pub(super) type NativeIpam = Option<Arc<dyn RunNativeIpam>>;

/// Runs the IPAM plugin that a main plugin's configuration names. `run` gets its name, its request and its deadline.
pub(super) struct Ipam<R> {
    request: Request,
    deadline: Instant,
    run: R,
}

impl<R> Ipam<R>
where
    R: FnMut(&str, &Request, Instant) -> Result<Option<AddResult>, Error>,
{
    /// For a main plugin's request with this deadline.
    pub(super) fn new(request: Request, deadline: Instant, run: R) -> Self {
        Self {
            request,
            deadline,
            run,
        }
    }
}

impl<R> RunIpam for Ipam<R>
where
    R: FnMut(&str, &Request, Instant) -> Result<Option<AddResult>, Error> + Send,
{
    fn plugin(&self) -> Result<String, Error> {
        named_ipam(&self.request)
    }

    fn run(&mut self, command: Command) -> Result<Option<AddResult>, Error> {
        let mut request = self.request.clone();
        request.command = command;
        if command == Command::Add {
            request.previous = None;
        }
        // Addresses must be released even after the deadline.
        let latest = match command {
            Command::Del => Instant::now() + Limits::MOST_TIME,
            _ => self.deadline,
        };
        let plugin = self.plugin()?;
        (self.run)(&plugin, &request, latest)
    }
}

/// `ipam.type`. Errors: code 7 if it is missing or empty.
fn named_ipam(request: &Request) -> Result<String, Error> {
    let named = request.config.get("ipam").and_then(|ipam| ipam.get("type"));
    let fault = match named.and_then(Value::as_str) {
        None => "missing",
        Some("") => "empty",
        Some(named) => return Ok(named.to_owned()),
    };
    Err(Error::invalid_config(format!(
        "ipam.type: {fault}; it names the plugin that assigns addresses"
    )))
}

/// Refuses to run an IPAM plugin for an IPAM plugin. The attempt is authorised and recorded like any other.
pub(super) struct NoFurther {
    named: Result<String, Error>,
}

impl NoFurther {
    /// For an IPAM plugin's request.
    pub(super) fn new(request: &Request) -> Self {
        let named = named_ipam(request);
        Self { named }
    }

    /// For a component that only reports its version.
    pub(super) fn without_name() -> Self {
        let named = Err(Error::invalid_config(
            "no configuration names an IPAM plugin",
        ));
        Self { named }
    }
}

impl RunIpam for NoFurther {
    fn plugin(&self) -> Result<String, Error> {
        self.named.clone()
    }

    fn run(&mut self, _: Command) -> Result<Option<AddResult>, Error> {
        Err(Error::new(
            DENIED,
            "an IPAM plugin cannot run an IPAM plugin",
        ))
    }
}
