//! One call of a plugin: a fresh store with the limits of the grant, and the undoing of a failed ADD.

use std::collections::BTreeMap;
use std::time::Instant;

use serde_json::Value;
use wasmtime::{CallHook, Engine, Store, UpdateDeadline};
use weir_cni::{AddResult, Command, Error, Version};
use weir_grant::text::printable;
use weir_host::bindings::PluginPre;
use weir_host::bindings::weir::cni::cni;
use weir_host::{Commands, State, convert, shorten_loops_of};

use super::codes::unrecorded;
use super::request::{About, Request};
use super::trap::LimitsFrom;
use super::watchdog::Watchdog;
use super::{trap, validate_result};

pub(super) struct Call {
    plugin: String,
    store: Store<State>,
    from: LimitsFrom,
    _watchdog: Watchdog,
}

impl Call {
    /// `from` says where the limits of the state are from. Errors: code 999 when the kernel has no timer left.
    pub(super) fn new(
        engine: &Engine,
        plugin: &str,
        state: State,
        from: LimitsFrom,
    ) -> Result<Self, Error> {
        let deadline = state.deadline();
        let transfer = usize::try_from(state.limits().transfer.as_u64()).unwrap_or(usize::MAX);
        let mut store = Store::new(engine, state);
        store.limiter(|state| state);
        store.set_hostcall_fuel(transfer);
        store.set_epoch_deadline(1);
        // The epoch is the whole process's: another invocation's end must not be this one's.
        store.epoch_deadline_callback(|store| {
            Ok(if Instant::now() >= store.data().deadline() {
                UpdateDeadline::Interrupt
            } else {
                UpdateDeadline::Continue(1)
            })
        });
        store.call_hook(|mut store, hook| match hook {
            CallHook::CallingHost => store.data_mut().count_call(),
            _ => Ok(()),
        });
        let watchdog = Watchdog::start(engine, deadline).map_err(|e| {
            Error::internal(format!("the invocation's time cannot be watched: {e}"))
        })?;
        Ok(Self {
            plugin: plugin.to_owned(),
            store,
            from,
            _watchdog: watchdog,
        })
    }

    /// Instantiates the component and calls the function for the request's command.
    pub(super) fn invoke(
        &mut self,
        commands: &Commands,
        request: &Request,
    ) -> Result<Option<AddResult>, Error> {
        let store = &mut self.store;
        let returned = match request.command {
            Command::Add => {
                let returned = commands.add(store, &attachment(request));
                return match returned.map_err(|e| self.explain(&e))? {
                    Ok(result) => {
                        validate_result::check(convert::result(result)?, request).map(Some)
                    }
                    Err(failure) => Err(failure.into()),
                };
            }
            Command::Del => commands.del(store, &attachment(request)),
            Command::Check => commands.check(store, &attachment(request)),
            Command::Status => commands.status(store, &status(request)),
            Command::Gc => commands.gc(store, &gc(request)),
            Command::Version => Ok(Ok(())),
        };
        match returned.map_err(|e| self.explain(&e))? {
            Ok(()) => Ok(None),
            Err(failure) => Err(failure.into()),
        }
    }

    /// Removes what killed invocations left: of the attachment on a DEL without a result of its ADD, and of the network on a
    /// GC.
    ///
    /// Errors: what could not be removed.
    pub(super) fn remove_left(&mut self, request: &Request) -> Result<(), Error> {
        let state = self.store.data_mut();
        let removed = match request.command {
            Command::Del if request.previous.is_none() => state.remove_left_of_attachment(),
            Command::Gc => state.remove_left_of_network(&request.valid_attachments),
            _ => return Ok(()),
        };
        removed.map_err(|e| {
            let what = "links that an interrupted ADD left cannot be removed";
            Error::io_failure(format!("{what}: {e}"))
        })
    }

    /// Asks the component about itself.
    pub(super) fn describe(mut self, plugin: &PluginPre<State>) -> Result<About, Error> {
        let plugin = plugin
            .instantiate(&mut self.store)
            .map_err(|e| self.explain(&e))?;
        let about = plugin
            .weir_cni_commands()
            .call_version(&mut self.store)
            .map_err(|e| self.explain(&e))?;
        Ok(About {
            name: printable(&about.name),
            version: printable(&about.version),
            description: printable(&about.description),
        })
    }

    fn explain(&self, error: &wasmtime::Error) -> Error {
        trap::explain(self.store.data(), error, &self.from)
    }

    /// Undoes a failed ADD, writes the rest of the log, and adds the plugin's name to the error.
    pub(super) fn finish(
        mut self,
        command: Command,
        outcome: Result<Option<AddResult>, Error>,
    ) -> Result<Option<AddResult>, Error> {
        let state = self.store.data_mut();
        state.close();
        let outcome = outcome.and_then(|result| match state.audit_failure() {
            Some(why) if command == Command::Add => Err(unrecorded(why)),
            _ => Ok(result),
        });
        let stderr = state.standard_error();
        if !stderr.is_empty() {
            state.log().write_printed(&shorten_loops_of(&stderr));
        }
        if command == Command::Add {
            let (what, failures) = match &outcome {
                Ok(_) => ("not noted", state.keep()),
                Err(_) => ("not undone", state.undo()),
            };
            for failure in failures {
                state.log().note("error", &format!("{what}: {failure}"));
            }
        }
        state.finish_audit();
        state.log().close();
        let plugin = &self.plugin;
        outcome.map_err(|error| readable(error).with_prefix(format_args!("plugin `{plugin}`")))
    }
}

/// A plugin's error is shown in logs and terminals, which its text must not control.
fn readable(error: Error) -> Error {
    Error::new(error.code, printable(&error.msg)).with_details(printable(&error.details))
}

fn attachment(request: &Request) -> cni::Request {
    cni::Request {
        container_id: request.container_id.clone(),
        ifname: request.ifname.clone(),
        network: request.network.clone(),
        known_as: request.granted_as().to_owned(),
        args: request.args.clone(),
        config: configuration(request),
        previous: request.previous.clone().map(Into::into),
        has_container: request.container.is_some(),
        sandbox: request.sandbox.clone(),
    }
}

fn status(request: &Request) -> cni::StatusRequest {
    cni::StatusRequest {
        network: request.network.clone(),
        config: configuration(request),
    }
}

fn gc(request: &Request) -> cni::GcRequest {
    let valid = request
        .valid_attachments
        .iter()
        .map(|attachment| cni::Attachment {
            container_id: attachment.container_id.clone(),
            ifname: attachment.ifname.clone(),
        });
    cni::GcRequest {
        network: request.network.clone(),
        known_as: request.granted_as().to_owned(),
        config: configuration(request),
        valid_attachments: valid.collect(),
    }
}

/// The configuration as a plugin sees it: of the newest version, without the keys that the request has as typed fields.
fn configuration(request: &Request) -> String {
    const TYPED: [&str; 3] = [
        "prevResult",
        "cni.dev/valid-attachments",
        "cni.dev/attachments",
    ];
    let latest = Value::from(Version::LATEST.as_str());
    let keys = request
        .config
        .iter()
        .map(|(key, value)| (key.as_str(), value));
    let mut config: BTreeMap<&str, &Value> = keys.filter(|(key, _)| !TYPED.contains(key)).collect();
    config.insert("cniVersion", &latest);
    serde_json::to_string(&config).expect("JSON can be written as text")
}
