//! One configuration through both sides: the life of two attachments, step by step.

use std::cell::RefCell;
use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use weir_kit::{Outcome, with_keys};

use crate::compare::differences;
use crate::normalise;
use crate::recorded::Steps;
use crate::side::{Side, with_previous};
use crate::snapshot::Snapshot;

/// How long the kernel may take to come to rest after a step: links coming up, addresses settling.
const REST: Duration = Duration::from_secs(5);

/// How often to look whether it has.
const POLL: Duration = Duration::from_millis(20);
const LONGEST_POLL: Duration = Duration::from_millis(320);

/// A configuration, and what is there before it is used.
pub struct Case {
    pub(crate) config: Value,
    /// Configurations of the plugins that come after it in a list.
    chained: Vec<Value>,
    /// Keys that are others for the second container.
    of_second: Vec<(&'static str, Value)>,
    pub(crate) args: [Option<&'static str>; 2],
    host: Vec<&'static str>,
    in_containers: Vec<&'static str>,
    parameters: Vec<(&'static str, &'static str)>,
    host_parameters: Vec<(&'static str, &'static str)>,
    files: Vec<(&'static str, &'static str)>,
    expected: Expected,
    is_added_once: bool,
    /// Whether only [`BRIEF`] steps are taken.
    is_brief: bool,
    is_deleted_twice: bool,
}

/// What ADD must do for the case to be about what its name says.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Expected {
    Success,
    Failure,
    /// The first container is attached, and then there is no room.
    SuccessOnce,
}

impl Case {
    /// A configuration that both sides must carry out. `cniVersion` is 1.0.0, and the name `net`,
    /// where it says nothing else.
    pub fn new(config: Value) -> Self {
        let mut whole = json!({"cniVersion": "1.0.0", "name": "net"});
        let keys = config
            .as_object()
            .expect("a configuration is an object")
            .clone();
        whole.as_object_mut().expect("as above").extend(keys);
        Self {
            config: whole,
            chained: Vec::new(),
            of_second: Vec::new(),
            args: [None; 2],
            host: Vec::new(),
            in_containers: Vec::new(),
            parameters: Vec::new(),
            host_parameters: Vec::new(),
            files: Vec::new(),
            expected: Expected::Success,
            is_added_once: false,
            is_brief: false,
            is_deleted_twice: false,
        }
    }

    /// `bridge` with the bridge `br`, these keys, and host-local with those.
    pub fn bridge(keys: Value, ipam: Value) -> Self {
        let mut case = Self::layer_2(keys);
        case.config["ipam"] = ipam;
        case.config["ipam"]["type"] = json!("host-local");
        case
    }

    /// `bridge` with the bridge `br` and these keys, without `ipam`.
    pub fn layer_2(keys: Value) -> Self {
        let mut case = Self::new(keys);
        case.config["type"] = json!("bridge");
        case.config["bridge"] = json!("br");
        case
    }

    /// host-local, called by itself.
    pub fn host_local(ipam: Value) -> Self {
        let mut case = Self::new(json!({"type": "host-local"}));
        case.config["ipam"] = ipam;
        case.config["ipam"]["type"] = json!("host-local");
        case
    }

    /// One more plugin after those before, in one list.
    pub fn then(mut self, plugin: Value) -> Self {
        self.chained.push(plugin);
        self
    }

    /// `CNI_ARGS` of the two containers.
    pub fn args(mut self, one: &'static str, two: &'static str) -> Self {
        self.args = [one, two].map(Some);
        self
    }

    /// More keys of the configuration, beside `type`.
    pub fn with(mut self, key: &str, value: Value) -> Self {
        self.config[key] = value;
        self
    }

    /// All of these keys of the configuration.
    pub fn more(mut self, keys: Value) -> Self {
        self.config = with_keys(self.config, keys);
        self
    }

    /// More keys of `ipam`.
    pub fn with_ipam(mut self, key: &str, value: Value) -> Self {
        self.config["ipam"][key] = value;
        self
    }

    /// A key of the configuration that is another for the second container.
    pub fn of_second(mut self, key: &'static str, value: Value) -> Self {
        self.of_second.push((key, value));
        self
    }

    pub(crate) fn config_of(&self, container: usize) -> Value {
        let mut config = self.config.clone();
        for (key, value) in self.of_second.iter().filter(|_| container == 1) {
            config[*key] = value.clone();
        }
        match self.chained.as_slice() {
            [] => config,
            chained => list(config, chained),
        }
    }

    /// A line of `ip` that is run on the host first.
    pub fn host(mut self, line: &'static str) -> Self {
        self.host.push(line);
        self
    }

    /// A line of `ip` that is run in both containers first.
    pub fn in_containers(mut self, line: &'static str) -> Self {
        self.in_containers.push(line);
        self
    }

    /// A parameter below `/proc/sys/net` that both containers have from the start.
    pub fn parameter(mut self, key: &'static str, value: &'static str) -> Self {
        self.parameters.push((key, value));
        self
    }

    /// IPv6 is off in both containers.
    pub fn without_ipv6(self) -> Self {
        self.parameter("ipv6/conf/lo/disable_ipv6", "1")
            .parameter("ipv6/conf/default/disable_ipv6", "1")
    }

    /// A parameter below `/proc/sys/net` that the host has when its links are there.
    pub fn host_parameter(mut self, key: &'static str, value: &'static str) -> Self {
        self.host_parameters.push((key, value));
        self
    }

    /// A file below the node's root.
    pub fn file(mut self, path: &'static str, content: &'static str) -> Self {
        self.files.push((path, content));
        self
    }

    /// Takes only the steps of one attachment: in the virtual machine, a call takes a second, and a look at a container
    /// half of one.
    pub fn in_brief(mut self) -> Self {
        self.is_brief = true;
        self
    }

    /// Takes the DEL of an attachment that is gone as well, where the steps are those of one attachment.
    pub fn deleted_twice(mut self) -> Self {
        self.is_deleted_twice = true;
        self
    }

    /// Leaves the ADD of an interface out that is there already.
    pub fn added_once(mut self) -> Self {
        self.is_added_once = true;
        self
    }

    /// ADD must fail on both sides.
    pub fn fails(mut self) -> Self {
        self.expected = Expected::Failure;
        self
    }

    /// The first ADD must succeed on both sides and the second fail.
    pub fn succeeds_once(mut self) -> Self {
        self.expected = Expected::SuccessOnce;
        self
    }

    /// Takes both sides through all steps. Panics where they differ.
    pub fn run(self) {
        self.try_run().unwrap_or_else(|error| panic!("{error:#}"));
    }

    fn try_run(&self) -> Result<()> {
        self.compared().map(drop)
    }

    /// Takes both sides through all steps, and returns what they agreed upon.
    pub(crate) fn compared(&self) -> Result<Steps> {
        let sides = Side::pair(self.containers())?;
        for side in &sides {
            self.prepare(side)?;
        }
        let story = Story {
            case: self,
            requested: self.requested(),
            sides,
            before: RefCell::default(),
            steps: RefCell::default(),
        };
        story.compare_states("before everything", None)?;
        *story.steps.borrow_mut() = Steps::after(&story.before.borrow());
        story.tell()?;
        Ok(story.steps.into_inner())
    }

    /// How many containers the steps are about.
    pub(crate) fn containers(&self) -> usize {
        if self.is_brief { 1 } else { 2 }
    }

    pub(crate) fn prepare(&self, side: &Side) -> Result<()> {
        side.node.ips(&self.host)?;
        let mut containers = side.containers.iter();
        containers.try_for_each(|container| container.ips(&self.in_containers))?;
        for (key, value) in &self.parameters {
            let path = Path::new("/proc/sys/net").join(key);
            side.containers
                .iter()
                .try_for_each(|container| container.inside(|| Ok(fs::write(&path, value)?)))?;
        }
        for (key, value) in &self.host_parameters {
            let path = Path::new("/proc/sys/net").join(key);
            side.node.inside(|| Ok(fs::write(&path, value)?))?;
        }
        for (path, content) in &self.files {
            let path = side.node.root().join(path);
            fs::create_dir_all(path.parent().context("a file is in a directory")?)?;
            fs::write(path, content)?;
        }
        Ok(())
    }

    /// Everything that is asked for, to find MACs in.
    pub(crate) fn requested(&self) -> String {
        format!(
            "{} {:?} {:?} {:?} {:?}",
            self.config, self.chained, self.of_second, self.args, self.host
        )
    }
}

/// A configuration list of a first plugin and those after it.
fn list(first: Value, chained: &[Value]) -> Value {
    let (version, name) = (first["cniVersion"].clone(), first["name"].clone());
    let plugins: Vec<Value> = [first].into_iter().chain(chained.iter().cloned()).collect();
    json!({"cniVersion": version, "name": name, "plugins": plugins})
}

/// A case under way.
struct Story<'c> {
    case: &'c Case,
    requested: String,
    sides: [Side; 2],
    /// weir's state after the step before.
    before: RefCell<Value>,
    steps: RefCell<Steps>,
}

/// The results of one container's ADD: the reference's and weir's.
type Results = [Option<Value>; 2];

/// One call in the life of two attachments.
pub(crate) struct Step {
    pub(crate) name: &'static str,
    pub(crate) command: &'static str,
    pub(crate) container: usize,
    /// Whether the container's result of ADD is the call's `prevResult`.
    has_previous: bool,
    /// Whether the call's own result is the one that the container is attached with.
    attaches: bool,
}

const fn step(name: &'static str, command: &'static str, container: usize) -> Step {
    Step {
        name,
        command,
        container,
        has_previous: false,
        attaches: false,
    }
}

const fn attaching(name: &'static str, container: usize) -> Step {
    Step {
        attaches: true,
        ..step(name, "ADD", container)
    }
}

const fn with_result(name: &'static str, command: &'static str, container: usize) -> Step {
    Step {
        has_previous: true,
        ..step(name, command, container)
    }
}

/// An ADD of an interface that is there already. A list's ADD that fails is followed by DEL, and nothing would be
/// attached any more.
const ADD_AGAIN: &str = "ADD again";

/// The steps of an attachment.
const BRIEF: [&str; 3] = ["ADD", "CHECK", "DEL"];

/// The DEL of an attachment that is gone.
const DEL_AGAIN: &str = "DEL again";

const STEPS: [Step; 13] = [
    attaching("ADD", 0),
    with_result("CHECK", "CHECK", 0),
    attaching("ADD of another", 1),
    step(ADD_AGAIN, "ADD", 0),
    with_result("CHECK with another there", "CHECK", 0),
    with_result("CHECK of another", "CHECK", 1),
    step("CHECK without prevResult", "CHECK", 0),
    with_result("DEL", "DEL", 0),
    with_result(DEL_AGAIN, "DEL", 0),
    with_result("CHECK after DEL", "CHECK", 0),
    step("ADD after DEL", "ADD", 0),
    step("DEL without prevResult", "DEL", 0),
    with_result("DEL of another", "DEL", 1),
];

impl Case {
    /// Takes the steps of the case, each with the previous result that it is called with. `call` returns the results
    /// of a call that succeeded.
    pub(crate) fn tell<R: Clone + Default>(
        &self,
        mut call: impl FnMut(&Step, &R) -> Result<R>,
    ) -> Result<()> {
        let is_added_once = self.is_added_once || !self.chained.is_empty();
        let is_in_brief = |step: &Step| {
            BRIEF.contains(&step.name) || self.is_deleted_twice && step.name == DEL_AGAIN
        };
        let is_left_out = |step: &&Step| {
            is_added_once && step.name == ADD_AGAIN || self.is_brief && !is_in_brief(step)
        };
        let mut results = [R::default(), R::default()];
        for step in STEPS.iter().filter(|step| !is_left_out(step)) {
            let own = &mut results[step.container];
            let none = R::default();
            let result = call(step, if step.has_previous { own } else { &none })?;
            if step.attaches {
                *own = result;
            }
        }
        Ok(())
    }

    /// Whether a plugin of this type is in the list after the first one.
    fn has_plugin(&self, plugin: &str) -> bool {
        self.chained.iter().any(|keys| keys["type"] == plugin)
    }

    /// Whether the step is one that must succeed or must fail, and which.
    pub(crate) fn must_succeed(&self, step: &Step) -> Option<bool> {
        let expected = match step.container {
            0 => self.expected != Expected::Failure,
            _ => self.expected == Expected::Success,
        };
        step.attaches.then_some(expected)
    }
}

impl Story<'_> {
    fn tell(&self) -> Result<()> {
        self.case.tell(|step, previous| {
            let results = self.call(step, previous)?;
            if let Some(must_succeed) = self.case.must_succeed(step) {
                self.expect_success(step, &results, must_succeed)?;
            }
            Ok(results)
        })
    }

    fn expect_success(&self, step: &Step, results: &Results, expected: bool) -> Result<()> {
        let step = step.name;
        for (side, result) in self.sides.iter().zip(results) {
            let whose = side.whose;
            ensure!(
                result.is_some() == expected,
                "{step}: {whose:?}: expected success to be {expected}: {result:?}"
            );
        }
        Ok(())
    }

    /// One call on both sides, compared. The results are those of calls that succeeded.
    fn call(&self, step: &Step, previous: &Results) -> Result<Results> {
        let (command, container) = (step.command, step.container);
        if command == "CHECK" && !self.can_check(previous)? {
            return Ok(Results::default());
        }
        let call = |index: usize| {
            let config = self.case.config_of(container);
            let config = with_previous(&config, previous[index].as_ref());
            self.sides[index].call(command, container, &config, self.case.args[container])
        };
        let outcomes = [call(0)?, call(1)?];
        let texts = outcomes
            .each_ref()
            .map(|outcome| outcome.stdout.trim())
            .join("\n");
        self.compare(step, &outcomes).with_context(|| texts)?;
        Ok(outcomes.map(|outcome| outcome.succeeded().then(|| outcome.document())))
    }

    fn compare(&self, step: &Step, outcomes: &[Outcome; 2]) -> Result<()> {
        let now = self.snapshots()?;
        let is_intended = self.is_intended(step.command, outcomes);
        let outcome = if is_intended {
            Value::Null
        } else {
            self.compare_outcomes(outcomes, &now)
                .with_context(|| step.name)?
        };
        let has_failed = |outcome: &Outcome| !outcome.succeeded();
        let mut known = None;
        if step.command == "ADD" && outcomes.iter().all(has_failed) {
            self.expect_nothing_new(&now[1])
                .with_context(|| step.name)?;
            normalise::intended_nothing_left_after_failure(&self.sides, &now)?;
        } else if outcomes.iter().any(has_failed) {
            normalise::intended_unused_store(&self.sides, &now)?;
        } else {
            known = Some(now);
        }
        self.compare_states(step.name, known)?;
        let mut steps = self.steps.borrow_mut();
        steps.note(step.name, outcome, &self.before.borrow());
        Ok(())
    }

    fn snapshots(&self) -> Result<[Snapshot; 2]> {
        let [reference, weir] = &self.sides;
        Ok([Snapshot::take(reference)?, Snapshot::take(weir)?])
    }

    /// Whether a CHECK is one that the two sides must agree about.
    fn can_check(&self, previous: &Results) -> Result<bool> {
        let plugin = self.case.config["type"].as_str().unwrap_or_default();
        for (side, previous) in self.sides.iter().zip(previous) {
            let can_check = match previous {
                Some(previous) => !normalise::chance_has_changed_the_bridge(side, previous)?,
                None => normalise::intended_check_needs_previous_result(plugin),
            };
            if !can_check {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// weir's ADD that fails leaves no link, address, rule or lease.
    fn expect_nothing_new(&self, now: &Snapshot) -> Result<()> {
        let now = normalise::made(&normalise::snapshot(now, &self.requested));
        let new = differences(&normalise::made(&self.before.borrow()), &now);
        ensure!(
            new.is_empty(),
            "weir's ADD failed and left something:\n  {}",
            new.join("\n  ")
        );
        Ok(())
    }

    /// Whether the outcomes may differ.
    fn is_intended(&self, command: &str, [reference, weir]: &[Outcome; 2]) -> bool {
        match command {
            "CHECK" if weir.succeeded() => {
                normalise::intended_check_of_layer_2(&self.case.config, reference)
                    || normalise::intended_check_of_route_without_next_hop(reference)
                    || normalise::intended_check_of_moved_route(&self.case.chained, reference)
                    || normalise::intended_check_without_master(reference)
                    || (self.case.has_plugin("vrf")
                        && normalise::intended_check_of_subnet_in_vrf(reference))
            }
            "CHECK" => normalise::intended_check_of_tap(&self.case.config, reference),
            "DEL" if weir.succeeded() => {
                normalise::intended_del_of_gone_interface(&self.case.chained, reference)
                    || normalise::intended_del_of_gone_device(&self.case.config, reference)
                    || self.case.expected == Expected::Failure
                        && normalise::intended_del_of_refused_configuration(reference, weir)
            }
            _ => false,
        }
    }

    /// Returns the outcome of the call on both sides.
    fn compare_outcomes(&self, outcomes: &[Outcome; 2], now: &[Snapshot; 2]) -> Result<Value> {
        let normal = |index: usize| {
            let (side, config) = (&self.sides[index], &self.case.config);
            normalise::outcome(&outcomes[index], side, &now[index], config, &self.requested)
        };
        let (reference, weir) = (normal(0), normal(1));
        let differing = differences(&reference, &weir);
        ensure!(
            differing.is_empty(),
            "outcomes differ:\n  {}",
            differing.join("\n  ")
        );
        Ok(reference)
    }

    /// Waits until the states of both sides are the same, beginning with those that are known; an
    /// error says where they stay different.
    fn compare_states(&self, step: &str, mut known: Option<[Snapshot; 2]>) -> Result<()> {
        let mut differing = Vec::new();
        let same = wait_for(|| {
            let now = known.take().map_or_else(|| self.snapshots(), Ok)?;
            let [reference, weir] =
                now.map(|snapshot| normalise::snapshot(&snapshot, &self.requested));
            differing = differences(&reference, &weir);
            self.before.replace(weir);
            Ok(differing.is_empty())
        })?;
        ensure!(same, "{step}: states differ:\n  {}", differing.join("\n  "));
        Ok(())
    }
}

/// Whether the condition holds before the kernel must have come to rest.
pub fn wait_for(mut condition: impl FnMut() -> Result<bool>) -> Result<bool> {
    let deadline = Instant::now() + REST;
    let mut pause = POLL;
    while !condition()? {
        if Instant::now() >= deadline {
            return Ok(false);
        }
        thread::sleep(pause);
        pause = (pause * 2).min(LONGEST_POLL);
    }
    Ok(true)
}

/// One test for each named case.
macro_rules! cases {
    ($($(#[$doc:meta])* $name:ident: $case:expr;)+) => {$(
        $(#[$doc])*
        #[test]
        fn $name() {
            $case.run();
        }
    )+};
}

pub(crate) use cases;

/// The same for links of a kind that this machine's kernel may lack: `machine` runs them in its virtual machine.
macro_rules! in_machine_cases {
    ($($(#[$doc:meta])* $name:ident: $case:expr;)+) => {
        crate::case::cases! {$(
            $(#[$doc])*
            #[ignore = "needs a kernel with this kind of link: `machine` runs it"]
            $name: $case.in_brief();
        )+}
    };
}

pub(crate) use in_machine_cases;
