//! What the reference plugins of a later version than Debian's did, recorded from a commit of
//! containernetworking/plugins, and weir beside it.
//!
//! With `WEIR_REFERENCE`, a directory of plugins that were built from the commit, a recorded case is compared as every
//! other one, and with `UPDATE_RECORDED`, the commit's name, its recording is written anew.

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use weir_kit::plugin::is_another_reference;
use weir_kit::recording;

use crate::case::{Case, Step, wait_for};
use crate::compare::differences;
use crate::normalise;
use crate::side::{Side, Whose, with_previous};
use crate::snapshot::Snapshot;

/// The keys of a link that do not depend on the version of the kernel or of `ip`.
const OF_LINK: [&str; 8] = [
    "addr_info",
    "address",
    "flags",
    "linkinfo",
    "master",
    "mtu",
    "operstate",
    "txqlen",
];

/// The outcome of each step of a case.
#[derive(Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Steps {
    steps: Map<String, Value>,
    /// The state after the last one.
    #[serde(skip)]
    last: Value,
}

impl Steps {
    /// Begins with the state before all steps.
    pub fn after(first: &Value) -> Self {
        Self {
            steps: Map::new(),
            last: reduced(first),
        }
    }

    /// Notes the outcome of a step: that of the call, null where the sides may differ, and what it has changed.
    pub fn note(&mut self, step: &str, outcome: Value, state: &Value) {
        let state = reduced(state);
        let changes = changes(&self.last, &state);
        self.last = state;
        let noted = Noted { outcome, changes };
        let noted = serde_json::to_value(noted).expect("JSON");
        self.steps.insert(step.to_owned(), noted);
    }
}

#[derive(Clone, Serialize, Deserialize)]
struct Noted {
    outcome: Value,
    changes: Value,
}

/// The recordings of a plugin's cases.
#[derive(Deserialize)]
struct Recorded {
    cases: Map<String, Value>,
}

impl Case {
    /// Compares with the recording of this name, or where the reference plugin is there, with that.
    pub fn run_recorded(self, plugin: &str, name: &str, recorded: &str) {
        let compared = if is_another_reference() {
            self.compared()
                .and_then(|steps| recording::keep(plugin, name, &serde_json::to_value(steps)?))
        } else {
            self.compare_with(name, recorded)
        };
        compared.unwrap_or_else(|error| panic!("{error:#}"));
    }

    fn compare_with(&self, name: &str, recorded: &str) -> Result<()> {
        let recorded: Recorded = serde_json::from_str(recorded)?;
        let steps = recorded.cases.get(name);
        let steps = steps.with_context(|| format!("`{name}` is not recorded"))?;
        let side = Side::create(Whose::Weir, self.containers())?;
        self.prepare(&side)?;
        let requested = self.requested();
        let now =
            || Snapshot::take(&side).map(|now| reduced(&normalise::snapshot(&now, &requested)));
        let mut last = now()?;
        self.tell(|step, previous: &Option<Value>| {
            let Some(expected) = steps.get(step.name) else {
                return Ok(None);
            };
            let expected: Noted = serde_json::from_value(expected.clone())?;
            let result = self.call_weir(&side, step, previous.as_ref(), &expected.outcome);
            let result = result.with_context(|| step.name)?;
            let (mut differing, mut state) = (Vec::new(), Value::Null);
            let same = wait_for(|| {
                state = now()?;
                differing = differences(&expected.changes, &changes(&last, &state));
                Ok(differing.is_empty())
            })?;
            last = state;
            let (step, lines) = (step.name, differing.join("\n  "));
            ensure!(same, "{step}: states differ:\n  {lines}");
            Ok(result)
        })
    }

    /// Calls weir, and returns its result where it succeeds.
    fn call_weir(
        &self,
        side: &Side,
        step: &Step,
        previous: Option<&Value>,
        expected: &Value,
    ) -> Result<Option<Value>> {
        let (command, container) = (step.command, step.container);
        let config = with_previous(&self.config_of(container), previous);
        let outcome = side.call(command, container, &config, self.args[container])?;
        if !expected.is_null() {
            let (now, requested) = (Snapshot::take(side)?, self.requested());
            let weir = normalise::outcome(&outcome, side, &now, &self.config, &requested);
            let lines = differences(expected, &weir).join("\n  ");
            let said = outcome.stdout.trim();
            ensure!(lines.is_empty(), "outcomes differ:\n  {lines}\n{said}");
        }
        Ok(outcome.succeeded().then(|| outcome.document()))
    }
}

/// A state without what depends on versions of the kernel.
fn reduced(state: &Value) -> Value {
    let mut state = state.clone();
    let (mut spaces, mut containers) = (Vec::new(), Vec::new());
    for (key, value) in state.as_object_mut().into_iter().flatten() {
        match key.as_str() {
            "host" => spaces.push(value),
            "containers" => containers.extend(value.as_object_mut()),
            _ => {}
        }
    }
    spaces.extend(containers.into_iter().flat_map(|all| all.values_mut()));
    for space in spaces {
        let links = space["links"].as_object_mut().into_iter().flatten();
        links
            .filter_map(|(_, link)| link.as_object_mut())
            .for_each(|link| link.retain(|key, _| OF_LINK.contains(&key.as_str())));
        space["parameters"] = set_parameters(&space["parameters"]).into();
        // Which a kernel has from the start depends on the families that it is built with.
        space.as_object_mut().map(|space| space.remove("rules"));
    }
    state
}

/// The parameters by their paths, without the defaults of links.
fn set_parameters(directories: &Value) -> Map<String, Value> {
    let directories = directories.as_object().into_iter().flatten();
    let set = directories.filter(|(directory, _)| !directory.ends_with("/default"));
    set.flat_map(|(directory, values)| {
        let values = values.as_object().into_iter().flatten();
        values.map(move |(name, value)| (format!("{directory}/{name}"), value.clone()))
    })
    .collect()
}

/// What of `now` is other than before, by its path: the new value, or null where there is none any more.
fn changes(before: &Value, now: &Value) -> Value {
    let mut changes = Map::new();
    collect(String::new(), before, now, &mut changes);
    changes.into()
}

fn collect(path: String, before: &Value, now: &Value, changes: &mut Map<String, Value>) {
    match (before, now) {
        (Value::Object(before), Value::Object(now)) => {
            for (key, value) in now {
                let former = before.get(key).unwrap_or(&Value::Null);
                collect(format!("{path}/{key}"), former, value, changes);
            }
            for key in before.keys().filter(|key| !now.contains_key(*key)) {
                changes.insert(format!("{path}/{key}"), Value::Null);
            }
        }
        (before, now) if before == now => {}
        (_, now) => {
            changes.insert(path, now.clone());
        }
    }
}

/// One test for each named case, against the recordings in `recorded/NAME.json`.
macro_rules! recorded_cases {
    ($recorded:literal: $($(#[$doc:meta])* $name:ident: $case:expr;)+) => {$(
        $(#[$doc])*
        #[test]
        fn $name() {
            let recorded = include_str!(concat!("recorded/", $recorded, ".json"));
            $case.run_recorded($recorded, stringify!($name), recorded);
        }
    )+};
}

pub(crate) use recorded_cases;

/// The same for links of a kind that this machine's kernel may lack: `machine` runs them in its virtual machine.
macro_rules! recorded_in_machine_cases {
    ($recorded:literal: $($(#[$doc:meta])* $name:ident: $case:expr;)+) => {
        crate::recorded::recorded_cases! { $recorded: $(
            $(#[$doc])*
            #[ignore = "needs a kernel with this kind of link: `machine` runs it"]
            $name: $case;
        )+}
    };
}

pub(crate) use recorded_in_machine_cases;

#[test]
fn a_change_is_a_new_value_a_different_one_or_none() {
    use serde_json::json;
    let before = json!({"same": 1, "gone": 2, "list": [1], "deep": {"a": 1, "b": 2}});
    let now = json!({"same": 1, "new": {"x": 3}, "list": [1, 2], "deep": {"a": 1, "b": 5}});
    let expected = json!({"/gone": null, "/new": {"x": 3}, "/list": [1, 2], "/deep/b": 5});
    assert_eq!(changes(&before, &now), expected);
    assert_eq!(changes(&now, &now), json!({}));
}
