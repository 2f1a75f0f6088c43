//! A plugin that calls what a test tells it to, and what each call answered.

use std::fs;

use anyhow::Result;
use serde_json::{Value, json};
use weir_kit::{Grant, Outcome, State};

use super::AttackedNode;

/// The plugin's name.
pub const PLUGIN: &str = "puppet";

/// Room for what the plugin says.
const LIMITS: &str = "{ log: 16MiB, calls: 100000 }";

/// A place with the plugin in it.
pub struct Puppet {
    pub fixture: AttackedNode,
}

/// What one order answered, and how often.
#[derive(Clone, Debug)]
pub struct Answer {
    pub function: String,
    /// `ok`, the contract's word for an error, or the number of a CNI error.
    pub answer: String,
    pub times: u64,
    pub said: String,
}

/// The ways of an ADD to fail, each with its code.
pub const FAILURES: [(&str, u64); 2] = [("trap", 210), ("gave up", 150)];

impl Puppet {
    /// Under a grant of these capabilities.
    pub fn under(capabilities: &str) -> Result<Self> {
        Self::limited(capabilities, LIMITS)
    }

    /// Under a grant of these capabilities, on a node with these links, as words of `ip`.
    pub fn among(capabilities: &str, links: &[&str]) -> Result<Self> {
        let puppet = Self::under(capabilities)?;
        puppet.fixture.node.tools("ip", links)?;
        Ok(puppet)
    }

    /// Under a grant of these capabilities and limits.
    pub fn limited(capabilities: &str, limits: &str) -> Result<Self> {
        let fixture = AttackedNode::create(&Grant {
            capabilities,
            limits,
            ..Grant::nothing(PLUGIN)
        })?;
        Ok(Self { fixture })
    }

    /// Puts another grant of these capabilities and limits in force.
    pub fn grant(&self, capabilities: &str, limits: &str) -> Result<()> {
        let grant = Grant {
            capabilities,
            limits,
            ..Grant::nothing(PLUGIN)
        };
        let digest = self.fixture.node.digest(PLUGIN)?;
        let document = grant.document(&digest);
        self.fixture.node.put_grant("puppet.yaml", &document)
    }

    /// Runs an ADD that carries these orders out and must succeed. Returns the answers in their order.
    #[track_caller]
    pub fn act(&self, orders: Vec<Value>) -> Result<Vec<Answer>> {
        self.act_with(json!({ "orders": orders }))
    }

    /// Runs an ADD with these keys, which must succeed. Returns the answers to its orders.
    #[track_caller]
    pub fn act_with(&self, keys: Value) -> Result<Vec<Answer>> {
        let known = self.said().len();
        self.fixture.add(keys)?.result();
        Ok(self.said().split_off(known))
    }

    /// Runs an ADD that carries these orders out and ends as told: `trap`, or with an error.
    pub fn run(&self, orders: Vec<Value>, end: &str) -> Result<Outcome> {
        self.fixture.add(json!({ "orders": orders, "end": end }))
    }

    /// Carries orders out one by one and fails unless each has this answer.
    #[track_caller]
    pub fn assert_each(&self, orders: Vec<Value>, expected: &str) -> Result<Vec<Answer>> {
        let answers = self.act(orders.clone())?;
        assert_eq!(answers.len(), orders.len(), "{answers:#?}");
        for (answer, order) in answers.iter().zip(&orders) {
            assert_eq!(answer.answer, expected, "{order} answered {answer:#?}");
        }
        Ok(answers)
    }

    /// Carries orders out and fails unless each is denied, each has one record that says so, and the
    /// node and the container are as they were.
    #[track_caller]
    pub fn assert_denied(&self, orders: Vec<Value>) -> Result<Vec<Answer>> {
        let known = self.fixture.node.audit().len();
        let before = self.whole()?;
        let answers = self.act(orders)?;
        for answer in &answers {
            // A link that is hidden looks like one that is not there.
            let is_hidden =
                answer.answer == "not-found" && answer.said.contains("none that the grant shows");
            assert!(answer.answer == "denied" || is_hidden, "{answer:#?}");
        }
        assert_eq!(self.whole()?, before, "something has changed");
        let records = self.fixture.node.audit().split_off(known);
        assert_eq!(records.len(), answers.len(), "{records:#?}");
        for record in &records {
            assert_eq!(record["verdict"], "denied", "{record:#}");
        }
        Ok(answers)
    }

    /// Checks that an ADD which carries out these orders and fails then, by a trap or by an error, leaves what was there before.
    pub fn assert_goes(&self, orders: &[Value]) -> Result<()> {
        let before = self.whole()?;
        for (end, code) in FAILURES {
            assert_eq!(self.run(orders.to_vec(), end)?.code(), code);
            let answers = self.said();
            assert!(answers.iter().all(|a| a.answer == "ok"), "{answers:#?}");
            assert_eq!(self.whole()?, before);
        }
        Ok(())
    }

    /// All that is on the node, and the container's links, addresses, routes and policy rules.
    pub fn whole(&self) -> Result<(State, Value, String, String)> {
        let container = &self.fixture.container;
        Ok((
            State::of(&self.fixture.node)?,
            container.ip_json("address show")?,
            container.ip("route show table all")?,
            container.ip("rule show")? + &container.ip("-6 rule show")?,
        ))
    }

    /// All answers so far.
    pub fn said(&self) -> Vec<Answer> {
        let path = self.fixture.node.root().join("var/log/weir/weir.log");
        let text = fs::read_to_string(path).unwrap_or_default();
        let lines = text.lines();
        let values = lines.map(|line| serde_json::from_str(line).expect("JSON Lines"));
        // A line that came again is there once more, with how often.
        let all = values.flat_map(|line: Value| {
            let times = line["repeated"].as_u64().unwrap_or(1);
            (0..times).filter_map(move |_| answer(&line))
        });
        all.collect()
    }
}

fn answer(line: &Value) -> Option<Answer> {
    let text = |key: &str| line["fields"][key].as_str().map(str::to_owned);
    Some(Answer {
        function: line["message"].as_str()?.to_owned(),
        answer: text("answer")?,
        times: text("times")?.parse().ok()?,
        said: text("said")?,
    })
}
