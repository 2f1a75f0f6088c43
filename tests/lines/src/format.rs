//! Sources as rustfmt formats them.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

/// Returns a file's text as rustfmt formats it without any configuration. Errors: also what rustfmt is told to skip.
pub(crate) fn formatted(file: &Path) -> Result<String> {
    let text = fs::read_to_string(file).with_context(|| format!("read {}", file.display()))?;
    let name = file.display();
    ensure!(
        !text.contains("rustfmt::skip"),
        "{name}: rustfmt is told to skip some of it"
    );
    rustfmt(&text).with_context(|| format!("format {name}"))
}

fn rustfmt(text: &str) -> Result<String> {
    let mut rustfmt = Command::new("rustfmt")
        .args(["--edition", "2024"])
        // Where no configuration is found.
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let mut stdin = rustfmt.stdin.take().context("its standard input")?;
    stdin.write_all(text.as_bytes())?;
    drop(stdin);
    let output = rustfmt.wait_with_output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "rustfmt: {said}");
    Ok(String::from_utf8(output.stdout)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_on_one_line_is_counted_as_rustfmt_has_it() -> Result<()> {
        let formatted = rustfmt("fn f(a: u8) -> u8 { let b = a; b }")?;
        assert_eq!(formatted.lines().count(), 4, "{formatted}");
        assert!(rustfmt("fn f(").is_err());
        Ok(())
    }
}
