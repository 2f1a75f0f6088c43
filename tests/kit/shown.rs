//! What `ip` shows of a network namespace, by processes that answer again and again: starting one takes fifty times as long as its
//! answer.

use std::collections::{BTreeMap, VecDeque};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

/// Lists, each as `ip -j -d` prints it.
#[derive(Debug)]
pub struct Shown {
    /// Links with their addresses.
    pub links: Vec<Value>,
    /// Of all tables and both families.
    pub routes: Vec<Value>,
    /// Of both families.
    pub rules: Vec<Value>,
    pub neighbours: Vec<Value>,
}

/// The processes, in one namespace.
pub(super) struct Showing {
    /// Of both families, where a list has both.
    ip: Ip,
    ipv6: Ip,
    /// The names of links by index. A process keeps a link's name as it was when it first met the link.
    names: BTreeMap<u64, String>,
}

impl Showing {
    /// Starts them in the calling thread's namespace.
    pub(super) fn start() -> Result<Self> {
        Ok(Self {
            ip: Ip::start(&[])?,
            ipv6: Ip::start(&["-6"])?,
            names: BTreeMap::new(),
        })
    }

    /// None if a link has another name than before: other processes must be asked then.
    pub(super) fn show(&mut self) -> Result<Option<Shown>> {
        self.ip.ask(&[
            "address show",
            "route show table all",
            "rule show",
            "neighbour show",
        ])?;
        self.ipv6.ask(&["rule show"])?;
        let links = self.ip.answer()?;
        let routes = self.ip.answer()?;
        let rules = [self.ip.answer()?, self.ipv6.answer()?].concat();
        let neighbours = self.ip.answer()?;
        let is_known = self.know(&links);
        Ok(is_known.then_some(Shown {
            links,
            routes,
            rules,
            neighbours,
        }))
    }

    /// Whether no known link has another name.
    fn know(&mut self, links: &[Value]) -> bool {
        links.iter().all(|link| {
            let (index, name) = (link["ifindex"].as_u64(), link["ifname"].as_str());
            let (index, name) = (index.unwrap_or_default(), name.unwrap_or_default());
            let known = self.names.entry(index).or_insert_with(|| name.to_owned());
            known == name
        })
    }
}

/// One process.
struct Ip {
    process: Child,
    /// None once it is to end.
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    /// What it was asked and has not answered yet.
    asked: VecDeque<&'static str>,
}

impl Ip {
    fn start(options: &[&str]) -> Result<Self> {
        let mut process = Command::new("ip")
            .args(["-j", "-d", "-batch", "-"])
            .args(options)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("run `ip`: install the package iproute2")?;
        let output = process.stdout.take().context("its standard output")?;
        Ok(Self {
            input: process.stdin.take(),
            output: BufReader::new(output),
            asked: VecDeque::new(),
            process,
        })
    }

    /// Asks all of these at once: each time that one process waits for the other takes longer than an answer.
    fn ask(&mut self, questions: &[&'static str]) -> Result<()> {
        let input = self.input.as_mut().context("it has ended")?;
        let lines = questions.join("\n") + "\n";
        self.asked.extend(questions);
        input.write_all(lines.as_bytes()).context("ask `ip`")
    }

    /// The list that answers the next question, in a line.
    fn answer(&mut self) -> Result<Vec<Value>> {
        let question = self.asked.pop_front().context("it was asked nothing")?;
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        ensure!(line.ends_with('\n'), "`ip {question}` failed, see above");
        // Parsed as a value, by what serde_json has compiled: as a list, this crate would compile it, without optimisation.
        let list = line
            .parse()
            .with_context(|| format!("`ip {question}` printed {line}"))?;
        match list {
            Value::Array(list) => Ok(list),
            _ => bail!("`ip {question}` printed {line}"),
        }
    }
}

impl Drop for Ip {
    fn drop(&mut self) {
        drop(self.input.take());
        let _ = self.process.wait();
    }
}
