//! `weir completions`, in the shells themselves.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;
use tempfile::TempDir;
use weir_kit::{assert_contains, failure};

use super::{run, weir};

/// A directory with a shell's script, under the name by which that finds it.
fn script(shell: &str, name: &str) -> Result<(TempDir, PathBuf)> {
    let directory = tempfile::tempdir()?;
    let file = directory.path().join(name);
    fs::write(&file, weir(&["completions", shell])?)?;
    Ok((directory, file))
}

/// What bash offers after some words and the beginning of another.
fn bash(words: &str) -> Result<Vec<String>> {
    let (_directory, file) = script("bash", "weir")?;
    // As the function that readline calls gets it.
    const ASK: &str = r#"
        . "$0"
        read -ra COMP_WORDS <<<"$1"
        [[ $1 != *' ' ]] || COMP_WORDS+=('')
        COMP_CWORD=$((${#COMP_WORDS[@]} - 1)) COMP_LINE=$1 COMP_POINT=${#1}
        name=$(complete -p weir | sed 's/.*-F \([^ ]*\) .*/\1/')
        "$name" weir "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
        printf '%s\n' "${COMPREPLY[@]}""#;
    let mut bash = Command::new("bash");
    let offered = run(
        bash.args(["--norc", "-c", ASK]).arg(&file).arg(words),
        "bash",
    )?;
    Ok(offered.lines().map(str::to_owned).collect())
}

#[test]
fn bash_completes_commands_options_and_values() -> Result<()> {
    assert_eq!(bash("weir plugin ad")?, ["add"]);
    assert_eq!(bash("weir grants w")?, ["who"]);
    assert_eq!(bash("weir plugin add --allow")?, ["--allow-downgrade"]);
    assert_eq!(bash("weir version --output ")?, ["text", "json"]);
    assert_eq!(bash("weir --v")?, ["--version"]);
    assert_eq!(
        bash("weir completions ")?.last().map(String::as_str),
        Some("zsh")
    );
    Ok(())
}

#[test]
fn fish_completes_commands_options_and_values() -> Result<()> {
    let (_directory, file) = script("fish", "weir.fish")?;
    let fish = |words: &str| {
        let mut fish = Command::new("fish");
        let ask = format!("source {}; complete -C '{words}'", file.display());
        let offered = run(fish.args(["--no-config", "--command", &ask]), "fish")?;
        // A description follows after a tab.
        let names = offered.lines().filter_map(|line| line.split('\t').next());
        anyhow::Ok(names.map(str::to_owned).collect::<Vec<_>>())
    };
    assert_eq!(fish("weir plugin ad")?, ["add"]);
    assert_eq!(fish("weir plugin add --allow")?, ["--allow-downgrade"]);
    assert_eq!(fish("weir version --output ")?, ["json", "text"]);
    // What an ADD and a package call is not offered.
    let offered = fish("weir ")?;
    assert!(offered.contains(&"demo".to_owned()), "{offered:?}");
    for hidden in ["man", "report-events"] {
        assert!(!offered.contains(&hidden.to_owned()), "{offered:?}");
    }
    Ok(())
}

#[test]
fn zsh_completes_commands_and_options() -> Result<()> {
    let (directory, _file) = script("zsh", "_weir")?;
    // A terminal of its own, in which the line is typed, then a tab, then a key that prints the line.
    const ASK: &str = r#"
        zmodload zsh/zpty
        zpty -b shell "PS1= zsh -f -i"
        zpty -w shell "fpath=($1 \$fpath); autoload -Uz compinit; compinit -u -D; unset zle_bracketed_paste"
        zpty -w shell "show() { print -r -- \"[\$BUFFER]\" }; zle -N show; bindkey '^X' show; print re''ady"
        zpty -r -m shell out '*ready*' || exit 1
        zpty -w -n shell "$2"$'\t'$'\x18'
        zpty -r -m shell out '*\[weir*\]*' || exit 1
        print -r -- "$out""#;
    let zsh = |words: &str| {
        let mut zsh = Command::new("zsh");
        zsh.args(["-f", "-c", ASK, "ask"])
            .arg(directory.path())
            .arg(words);
        run(&mut zsh, "zsh")
    };
    let completed = zsh("weir plugin ad")?;
    assert_contains(&completed, &["[weir plugin add ]"]);
    let completed = zsh("weir plugin add --allow")?;
    assert_contains(&completed, &["[weir plugin add --allow-downgrade ]"]);
    Ok(())
}

#[test]
fn an_unknown_shell_is_an_error_that_names_the_others() -> Result<()> {
    let failed = failure(weir(&["completions", "csh"]))?;
    weir_kit::assert_contains(&failed, &["bash", "fish", "zsh"]);
    Ok(())
}
