//! A network configuration list carried out for an attachment (CNI section 3).

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Map, Value};
use weir_cni::{AddResult, Command, Error, Execution, NetworkConfigList, PluginConfig, to_json};
use weir_gate::Subject;
use weir_grant::section::in_one_part;
use weir_host::Log;
use weir_sandbox::Sandbox;

use super::attachment::Attachment;
use super::cache::{Cache, Cached};
use super::failures::together;
use super::in_order::{self, AddFailed, RolledBack};
use super::native::{self, NativeCall};
use super::plugin::run_plugin;
use super::source::Source;
use super::uris;

/// The most bytes that one DEL writes to the log.
const MOST_TOLD: u64 = 4096;

/// A network, and what carries it out.
pub struct Network {
    sandbox: Arc<Sandbox>,
    cache: Cache,
    /// With names in place of the URIs of plugins.
    list: NetworkConfigList,
    /// As it was written, if it has URIs.
    written: Option<NetworkConfigList>,
    capability_args: Map<String, Value>,
    source: Source,
    /// Where native plugins are, if they may run.
    bin_dirs: Vec<PathBuf>,
}

/// What an ADD used: a DEL or CHECK uses the same.
struct Used {
    /// With the `CNI_ARGS` of the ADD, if the caller gives none.
    attachment: Attachment,
    list: NetworkConfigList,
    args: Map<String, Value>,
    result: Option<AddResult>,
}

impl Network {
    /// Makes a network of this list. `capability_args` are the runtime's (CNI section 3, `runtimeConfig`).
    pub fn new(
        sandbox: &Arc<Sandbox>,
        list: NetworkConfigList,
        capability_args: Map<String, Value>,
    ) -> Self {
        let written = uris::has_uris(&list).then(|| list.clone());
        Self {
            cache: Cache::new(sandbox.paths()),
            sandbox: Arc::clone(sandbox),
            list: match &written {
                Some(written) => uris::with_names(sandbox.catalogue(), written),
                None => list,
            },
            written,
            capability_args,
            source: Source::default(),
            bin_dirs: Vec::new(),
        }
    }

    /// Returns the same with another source of the configuration. The URIs of a tenant stand for no plugin.
    #[must_use]
    pub fn from_source(self, source: Source) -> Self {
        let of_tenant = self.written.clone().filter(|_| source.definition.is_some());
        Self {
            list: of_tenant.unwrap_or(self.list),
            source,
            ..self
        }
    }

    /// Returns the same with native plugins of these directories, if there are any, for plugins and IPAM plugins that
    /// are not components.
    #[must_use]
    pub fn with_native(self, bin_dirs: Vec<PathBuf>) -> Self {
        Self { bin_dirs, ..self }
    }

    /// Returns what people, grants and the audit log know the network by.
    pub fn granted_as(&self) -> &str {
        self.source.granted_as(&self.list.name)
    }

    pub fn list(&self) -> &NetworkConfigList {
        &self.list
    }

    /// ADD: each plugin in order, with the result of the one before. If one fails, those before it are deleted, last first
    /// (CNI section 3, "Lifecycle & Ordering"), and before them the failing one if it is a native plugin that has run.
    /// weir has undone what a failing component did. Those after it are neither called nor deleted.
    ///
    /// Errors: the failing plugin's.
    pub fn add(&self, attachment: &Attachment) -> Result<AddResult, AddFailed> {
        let delete = |plugin: &PluginConfig, made: &[Option<AddResult>]| {
            let (list, args) = (&self.list, &self.capability_args);
            self.del_one(list, plugin, args, attachment, last(made))
        };
        let plugins = &self.list.plugins;
        // Before the first plugin runs.
        for plugin in plugins {
            self.check_fetched(plugin)?;
        }
        let add = |plugin: &PluginConfig, made: &[Option<AddResult>]| {
            self.add_one(plugin, attachment, last(made))
        };
        let made = in_order::attach(plugins, add, delete).map_err(of_network)?;
        let result = last(&made).ok_or_else(|| {
            Error::invalid_config(format!("network `{}` has no plugins", self.list.name))
        })?;
        if let Err(error) = self.remember(attachment, result) {
            let delete = |plugin: &PluginConfig| delete(plugin, &made);
            let rolled_back = in_order::roll_back(plugins, error.into(), delete);
            return Err(of_network(rolled_back));
        }
        Ok(result.clone())
    }

    /// DEL: each plugin in reverse order, with the result of ADD. Continues after failures.
    ///
    /// Errors: the first failing plugin's, with the others in its details.
    pub fn del(&self, attachment: &Attachment) -> Result<(), Error> {
        let cached = self.cached(attachment).unwrap_or_else(|error| {
            self.warn(attachment, &error);
            None
        });
        let used = self.used(attachment, cached);
        let failures = in_order::detach(&used.list.plugins, |plugin| {
            let result = used.result.as_ref();
            self.del_one(&used.list, plugin, &used.args, &used.attachment, result)
        });
        together(failures.into_iter().map(|(_, error)| error))?;
        self.forget(attachment)
    }

    /// CHECK: each plugin in order, with the result of ADD.
    ///
    /// Errors: the first failing plugin's; code 3 for an unknown attachment.
    pub fn check(&self, attachment: &Attachment) -> Result<(), Error> {
        if self.list.disable_check {
            return Ok(());
        }
        let cached = self.cached(attachment)?;
        let Used {
            attachment,
            list,
            args,
            result,
        } = self.used(attachment, cached);
        let result = result.ok_or_else(|| {
            Error::unknown_container(&attachment.container_id).with_details(format!(
                "interface `{}` was not attached to network `{}` with weir or libcni",
                attachment.ifname, self.list.name
            ))
        })?;
        let execution = Execution::Check {
            prev_result: &result,
        };
        for plugin in &list.plugins {
            let config = list.execution_config(plugin, &args, execution)?;
            self.run(plugin, Command::Check, &attachment, &config)?;
        }
        Ok(())
    }

    /// STATUS of each plugin; nothing for a list of a version without STATUS. Errors: the first failing plugin's.
    pub fn status(&self) -> Result<(), Error> {
        if !Command::Status.exists_in(self.list.cni_version) {
            return Ok(());
        }
        self.for_each_plugin(Command::Status, Execution::Status)
    }

    /// GC: DEL of each cached attachment that is not valid, then GC of each plugin, unless the list's version has no GC or
    /// it has `disableGC`. Continues after failures.
    ///
    /// Errors: the first failure, with the others in its details.
    pub fn gc(&self, valid_attachments: &[weir_cni::Attachment]) -> Result<(), Error> {
        if self.list.disable_gc {
            return Ok(());
        }
        let (stale, mut failures) = self.stale(valid_attachments)?;
        for stale in stale {
            failures.extend(self.del(&stale).err());
        }
        if Command::Gc.exists_in(self.list.cni_version) {
            let execution = Execution::Gc { valid_attachments };
            failures.extend(self.for_each_plugin(Command::Gc, execution).err());
        }
        together(failures)
    }

    /// ADD of one plugin, with the result of the one before.
    fn add_one(
        &self,
        plugin: &PluginConfig,
        attachment: &Attachment,
        prev_result: Option<&AddResult>,
    ) -> Result<Option<AddResult>, AddFailed> {
        let execution = Execution::Add { prev_result };
        let config = self
            .list
            .execution_config(plugin, &self.capability_args, execution)?;
        let result = self.run(plugin, Command::Add, attachment, &config)?;
        Ok(with_mtus(result, prev_result))
    }

    fn del_one(
        &self,
        list: &NetworkConfigList,
        plugin: &PluginConfig,
        capability_args: &Map<String, Value>,
        attachment: &Attachment,
        prev_result: Option<&AddResult>,
    ) -> Result<(), Error> {
        let execution = Execution::Del { prev_result };
        let config = list.execution_config(plugin, capability_args, execution)?;
        self.run(plugin, Command::Del, attachment, &config)?;
        Ok(())
    }

    fn for_each_plugin(&self, command: Command, execution: Execution<'_>) -> Result<(), Error> {
        let nobody = Attachment::default();
        let mut failures = Vec::new();
        for plugin in &self.list.plugins {
            let ran = self
                .list
                .execution_config(plugin, &self.capability_args, execution)
                .map_err(AddFailed::from)
                .and_then(|config| self.run(plugin, command, &nobody, &config));
            failures.extend(ran.err().map(Error::from));
        }
        together(failures)
    }

    fn run(
        &self,
        plugin: &PluginConfig,
        command: Command,
        attachment: &Attachment,
        config: &PluginConfig,
    ) -> Result<Option<AddResult>, AddFailed> {
        match self.check_fetched(plugin) {
            Err(_) if uris::has_nothing_to_do(command, config) => return Ok(None),
            checked => checked?,
        }
        let name = plugin.plugin_type();
        let (sandbox, source, bin_dirs) = (&self.sandbox, &self.source, &self.bin_dirs);
        let ran = if bin_dirs.is_empty() || sandbox.catalogue().has(name) {
            run_plugin(sandbox, name, command, attachment, config, source, bin_dirs)
        } else {
            let native_call = NativeCall {
                plugin: name,
                command,
                attachment,
                config,
                network: &self.list.name,
                definition: source.definition.as_deref(),
            };
            native::call(sandbox, bin_dirs, native_call)
        };
        ran.map_err(|failed| failed.with_prefix(format_args!("network `{}`", self.granted_as())))
    }

    /// Checks that the plugins that a configuration names by URIs were fetched.
    fn check_fetched(&self, plugin: &PluginConfig) -> Result<(), Error> {
        let checked = uris::check(plugin, &self.list.name, &self.source);
        checked.map_err(|e| e.with_prefix(format_args!("network `{}`", self.granted_as())))
    }

    /// Caches an attachment's result for DEL, CHECK and GC. `add` does this; call it for a result that was changed since.
    /// Errors: code 5, and code 999 for a result that the list's version cannot express.
    pub fn remember(&self, attachment: &Attachment, result: &AddResult) -> Result<(), Error> {
        let list = self.list.to_value().to_string();
        let result = to_json(result, self.list.cni_version)?;
        let cached = Cached::new(
            &self.cached_as(),
            attachment,
            &list,
            &self.capability_args,
            result,
        );
        self.cache.put(attachment, &cached)
    }

    /// The network's name in the cache, where a tenant's must not be mistaken for one of the node's own.
    fn cached_as(&self) -> String {
        in_one_part(self.granted_as())
    }

    /// The entry of an attachment. A tenant's network was once cached by the name in its configuration.
    fn cached(&self, attachment: &Attachment) -> Result<Option<Cached>, Error> {
        match self.cache.get(&self.cached_as(), attachment)? {
            Some(cached) => Ok(Some(cached)),
            None => self.cache.get(&self.list.name, attachment),
        }
    }

    /// Logs an error that does not keep a container from being deleted.
    fn warn(&self, attachment: &Attachment, error: &Error) {
        let subject = Subject {
            command: Command::Del.as_str().into(),
            container_id: attachment.container_id.clone(),
            ifname: attachment.ifname.clone(),
            network: self.list.name.clone(),
            definition: self.source.definition.clone(),
            pod: attachment.args.pod().full_name(),
            ..Subject::default()
        };
        let mut log = Log::new(self.sandbox.paths().log(), subject.for_log(), MOST_TOLD);
        log.write("warn", &error.to_string(), &[]);
        log.close();
    }

    fn forget(&self, attachment: &Attachment) -> Result<(), Error> {
        self.cache.remove(&self.cached_as(), attachment)?;
        self.cache.remove(&self.list.name, attachment)
    }

    /// The ADD of an attachment, by what is cached of it; the network as it is now where nothing is.
    fn used(&self, attachment: &Attachment, cached: Option<Cached>) -> Used {
        let cached = cached.as_ref();
        let list = cached.and_then(|cached| NetworkConfigList::parse(&cached.config().ok()?).ok());
        let list = list.filter(|list| !list.plugins.is_empty());
        let list = list.unwrap_or_else(|| self.list.clone());
        let args = cached.and_then(|cached| cached.capability_args.clone());
        let cni_args = cached.and_then(Cached::args);
        Used {
            attachment: match cni_args.filter(|_| attachment.args.is_empty()) {
                Some(cni_args) => attachment.with_args(cni_args),
                None => attachment.clone(),
            },
            args: args.unwrap_or_else(|| self.capability_args.clone()),
            result: cached.and_then(|cached| cached.result_of(&list)),
            list,
        }
    }

    /// The attachments that are not valid, and why some are not known.
    fn stale(
        &self,
        valid: &[weir_cni::Attachment],
    ) -> Result<(Vec<Attachment>, Vec<Error>), Error> {
        let is_valid = |cached: &Cached| {
            let own = weir_cni::Attachment::new(&cached.container_id, &cached.if_name);
            valid.contains(&own)
        };
        let (cached, unused) = self.cache.of_network(&self.cached_as())?;
        let stale = cached.into_iter().filter(|cached| !is_valid(cached));
        let stale: Result<_, Error> = stale.map(|cached| cached.attachment()).collect();
        Ok((stale?, unused))
    }
}

/// The result of the last plugin that has run.
fn last(made: &[Option<AddResult>]) -> Option<&AddResult> {
    made.last()?.as_ref()
}

/// The plugins that DEL must still run after one failed: up to a failing native plugin, or those before the one that failed.
fn of_network(RolledBack { error, at, left }: RolledBack) -> AddFailed {
    let owed = match left.last() {
        None => 0,
        Some(last) if last.index == at => at + 1,
        Some(_) => at,
    };
    AddFailed { error, owed }
}

/// A plugin's result with the MTUs of the plugin before it, which it cannot pass on: before version 1.1.0 a `prevResult`
/// has none.
fn with_mtus(result: Option<AddResult>, previous: Option<&AddResult>) -> Option<AddResult> {
    let mut result = result?;
    let known = previous.map_or(&[][..], |previous| &previous.interfaces);
    for interface in &mut result.interfaces {
        let mut known = known.iter();
        let same = known.find(|k| k.name == interface.name && k.sandbox == interface.sandbox);
        interface.mtu = interface.mtu.or(same.and_then(|same| same.mtu));
    }
    Some(result)
}
