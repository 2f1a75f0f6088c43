//! The way to a real cluster, tried with the stand-in in the cluster's place.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use weir_kit::api_server::kubeconfig;
use weir_kit::{ApiServer, program};
use weir_pod::cluster::PodName;

use crate::support::{Root, SHORT};

const FOREIGN: &str = "the tests' namespaces begin with";

/// `weir-cluster` at work.
struct Program {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Program {
    fn start(root: &Root) -> Result<Self> {
        let mut child = Command::new(program("weir-cluster"))
            .arg(root.path().join("admin.kubeconfig"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let output = child.stdout.take().context("piped above")?;
        Ok(Self {
            input: child.stdin.take(),
            output: BufReader::new(output),
            child,
        })
    }

    fn read(&mut self) -> Result<Value> {
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        serde_json::from_str(&line).with_context(|| format!("it says {line:?}"))
    }

    fn tell(&mut self, command: &Value) -> Result<Value> {
        writeln!(self.input.as_mut().context("it is running")?, "{command}")?;
        self.read()
    }

    fn end(mut self) -> Result<()> {
        drop(self.input.take());
        let status = self.child.wait()?;
        ensure!(status.success(), "weir-cluster: {status}");
        Ok(())
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        drop(self.input.take());
        let _ = self.child.wait();
    }
}

#[test]
fn tests_have_namespaces_of_their_own_in_it() -> Result<()> {
    let server = ApiServer::start()?;
    let root = Root::new()?;
    let admin = server.token_of("admin")?;
    let user = json!({ "token": admin });
    root.write("/admin.kubeconfig", &server.kubeconfig_with(&user))?;
    let mut program = Program::start(&root)?;

    let about = program.read()?;
    let namespace = about["namespace"].as_str().context("a namespace")?;
    let authority = about["ca"].as_str().context("an authority")?;
    assert_eq!(
        authority.trim(),
        server.authority().replace("\r\n", "\n").trim()
    );
    let pod = json!({
        "do": "create",
        "resource": "pods",
        "namespace": namespace,
        "object": { "metadata": { "name": "web" }, "spec": { "containers": [] } },
    });
    let made = program.tell(&pod)?;
    let uid = made["ok"]["metadata"]["uid"].as_str().context("a uid")?;

    // As weir's user, which may no more than weir needs.
    let cluster = json!({ "server": about["server"], "insecure-skip-tls-verify": true });
    let user = json!({ "token": about["token"] });
    let client = root.cluster(&kubeconfig(&cluster, &user), SHORT)?;
    let name = PodName {
        namespace: namespace.to_owned(),
        name: "web".to_owned(),
        uid: Some(uid.to_owned()),
    };
    client.pod(&name)?.context("the pod is there")?;
    client.annotate(&name, "status", Some("[]"))?;
    let place = json!({ "do": "get", "resource": "pods", "namespace": namespace, "name": "web" });
    let read = program.tell(&place)?;
    assert_eq!(read["ok"]["metadata"]["annotations"]["status"], "[]");

    for (command, told) in [
        (
            json!({ "do": "get", "resource": "pods", "namespace": "default", "name": "web" }),
            FOREIGN,
        ),
        (
            json!({ "do": "faults", "faults": [] }),
            "needs the stand-in",
        ),
    ] {
        let refused = program.tell(&command)?;
        let error = refused["error"].as_str().context("an error")?;
        assert!(error.contains(told), "{error}");
    }
    let everything = json!({ "do": "list", "resource": "pods", "namespace": namespace });
    let listed = program.tell(&everything)?;
    assert_eq!(listed["ok"].as_array().map(Vec::len), Some(1));

    program.end()?;
    assert!(server.pod(namespace, "web")?.is_null());
    Ok(())
}
