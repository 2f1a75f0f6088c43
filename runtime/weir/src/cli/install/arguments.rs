//! The command line of `weir install`. Each option can also be an environment variable, so that a
//! DaemonSet's container and its probes have them from one ConfigMap.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use weir_grant::diagnostic::nearest;
use weir_pod::reference::Reference;

/// What the variables begin with.
const PREFIX: &str = "WEIR_INSTALL_";

/// The value of `--readiness-indicator-file` that stands for the default network's own file.
pub const DEFAULT_NETWORK: &str = "default-network";

#[derive(Args)]
pub struct Arguments {
    /// Where the container runtime looks for CNI plugins.
    #[arg(
        long,
        value_name = "DIR",
        default_value = "/opt/cni/bin",
        env = "WEIR_INSTALL_BIN_DIR"
    )]
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

/// Where things are put on a Kubernetes node, and when.
#[derive(Args)]
#[group(id = "node", requires = "kubernetes", multiple = true)]
pub struct NodeArguments {
    /// Stay, and install again whenever the default network, the service account's token, or what was
    /// installed changes; until SIGTERM.
    #[arg(long)]
    pub watch: bool,
    /// Only tell whether all is installed as these options say; exit code 3 where it is not.
    #[arg(long, conflicts_with = "watch")]
    pub check: bool,
    /// How long to wait for the default network's configuration.
    #[arg(
        long,
        value_name = "TIME",
        default_value = "600s",
        value_parser = humantime::parse_duration,
        env = "WEIR_INSTALL_WAIT"
    )]
    pub wait: Duration,
    /// Where the container runtime reads network configurations [default: /etc/cni/net.d].
    #[arg(long, value_name = "DIR", env = "WEIR_INSTALL_CONF_DIR")]
    pub conf_dir: Option<PathBuf>,
    /// The name of weir's own configuration there: the runtime takes the first by name.
    #[arg(
        long,
        value_name = "FILE",
        default_value = "00-weir.conflist",
        value_parser = conf_name,
        env = "WEIR_INSTALL_CONF_NAME"
    )]
    pub conf_name: String,
    /// The default network's file there [default: the first by name that is valid].
    #[arg(long, value_name = "FILE", env = "WEIR_INSTALL_DEFAULT_NETWORK_FILE")]
    pub default_network_file: Option<String>,
    /// Take Multus' place: its configuration with its type changed, and the pods that it attached. Of the thick
    /// plugin, which has its configuration in its daemon, the pods alone.
    #[arg(long, env = "WEIR_INSTALL_FROM_MULTUS")]
    pub from_multus: bool,
    /// A kubeconfig that is on the node already: none is written.
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with = "kubeconfig_path",
        env = "WEIR_INSTALL_KUBECONFIG"
    )]
    pub kubeconfig: Option<PathBuf>,
    /// Where to write the kubeconfig [default: weir.d/weir.kubeconfig in the directory of network
    /// configurations].
    #[arg(long, value_name = "FILE", env = "WEIR_INSTALL_KUBECONFIG_PATH")]
    pub kubeconfig_path: Option<PathBuf>,
    /// The mounted service account, whose token the kubeconfig gets.
    #[arg(
        long,
        value_name = "DIR",
        default_value = "/var/run/secrets/kubernetes.io/serviceaccount",
        env = "WEIR_INSTALL_SERVICE_ACCOUNT"
    )]
    pub service_account: PathBuf,
}

/// The name of a configuration that weir makes.
const DEFAULT_NAME: &str = "weir";

/// Keys of the configuration.
#[derive(Args)]
#[group(id = "configuration", requires = "kubernetes", multiple = true)]
pub struct ConfigurationArguments {
    /// The configuration's own `name`.
    #[arg(
        long,
        value_name = "NAME",
        default_value = DEFAULT_NAME,
        env = "WEIR_INSTALL_NETWORK_NAME"
    )]
    pub network_name: String,
    /// A pod may use networks of its own namespace only, and of the global ones.
    #[arg(long, env = "WEIR_INSTALL_NAMESPACE_ISOLATION")]
    pub namespace_isolation: bool,
    /// Namespaces whose networks every pod may use [default: default].
    #[arg(
        long,
        value_name = "NAMES",
        value_delimiter = ',',
        value_parser = namespace,
        requires = "namespace_isolation",
        env = "WEIR_INSTALL_GLOBAL_NAMESPACES"
    )]
    pub global_namespaces: Vec<String>,
    /// Namespaces whose pods get none of the default networks [default: kube-system].
    #[arg(
        long,
        value_name = "NAMES",
        value_delimiter = ',',
        value_parser = namespace,
        env = "WEIR_INSTALL_SYSTEM_NAMESPACES"
    )]
    pub system_namespaces: Vec<String>,
    /// The namespace of the networks that the configuration names [default: kube-system].
    #[arg(
        long,
        value_name = "NAME",
        value_parser = namespace,
        env = "WEIR_INSTALL_MULTUS_NAMESPACE"
    )]
    pub multus_namespace: Option<String>,
    /// Networks that every pod gets after the default one.
    #[arg(
        long,
        value_name = "NAMES",
        value_delimiter = ',',
        env = "WEIR_INSTALL_DEFAULT_NETWORKS"
    )]
    pub default_networks: Vec<String>,
    /// A file whose being there tells that the default network is ready; without a value the default
    /// network's own configuration.
    #[arg(
        long,
        value_name = "FILE",
        num_args = 0..=1,
        default_missing_value = DEFAULT_NETWORK,
        value_parser = indicator,
        env = "WEIR_INSTALL_READINESS_INDICATOR_FILE"
    )]
    pub readiness_indicator_file: Option<String>,
    /// How much weir logs.
    #[arg(long, value_name = "LEVEL", env = "WEIR_INSTALL_LOG_LEVEL")]
    pub log_level: Option<LogLevel>,
}

impl ConfigurationArguments {
    /// Those that are given and say something else than nothing.
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogLevel {
    Debug,
    Verbose,
    Error,
    Panic,
}

impl LogLevel {
    /// As the configuration has it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Debug => "debug",
            Self::Verbose => "verbose",
            Self::Error => "error",
            Self::Panic => "panic",
        }
    }
}

impl Arguments {
    /// Fails on a variable that looks like an option and is none: a misspelt restriction would be no
    /// restriction.
    pub fn check_environment(&self) -> Result<()> {
        let command = Self::augment_args(clap::Command::new("install"));
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
            Some(meant) => bail!("environment: {stranger} is no option; did you mean {meant}?"),
            None => bail!(
                "environment: {stranger} is no option; there are {}",
                known.join(", ")
            ),
        }
    }
}

/// A name that a runtime reads as a list of plugins.
fn conf_name(text: &str) -> Result<String, String> {
    match text.strip_suffix(".conflist") {
        Some(stem) if !stem.is_empty() && !stem.starts_with('.') && !text.contains('/') => {
            Ok(text.to_owned())
        }
        _ => Err("expected the name of a file that ends in .conflist".to_owned()),
    }
}

fn namespace(text: &str) -> Result<String, String> {
    Reference::new(text, "any").map(|reference| reference.namespace)
}

fn indicator(text: &str) -> Result<String, String> {
    if text == DEFAULT_NETWORK || text.starts_with('/') {
        Ok(text.to_owned())
    } else {
        Err(format!("expected an absolute path, or `{DEFAULT_NETWORK}`"))
    }
}
