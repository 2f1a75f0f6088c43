//! firewalld on the system's D-Bus.

use std::future::Future;
use std::io::{self, ErrorKind};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Instant;

use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout_at;
use zbus::fdo::{self, DBusProxy};
use zbus::names::BusName;

use crate::error::{Code, Error, Result, WhileDoing as _};

const SERVICE: &str = "org.fedoraproject.FirewallD1";

/// An invocation's connection to firewalld.
pub(crate) struct Firewalld {
    socket: PathBuf,
    /// Until when an answer is waited for.
    deadline: Instant,
    bus: Option<Bus>,
}

impl Firewalld {
    /// Not connected yet.
    pub(crate) fn new(socket: PathBuf, deadline: Instant) -> Self {
        Self {
            socket,
            deadline,
            bus: None,
        }
    }

    /// Sets the time until when an answer is waited for.
    pub(crate) fn wait_until(&mut self, deadline: Instant) {
        self.deadline = deadline;
    }

    /// The bus; none if the node has none.
    fn bus(&mut self) -> Result<Option<&Bus>> {
        if self.bus.is_none() {
            self.bus = Bus::connect(&self.socket, self.deadline).while_doing(format_args!(
                "connect to D-Bus at {}",
                self.socket.display()
            ))?;
        }
        Ok(self.bus.as_ref())
    }

    /// Asks firewalld for something. Errors: `Unsupported` where it does not run.
    pub(super) fn ask<T>(
        &mut self,
        question: impl AsyncFnOnce(&ZonesProxy<'_>) -> zbus::Result<T>,
    ) -> Result<T> {
        let deadline = self.deadline;
        let bus = self.bus()?.ok_or_else(does_not_run)?;
        wait(&bus.runtime, deadline, question(&bus.zones))?.map_err(|e| explain(&e))
    }

    /// Asks firewalld to change a zone. Errors: also `Invalid` for what cannot be a zone's name.
    pub(super) fn change_zone(
        &mut self,
        zone: &str,
        change: impl AsyncFnOnce(&ZonesProxy<'_>) -> zbus::Result<String>,
    ) -> Result<()> {
        super::check(zone)?;
        self.ask(change).map(drop)
    }

    /// Whether firewalld runs. Errors: `TimedOut`; `Failed` for a bus that does not let weir in.
    pub(super) fn is_running(&mut self) -> Result<bool> {
        let deadline = self.deadline;
        let Some(bus) = self.bus()? else {
            return Ok(false);
        };
        let name = BusName::try_from(SERVICE).map_err(|e| explain(&e))?;
        let answer = wait(&bus.runtime, deadline, bus.daemon.name_has_owner(name))?;
        answer.map_err(|e| explain(&e.into()))
    }
}

/// The system's D-Bus, and the services that weir uses.
struct Bus {
    runtime: Runtime,
    daemon: DBusProxy<'static>,
    zones: ZonesProxy<'static>,
}

#[zbus::proxy(
    interface = "org.fedoraproject.FirewallD1.zone",
    default_service = "org.fedoraproject.FirewallD1",
    default_path = "/org/fedoraproject/FirewallD1"
)]
pub(super) trait Zones {
    #[zbus(name = "addSource", no_autostart)]
    fn add_source(&self, zone: &str, source: &str) -> zbus::Result<String>;

    #[zbus(name = "removeSource", no_autostart)]
    fn remove_source(&self, zone: &str, source: &str) -> zbus::Result<String>;

    /// Empty for an address that is bound to none.
    #[zbus(name = "getZoneOfSource", no_autostart)]
    fn get_zone_of_source(&self, source: &str) -> zbus::Result<String>;
}

impl Bus {
    /// None if the node has no bus.
    fn connect(socket: &Path, deadline: Instant) -> Result<Option<Self>> {
        let stream = match UnixStream::connect(socket) {
            Err(error) if is_absent(&error) => return Ok(None),
            connected => connected?,
        };
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let greeted = wait(&runtime, deadline, greet(stream))?;
        let (daemon, zones) = greeted.map_err(|e| explain(&e))?;
        Ok(Some(Self {
            runtime,
            daemon,
            zones,
        }))
    }
}

async fn greet(stream: UnixStream) -> zbus::Result<(DBusProxy<'static>, ZonesProxy<'static>)> {
    let builder = zbus::connection::Builder::unix_stream(stream);
    let connection = builder.build().await?;
    let daemon = DBusProxy::new(&connection).await?;
    let zones = ZonesProxy::new(&connection).await?;
    Ok((daemon, zones))
}

/// The socket is missing, or nothing listens at it.
fn is_absent(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::NotFound | ErrorKind::ConnectionRefused
    )
}

fn wait<T>(runtime: &Runtime, deadline: Instant, answer: impl Future<Output = T>) -> Result<T> {
    let answered = runtime.block_on(async { timeout_at(deadline.into(), answer).await });
    answered.map_err(|_| Error::new(Code::TimedOut, "no answer in time"))
}

fn does_not_run() -> Error {
    Error::unsupported("firewalld does not run on this node")
}

fn explain(error: &zbus::Error) -> Error {
    match error {
        zbus::Error::FDO(error) if is_without_owner(error) => does_not_run(),
        // firewalld's errors share one name; the text begins with a code.
        zbus::Error::MethodError(_, Some(text), _) => Error::new(code_of(text), text),
        error => Error::failed(error.to_string()),
    }
}

fn is_without_owner(error: &fdo::Error) -> bool {
    matches!(
        error,
        fdo::Error::ServiceUnknown(_) | fdo::Error::NameHasNoOwner(_)
    )
}

fn code_of(text: &str) -> Code {
    let word = text.split(':').next();
    match word.unwrap_or_default() {
        "ZONE_ALREADY_SET" | "ZONE_CONFLICT" => Code::Exists,
        "INVALID_ZONE" | "UNKNOWN_SOURCE" => Code::NotFound,
        _ => Code::Failed,
    }
}
