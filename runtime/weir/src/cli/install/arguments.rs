//! The command line of `weir install`. Each option that says how to install can also be an environment variable, so that a
//! DaemonSet's container and its probes get them from one ConfigMap.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Result, bail};
use clap::{Args, Command, ValueEnum};
use serde::Serialize;
use weir_distribution::{CredentialSource, Limits, Options};
use weir_grant::HostInterfaces;
use weir_grant::diagnostic::nearest;
use weir_pod::reference::Reference;

/// The prefix of the variables: `WEIR_INSTALL_CONF_DIR` is `--conf-dir`.
const PREFIX: &str = "WEIR_INSTALL_";

/// The options that say what to do, which are not variables.
const NOT_VARIABLES: [&str; 5] = ["kubernetes", "watch", "check", "purge", "force"];

/// The value of `--readiness-indicator-file` for the default network's own file.
pub const DEFAULT_NETWORK: &str = "default-network";

#[derive(Args)]
pub struct Arguments {
    /// Where the container runtime looks for CNI plugins.
    #[arg(long, value_name = "DIR", default_value = "/opt/cni/bin")]
    pub bin_dir: PathBuf,
    /// Make weir the delegating plugin of a Kubernetes node: also write its configuration, for the
    /// networks of pods, and the kubeconfig that it needs.
    #[arg(long)]
    pub kubernetes: bool,
    #[command(flatten, next_help_heading = "On a Kubernetes node")]
    pub node: NodeArguments,
    #[command(
        flatten,
        next_help_heading = "What the configuration of the delegating plugin says"
    )]
    pub configuration: ConfigurationArguments,
}

/// What is installed on a Kubernetes node, where, and when.
#[derive(Args)]
#[group(id = "node", requires = "kubernetes", multiple = true)]
pub struct NodeArguments {
    /// Keep running until SIGTERM, and install again whenever the default network, the service account's
    /// token, or what was installed changes.
    #[arg(long)]
    pub watch: bool,
    /// Only check whether everything is installed as these options say; exit with 3 if it is not.
    #[arg(long, conflicts_with = "watch")]
    pub check: bool,
    /// How long to wait for the default network's configuration.
    #[arg(
        long,
        value_name = "TIME",
        default_value = "600s",
        value_parser = humantime::parse_duration
    )]
    pub wait: Duration,
    /// Where the container runtime reads network configurations [default: /etc/cni/net.d].
    #[arg(long, value_name = "DIR")]
    pub conf_dir: Option<PathBuf>,
    /// The name of weir's own configuration there: the runtime takes the first by name.
    #[arg(
        long,
        value_name = "FILE",
        default_value = "00-weir.conflist",
        value_parser = conf_name
    )]
    pub conf_name: String,
    /// The default network's file there [default: the first by name that is valid].
    #[arg(long, value_name = "FILE")]
    pub default_network_file: Option<String>,
    /// Take over from Multus: its configuration with its type changed, and the pods that it attached. From the
    /// thick plugin, whose configuration is in its daemon, only the pods.
    #[arg(long)]
    pub from_multus: bool,
    /// Interfaces of the node that networks of cluster objects may use, as names and globs: `hostInterfaces` of weir's own
    /// configuration, /etc/weir/weir.json [default: that stays as it is].
    #[arg(
        long,
        value_name = "NAMES",
        value_delimiter = ',',
        value_parser = host_interface
    )]
    pub host_interfaces: Vec<String>,
    /// An existing kubeconfig on the node: none is written.
    #[arg(long, value_name = "FILE", conflicts_with = "kubeconfig_path")]
    pub kubeconfig: Option<PathBuf>,
    /// Where to write the kubeconfig [default: weir.d/weir.kubeconfig in the directory of network
    /// configurations].
    #[arg(long, value_name = "FILE")]
    pub kubeconfig_path: Option<PathBuf>,
    /// The mounted service account, whose token is written to the kubeconfig.
    #[arg(
        long,
        value_name = "DIR",
        default_value = "/var/run/secrets/kubernetes.io/serviceaccount"
    )]
    pub service_account: PathBuf,
    /// A list of plugins to install on the node, such as the file of a mounted ConfigMap.
    #[arg(long, value_name = "FILE")]
    pub plugin_list: Option<PathBuf>,
    /// Credentials for the registries of the list, as a pull secret's .dockerconfigjson [default: none].
    #[arg(long, value_name = "FILE", requires = "plugin_list")]
    pub plugin_credentials: Option<PathBuf>,
    /// The authorities of the servers of the list, as PEM [default: those that the system trusts].
    #[arg(long, value_name = "FILE", requires = "plugin_list")]
    pub plugin_ca_file: Option<PathBuf>,
    /// The name of the pod that installs. weir annotates it with the outcome for each plugin of the list.
    #[arg(long, value_name = "NAME", requires = "pod_namespace")]
    pub pod_name: Option<String>,
    /// The namespace of that pod.
    #[arg(long, value_name = "NAME", value_parser = namespace, requires = "pod_name")]
    pub pod_namespace: Option<String>,
}

/// The limit for the transfer of one plugin of the list, and again for its signatures.
const OF_ONE_PLUGIN: Duration = Duration::from_secs(120);

impl NodeArguments {
    /// Returns how the servers of the list are reached.
    pub fn servers(&self) -> Options {
        Options {
            credentials: match &self.plugin_credentials {
                Some(file) => CredentialSource::File(file.clone()),
                None => CredentialSource::Anonymous,
            },
            authorities: self.plugin_ca_file.clone(),
            plain_http: false,
            limits: Limits {
                total: OF_ONE_PLUGIN,
                ..Limits::default()
            },
        }
    }
}

/// The default `name` of the configuration.
const DEFAULT_NAME: &str = "weir";

/// Keys of the configuration.
#[derive(Args)]
#[group(id = "configuration", requires = "kubernetes", multiple = true)]
pub struct ConfigurationArguments {
    /// The configuration's `name`.
    #[arg(long, value_name = "NAME", default_value = DEFAULT_NAME)]
    pub network_name: String,
    /// A pod may use only networks of its own namespace and of the global ones.
    #[arg(long)]
    pub namespace_isolation: bool,
    /// Namespaces whose networks every pod may use [default: default].
    #[arg(
        long,
        value_name = "NAMES",
        value_delimiter = ',',
        value_parser = namespace,
        requires = "namespace_isolation"
    )]
    pub global_namespaces: Vec<String>,
    /// Namespaces whose pods get none of the default networks [default: kube-system].
    #[arg(
        long,
        value_name = "NAMES",
        value_delimiter = ',',
        value_parser = namespace
    )]
    pub system_namespaces: Vec<String>,
    /// The namespace of the networks that the configuration names [default: kube-system].
    #[arg(long, value_name = "NAME", value_parser = namespace)]
    pub multus_namespace: Option<String>,
    /// Networks that every pod gets after the default one.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub default_networks: Vec<String>,
    /// A file that exists when the default network is ready; without a value the default network's own
    /// configuration.
    #[arg(
        long,
        value_name = "FILE",
        num_args = 0..=1,
        default_missing_value = DEFAULT_NETWORK,
        value_parser = indicator
    )]
    pub readiness_indicator_file: Option<String>,
    /// The level of weir's own log.
    #[arg(long, value_name = "LEVEL")]
    pub log_level: Option<LogLevel>,
}

impl ConfigurationArguments {
    /// Returns the names of those that are given.
    pub fn given(&self) -> Vec<&'static str> {
        let given = [
            ("--network-name", self.network_name != DEFAULT_NAME),
            ("--namespace-isolation", self.namespace_isolation),
            ("--global-namespaces", !self.global_namespaces.is_empty()),
            ("--system-namespaces", !self.system_namespaces.is_empty()),
            ("--multus-namespace", self.multus_namespace.is_some()),
            ("--default-networks", !self.default_networks.is_empty()),
            (
                "--readiness-indicator-file",
                self.readiness_indicator_file.is_some(),
            ),
            ("--log-level", self.log_level.is_some()),
        ];
        let names = given.into_iter().filter(|(_, is_given)| *is_given);
        names.map(|(name, _)| name).collect()
    }
}

/// The levels that Multus has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum LogLevel {
    Debug,
    Verbose,
    Error,
    Panic,
}

/// Lets variables give the options of `install` and `uninstall`.
pub fn with_variables(command: Command) -> Command {
    command.mut_args(|argument| match argument.get_long() {
        Some(long) if !NOT_VARIABLES.contains(&long) => {
            let name = long.to_uppercase().replace('-', "_");
            argument.env(format!("{PREFIX}{name}"))
        }
        _ => argument,
    })
}

impl Arguments {
    /// Fails on a variable that looks like an option but is not one: a misspelt restriction would have no effect.
    pub fn check_environment(&self) -> Result<()> {
        let command = with_variables(Self::augment_args(Command::new("install")));
        let known: BTreeSet<String> = command
            .get_arguments()
            .filter_map(|argument| argument.get_env())
            .map(|name| name.to_string_lossy().into_owned())
            .collect();
        let set = std::env::vars_os().map(|(name, _)| name.to_string_lossy().into_owned());
        let stranger = set
            .filter(|name| name.starts_with(PREFIX))
            .find(|name| !known.contains(name));
        let Some(stranger) = stranger else {
            return Ok(());
        };
        let known: Vec<&str> = known.iter().map(String::as_str).collect();
        match nearest(&stranger, &known) {
            Some(meant) => bail!("environment: {stranger} is not an option; did you mean {meant}?"),
            None => bail!(
                "environment: {stranger} is not an option; expected one of {}",
                known.join(", ")
            ),
        }
    }
}

/// Parses the name of a file that a runtime reads as a list of plugins.
fn conf_name(text: &str) -> Result<String, String> {
    match text.strip_suffix(".conflist") {
        Some(stem) if !stem.is_empty() && !stem.starts_with('.') && !text.contains('/') => {
            Ok(text.to_owned())
        }
        _ => Err("expected a file name that ends in `.conflist`".to_owned()),
    }
}

fn namespace(text: &str) -> Result<String, String> {
    Reference::new(text, "any").map(|reference| reference.namespace)
}

fn host_interface(text: &str) -> Result<String, String> {
    HostInterfaces::read([text]).map(|_| text.to_owned())
}

fn indicator(text: &str) -> Result<String, String> {
    if text == DEFAULT_NETWORK || text.starts_with('/') {
        Ok(text.to_owned())
    } else {
        Err(format!("expected an absolute path, or `{DEFAULT_NETWORK}`"))
    }
}
