//! The CNI protocol: reads the environment and standard input, and writes exactly one JSON document.

use std::io::{self, Read, Write};
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::process::ExitCode;

use serde_json::Value;
use weir_cni::{Command, Environment, Error, PluginConfig, Version, to_json, version_result};
use weir_files::Paths;
use weir_network::{Attachment, run_plugin, source_of_call};
use weir_pod as pod;
use weir_sandbox::Sandbox;

use crate::OWN_NAME;
use crate::cli::output::complain;

/// A configuration larger than this is a mistake or an attack.
const LARGEST_INPUT: u64 = 4 << 20;

/// If set to `1`, allowed reads are recorded as well.
const AUDIT_READS: &str = "WEIR_AUDIT_READS";

/// Whether the environment wants reads recorded.
pub fn records_reads() -> bool {
    std::env::var_os(AUDIT_READS).is_some_and(|value| value == "1")
}

/// Carries out the command in the environment as the plugin `name`.
pub fn serve(name: &str) -> ExitCode {
    // The answer has the caller's `cniVersion`, known or not.
    let mut cni_version = Version::LATEST.to_string();
    let outcome = catch_unwind(AssertUnwindSafe(|| answer(name, &mut cni_version)));
    let outcome =
        outcome.unwrap_or_else(|_| Err(Error::internal("weir itself failed: see standard error")));
    match outcome {
        Ok(document) => print(document.as_ref(), ExitCode::SUCCESS),
        Err(error) => print(Some(&error.to_json(cni_version)), ExitCode::FAILURE),
    }
}

fn print(document: Option<&Value>, code: ExitCode) -> ExitCode {
    let Some(document) = document else {
        return code;
    };
    // In one write, so that the reader wakes up once.
    let text = format!("{document:#}\n");
    if let Err(error) = io::stdout().lock().write_all(text.as_bytes()) {
        let message = format!("cannot write the result to standard output: {error}");
        complain(&message);
        return ExitCode::FAILURE;
    }
    code
}

fn answer(name: &str, cni_version: &mut String) -> Result<Option<Value>, Error> {
    let variables = Environment::VARIABLES.into_iter().filter_map(|name| {
        let value = std::env::var_os(name)?;
        Some((name, value.to_string_lossy().into_owned()))
    });
    let environment = Environment::from_variables(variables);
    let input = read_input()?;
    // An invalid document is reported once it is known what it is for.
    let document: Option<Value> = serde_json::from_str(&input).ok();
    let requested = document.as_ref().and_then(version_of);
    if let Some(version) = requested {
        version.clone_into(cni_version);
    }
    let environment = environment?;
    if environment.command == Command::Version {
        return Ok(Some(version(requested)));
    }
    if input.trim().is_empty() {
        return Err(Error::decoding_failure(
            "standard input is empty; expected the network configuration",
        ));
    }
    let config = match document {
        Some(document) => PluginConfig::from_value(document)?,
        None => PluginConfig::parse(&input)?,
    };
    execute(name, &environment, &config)
}

fn read_input() -> Result<String, Error> {
    let mut input = Vec::new();
    io::stdin()
        .lock()
        .take(LARGEST_INPUT + 1)
        .read_to_end(&mut input)
        .map_err(|e| Error::io_failure(format!("cannot read standard input: {e}")))?;
    if input.len() as u64 > LARGEST_INPUT {
        return Err(Error::io_failure(format!(
            "standard input has more than {LARGEST_INPUT} bytes"
        )));
    }
    String::from_utf8(input)
        .map_err(|e| Error::decoding_failure(format!("standard input is not UTF-8: {e}")))
}

/// `cniVersion`, even if the rest of the document is not valid.
fn version_of(document: &Value) -> Option<&str> {
    document.get("cniVersion")?.as_str()
}

/// The answer to VERSION, the same for every plugin, since weir converts between all versions.
///
/// The caller may know a newer version, as a newer libcni does.
fn version(requested: Option<&str>) -> Value {
    version_result(requested.and_then(|version| version.parse().ok()))
}

fn execute(
    name: &str,
    environment: &Environment,
    config: &PluginConfig,
) -> Result<Option<Value>, Error> {
    let version = config.version()?;
    environment.command.check_version(version)?;
    let attachment = Attachment::from_environment(environment)?;
    let sandbox = Sandbox::new(Paths::from_environment(), records_reads())?;
    // The process ends with this call, which is faster than to free code and engine.
    let sandbox = &*ManuallyDrop::new(sandbox);
    let result = match name {
        OWN_NAME => pod::run(sandbox, config, environment, &attachment),
        plugin => {
            let command = environment.command;
            let source = source_of_call(sandbox.paths(), config, &attachment.args)?;
            let bin_dirs: Vec<PathBuf> = environment.path.iter().map(PathBuf::from).collect();
            let ran = run_plugin(
                sandbox,
                plugin,
                command,
                &attachment,
                config,
                &source,
                &bin_dirs,
            );
            ran.map_err(Error::from)
        }
    };
    result?.map(|result| to_json(&result, version)).transpose()
}
