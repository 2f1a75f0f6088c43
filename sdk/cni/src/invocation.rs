//! The command and the environment variables of one invocation (CNI section 2, "Parameters").

use std::collections::BTreeMap;
use std::str::FromStr;

use crate::args::Args;
use crate::error::Error;
use crate::names::{validate_container_id, validate_interface_name};
use crate::version::Version;
use crate::words::words;

words! {
    /// An operation: the value of `CNI_COMMAND`.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum Command {
        /// Attach a container to a network.
        Add = "ADD",
        /// Undo an `ADD`.
        Del = "DEL",
        /// Check that an attachment is as `ADD` left it (0.4.0).
        Check = "CHECK",
        /// Say whether `ADD` requests can be serviced (1.1.0).
        Status = "STATUS",
        /// Clean up what belongs to no valid attachment (1.1.0).
        Gc = "GC",
        /// Report the supported versions of the specification (0.2.0).
        Version = "VERSION",
    }
}

impl Command {
    /// Returns the version of the specification that brought the command.
    pub const fn since(self) -> Version {
        match self {
            Command::Add | Command::Del => Version::V0_1_0,
            Command::Version => Version::V0_2_0,
            Command::Check => Version::V0_4_0,
            Command::Status | Command::Gc => Version::V1_1_0,
        }
    }

    /// Whether the command exists in `version`.
    pub fn exists_in(self, version: Version) -> bool {
        version >= self.since()
    }

    /// Checks that the command exists in `version`; an error of code 1 if it does not.
    pub fn check_version(self, version: Version) -> Result<(), Error> {
        if self.exists_in(version) {
            return Ok(());
        }
        let since = self.since();
        let supported = Version::ALL.into_iter().filter(|v| *v >= since);
        Err(Error::incompatible_version(version, supported).with_prefix(self))
    }

    /// Whether the command is about one attachment, and so needs a container id and an interface
    /// name.
    pub const fn is_about_attachment(self) -> bool {
        matches!(self, Command::Add | Command::Del | Command::Check)
    }

    /// Returns the variables that must be set, beside `CNI_COMMAND`.
    ///
    /// `CNI_PATH` is never among them: only the runtime needs to know where plugins are.
    pub const fn required_variables(self) -> &'static [&'static str] {
        match self {
            Command::Add | Command::Check => &["CNI_CONTAINERID", "CNI_NETNS", "CNI_IFNAME"],
            Command::Del => &["CNI_CONTAINERID", "CNI_IFNAME"],
            Command::Status | Command::Gc | Command::Version => &[],
        }
    }
}

impl FromStr for Command {
    type Err = Error;

    /// Parses a `CNI_COMMAND`; an unknown one is an error of code 4.
    fn from_str(text: &str) -> Result<Self, Error> {
        let known = Command::ALL.into_iter().find(|c| c.as_str() == text);
        known.ok_or_else(|| {
            let known = Command::ALL.map(Command::as_str).join(", ");
            let text = text.escape_debug();
            let msg = format!("CNI_COMMAND `{text}` is unknown, expected one of {known}");
            Error::invalid_environment(msg)
        })
    }
}

/// The environment of one invocation, validated.
///
/// An empty variable counts as unset. Variables that the command does not use are ignored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Environment {
    /// `CNI_COMMAND`.
    pub command: Command,
    /// `CNI_CONTAINERID`: set for `ADD`, `DEL` and `CHECK`.
    pub container_id: Option<String>,
    /// `CNI_NETNS`, the path of the network namespace: set for `ADD` and `CHECK`, perhaps for `DEL`.
    pub netns: Option<String>,
    /// `CNI_IFNAME`: set for `ADD`, `DEL` and `CHECK`.
    pub ifname: Option<String>,
    /// `CNI_ARGS`.
    pub args: Args,
    /// `CNI_PATH`: the directories that hold plugins, in the order to search them.
    pub path: Vec<String>,
    /// `CNI_NETNS_OVERRIDE` is `1` or `true`: libcni's permission for a `CNI_NETNS` that is the
    /// namespace of the caller.
    pub netns_override: bool,
}

impl Environment {
    /// The names of all variables that are read.
    pub const VARIABLES: [&str; 7] = [
        "CNI_COMMAND",
        "CNI_CONTAINERID",
        "CNI_NETNS",
        "CNI_IFNAME",
        "CNI_ARGS",
        "CNI_PATH",
        "CNI_NETNS_OVERRIDE",
    ];

    /// Reads the `CNI_*` variables among `variables`, which are (name, value) pairs.
    ///
    /// # Errors
    ///
    /// Code 4: the message names every variable that is missing or invalid, the details say of
    /// each what is wrong.
    pub fn from_variables<K, V>(variables: impl IntoIterator<Item = (K, V)>) -> Result<Self, Error>
    where
        K: AsRef<str>,
        V: AsRef<str>,
    {
        let raw = Raw::collect(variables);
        let mut faults = Faults::default();
        let command = faults.note("CNI_COMMAND", raw.command());
        faults.require(command, &raw);
        // Other commands are not about an attachment: they ignore these variables.
        let validate = command.is_none_or(Command::is_about_attachment);
        let checked = |variable| raw.get(variable).filter(|_| validate);
        if let Some(id) = checked("CNI_CONTAINERID") {
            faults.note("CNI_CONTAINERID", validate_container_id(id));
        }
        if let Some(ifname) = checked("CNI_IFNAME") {
            faults.note("CNI_IFNAME", validate_interface_name(ifname));
        }
        let args = match checked("CNI_ARGS") {
            Some(args) => faults.note("CNI_ARGS", args.parse()),
            None => Some(Args::default()),
        };
        let (command, args) = faults.finish(command.zip(args))?;
        Ok(raw.into_environment(command, args))
    }
}

/// The variables that are not empty, by name.
struct Raw(BTreeMap<String, String>);

impl Raw {
    fn collect<K: AsRef<str>, V: AsRef<str>>(variables: impl IntoIterator<Item = (K, V)>) -> Self {
        let set = variables.into_iter().filter_map(|(name, value)| {
            let (name, value) = (name.as_ref(), value.as_ref());
            let counts = name.starts_with("CNI_") && !value.is_empty();
            counts.then(|| (name.to_owned(), value.to_owned()))
        });
        Raw(set.collect())
    }

    fn get(&self, variable: &str) -> Option<&str> {
        self.0.get(variable).map(String::as_str)
    }

    fn command(&self) -> Result<Command, Error> {
        match self.get("CNI_COMMAND") {
            Some(command) => command.parse(),
            None => {
                let known = Command::ALL.map(Command::as_str).join(", ");
                let msg = format!("CNI_COMMAND is not set, expected one of {known}");
                Err(Error::invalid_environment(msg))
            }
        }
    }

    fn into_environment(mut self, command: Command, args: Args) -> Environment {
        let path = self.get("CNI_PATH").unwrap_or_default();
        let directories = path.split(':').filter(|directory| !directory.is_empty());
        let path = directories.map(str::to_string).collect();
        let netns_override = self.get("CNI_NETNS_OVERRIDE").unwrap_or_default();
        let netns_override = matches!(netns_override.to_ascii_lowercase().as_str(), "1" | "true");
        let mut used = |variable| {
            let value = self.0.remove(variable);
            value.filter(|_| command.is_about_attachment())
        };
        Environment {
            command,
            container_id: used("CNI_CONTAINERID"),
            netns: used("CNI_NETNS"),
            ifname: used("CNI_IFNAME"),
            args,
            path,
            netns_override,
        }
    }
}

/// The variables that are missing or invalid, and what is wrong with each.
#[derive(Default)]
struct Faults {
    variables: Vec<&'static str>,
    details: Vec<String>,
}

impl Faults {
    /// The value of `variable`, or its error noted.
    fn note<T>(&mut self, variable: &'static str, value: Result<T, Error>) -> Option<T> {
        value
            .map_err(|error| {
                self.variables.push(variable);
                self.details.push(error.msg);
            })
            .ok()
    }

    fn require(&mut self, command: Option<Command>, raw: &Raw) {
        let Some(command) = command else { return };
        for variable in command.required_variables() {
            if raw.get(variable).is_none() {
                self.variables.push(variable);
                let detail = format!("{variable} is not set, {command} requires it");
                self.details.push(detail);
            }
        }
    }

    /// The value, if there is one and nothing was noted.
    fn finish<T>(self, value: Option<T>) -> Result<T, Error> {
        let value = value.filter(|_| self.variables.is_empty());
        value.ok_or_else(|| {
            let names = self.variables.join(", ");
            let msg = format!("missing or invalid environment variables: {names}");
            Error::invalid_environment(msg).with_details(self.details.join("; "))
        })
    }
}
