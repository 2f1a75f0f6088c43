//! The answer of a native plugin: its result, its error, or neither (CNI sections 2 and 5).

use serde_json::Value;
use weir_cni::{AddResult, Command, Error, PluginConfig, from_json_assuming};
use weir_grant::text::printable;
use weir_kernel::exec::Ended;

use crate::codes;

/// How much of a plugin's output an error repeats, in characters.
const SHOWN: usize = 400;

/// Reads the answer to a command. Only ADD has a result; what others print with status 0 is ignored.
///
/// Errors: the plugin's own; `codes::NO_ANSWER` if it gave neither a result nor an error.
pub(super) fn read(
    command: Command,
    config: &PluginConfig,
    ended: &Ended,
) -> Result<Option<AddResult>, Error> {
    let document: Result<Value, _> = serde_json::from_slice(&ended.output);
    let error = document.as_ref().ok().and_then(Error::from_json);
    match (error, ended.status) {
        (Some(error), Some(_)) => Err(readable(error)),
        (_, Some(0)) if command != Command::Add => Ok(None),
        (None, Some(0)) => match document {
            Ok(document) => result(config, &document)
                .map(Some)
                .map_err(|e| broken(format!("its result cannot be used: {}", e.msg), ended)),
            Err(_) if ended.output.trim_ascii().is_empty() => {
                Err(broken("it ended without a result".to_owned(), ended))
            }
            Err(error) => Err(broken(
                format!("its result is not valid JSON: {error}"),
                ended,
            )),
        },
        (_, Some(status)) => {
            let what = format!("it ended with status {status} and no CNI error");
            Err(broken(what, ended))
        }
        (_, None) => {
            let signal = ended.signal.unwrap_or_default();
            Err(broken(format!("it was ended by signal {signal}"), ended))
        }
    }
}

fn result(config: &PluginConfig, document: &Value) -> Result<AddResult, Error> {
    from_json_assuming(document, config.version()?)
}

/// An error is shown in logs and terminals, which its text must not control.
fn readable(error: Error) -> Error {
    Error::new(error.code, printable(&error.msg)).with_details(printable(&error.details))
}

/// What it printed instead is in the details.
fn broken(what: String, ended: &Ended) -> Error {
    let mut details = Vec::from_iter(said("standard error", &ended.messages));
    details.extend(said("standard output", &ended.output));
    Error::new(codes::NO_ANSWER, what).with_details(details.join("; "))
}

/// What it printed, named and shortened; none if it printed nothing.
pub(super) fn said(name: &str, bytes: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(bytes);
    let text = text.trim();
    (!text.is_empty()).then(|| format!("{name}: {}", shorten(&printable(text))))
}

fn shorten(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn ended(status: i32, output: &str) -> Ended {
        Ended {
            status: Some(status),
            signal: None,
            output: output.as_bytes().to_vec(),
            messages: b"\x1b[31mtrace".to_vec(),
        }
    }

    fn answer(command: Command, ended: &Ended) -> Result<Option<AddResult>, String> {
        let config = json!({ "cniVersion": "1.0.0", "name": "net", "type": "native" });
        let config = PluginConfig::from_value(config).expect("a configuration");
        read(command, &config, ended).map_err(|error| error.to_string())
    }

    #[test]
    fn results_of_all_versions_are_read() {
        for result in [
            json!({ "cniVersion": "1.1.0", "ips": [{ "address": "10.0.0.2/24" }] }),
            json!({ "ips": [{ "address": "10.0.0.2/24" }] }),
            json!({ "cniVersion": "0.3.1", "ips": [{ "version": "4", "address": "10.0.0.2/24" }] }),
            json!({ "cniVersion": "0.2.0", "ip4": { "ip": "10.0.0.2/24" } }),
        ] {
            let read = answer(Command::Add, &ended(0, &result.to_string()));
            let read = read.expect("a result").expect("of ADD");
            assert_eq!(read.ips[0].address.to_string(), "10.0.0.2/24", "{result}");
        }
    }

    #[test]
    fn errors_are_passed_on_and_other_output_is_an_error() {
        let said =
            r#"{"cniVersion": "1.0.0", "code": 101, "msg": "no\u001bway", "details": "because"}"#;
        for (status, output, expected) in [
            (1, said, "no\\u{1b}way; because (CNI code 101"),
            (0, said, "no\\u{1b}way; because (CNI code 101"),
            (
                0,
                "",
                "it ended without a result; standard error: \\u{1b}[31mtrace",
            ),
            (0, "ok", "its result is not valid JSON"),
            (
                0,
                r#"{"cniVersion": "1.0.0", "ips": 7}"#,
                "its result cannot be used",
            ),
            (2, "panic: oh", "it ended with status 2 and no CNI error"),
            (
                1,
                r#"{"cniVersion": "1.0.0"}"#,
                "standard output: {\"cniVersion\": \"1.0.0\"}",
            ),
        ] {
            let error = answer(Command::Add, &ended(status, output)).expect_err(output);
            assert!(error.contains(expected), "{error}");
        }
        let killed = Ended {
            status: None,
            signal: Some(9),
            ..ended(0, "")
        };
        let error = answer(Command::Del, &killed).expect_err("killed");
        assert!(error.contains("ended by signal 9"), "{error}");
    }

    #[test]
    fn other_commands_have_no_result() {
        for command in [Command::Del, Command::Check, Command::Status, Command::Gc] {
            for output in ["", "{}", "deleted"] {
                assert_eq!(answer(command, &ended(0, output)), Ok(None), "{output}");
            }
        }
        assert!(answer(Command::Del, &ended(1, "")).is_err());
    }
}
