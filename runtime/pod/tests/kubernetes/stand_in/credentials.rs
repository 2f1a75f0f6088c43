//! Kubeconfigs of all kinds, and who an API server takes weir for.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use anyhow::{Context, Result};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};
use weir_cni::Error;
use weir_kit::ApiServer;
use weir_kit::api_server::kubeconfig;
use weir_pod::cluster::Pod;
use weir_pod::codes;
use weir_pod::kubernetes::Kubernetes;

use crate::support::{KUBECONFIG, Root, SHORT, Scene, expect_said};

const WEIR: &str = "system:serviceaccount:kube-system:weir";

/// A scene whose kubeconfig is another one.
struct With {
    scene: Scene,
    cluster: Kubernetes,
}

impl With {
    fn user(user: impl FnOnce(&ApiServer) -> Result<Value>) -> Result<Self> {
        let scene = Scene::new(SHORT)?;
        let kubeconfig = scene.server.kubeconfig_with(&user(&scene.server)?);
        let cluster = scene.root.cluster(&kubeconfig, SHORT)?;
        Ok(Self { scene, cluster })
    }

    fn cluster(cluster: impl FnOnce(&ApiServer) -> Value) -> Result<Self> {
        let scene = Scene::new(SHORT)?;
        let user = json!({ "token": scene.server.token() });
        let kubeconfig = kubeconfig(&cluster(&scene.server), &user);
        let cluster = scene.root.cluster(&kubeconfig, SHORT)?;
        Ok(Self { scene, cluster })
    }

    fn ask(&self) -> Result<Result<Option<Pod>, Error>> {
        let pod = self.scene.pod("web")?;
        Ok(self.cluster.pod(&pod))
    }

    /// Fails unless the API server answers, and knows who asks.
    fn expect_works(&self) -> Result<()> {
        self.ask()??.context("the pod is there")?;
        let requests = self.scene.server.requests()?;
        assert_eq!(requests.last().context("a request")?.user, WEIR);
        Ok(())
    }

    /// The error, before which nobody was asked.
    fn expect_unusable(&self) -> Result<Error> {
        let error = self.ask()?.unwrap_err();
        assert_eq!(error.code, codes::CLUSTER, "{error}");
        expect_said(&error, &["get pod default/web"]);
        assert_eq!(self.scene.server.requests()?, []);
        Ok(error)
    }
}

fn authority(server: &ApiServer) -> String {
    BASE64_STANDARD.encode(server.authority())
}

/// The address in brackets, whatever its family, is how Multus' installer writes it.
#[test]
fn the_kubeconfig_of_multus_is_read() -> Result<()> {
    let scene = Scene::new(SHORT)?;
    let url = scene.server.url().replace("127.0.0.1", "[127.0.0.1]");
    let text = format!(
        "# Kubeconfig file for Multus CNI plugin.\n\
         apiVersion: v1\n\
         kind: Config\n\
         clusters:\n\
         - name: local\n\
         \x20 cluster:\n\
         \x20   server: {url}\n\
         \x20   certificate-authority-data: {}\n\
         users:\n\
         - name: multus\n\
         \x20 user:\n\
         \x20   token: \"{}\"\n\
         contexts:\n\
         - name: multus-context\n\
         \x20 context:\n\
         \x20   cluster: local\n\
         \x20   user: multus\n\
         current-context: multus-context\n",
        authority(&scene.server),
        scene.server.token(),
    );
    let cluster = scene.root.cluster(&text, SHORT)?;
    let with = With { scene, cluster };
    with.expect_works()
}

#[test]
fn a_token_can_be_in_a_file_of_the_node() -> Result<()> {
    let with = With::user(|_| Ok(json!({ "tokenFile": "/var/token" })))?;
    let token = format!("{}\n", with.scene.server.token());
    with.scene.root.write("/var/token", &token)?;
    with.expect_works()
}

#[test]
fn a_token_can_be_in_a_file_beside_the_kubeconfig() -> Result<()> {
    let with = With::user(|_| Ok(json!({ "tokenFile": "weir.token", "token": "another" })))?;
    let token = with.scene.server.token();
    with.scene.root.write("/etc/weir.token", token)?;
    with.expect_works()
}

#[test]
fn a_certificate_can_be_inside() -> Result<()> {
    let with = With::user(|server| {
        let (certificate, key) = server.certificate()?;
        Ok(json!({
            "client-certificate-data": BASE64_STANDARD.encode(certificate),
            "client-key-data": BASE64_STANDARD.encode(key),
        }))
    })?;
    with.expect_works()
}

#[test]
fn a_certificate_can_be_in_files() -> Result<()> {
    let with = With::user(|_| {
        Ok(json!({ "client-certificate": "/var/weir.pem", "client-key": "weir.key" }))
    })?;
    let (certificate, key) = with.scene.server.certificate()?;
    with.scene.root.write("/var/weir.pem", &certificate)?;
    with.scene.root.write("/etc/weir.key", &key)?;
    with.expect_works()
}

#[test]
fn the_authority_can_be_in_a_file() -> Result<()> {
    for path in ["/var/ca.crt", "../var/ca.crt"] {
        let with = With::cluster(
            |server| json!({ "server": server.url(), "certificate-authority": path }),
        )?;
        let authority = with.scene.server.authority();
        with.scene.root.write("/var/ca.crt", authority)?;
        with.expect_works()?;
    }
    Ok(())
}

#[test]
fn a_server_is_trusted_unseen_where_the_kubeconfig_says_so() -> Result<()> {
    let with = With::cluster(
        |server| json!({ "server": server.url(), "insecure-skip-tls-verify": true }),
    )?;
    with.expect_works()
}

#[test]
fn a_server_can_have_another_name_in_its_certificate() -> Result<()> {
    let named = |name: &'static str| {
        With::cluster(move |server| {
            json!({
                "server": server.url(),
                "certificate-authority-data": authority(server),
                "tls-server-name": name,
            })
        })
    };
    named("kubernetes.default.svc")?.expect_works()?;
    let error = named("another.example")?.expect_unusable()?;
    expect_said(&error, &["certificate", "another.example"]);
    Ok(())
}

#[test]
fn a_server_of_another_authority_is_refused() -> Result<()> {
    let another = ApiServer::start()?;
    let with = With::cluster(
        |server| json!({ "server": server.url(), "certificate-authority-data": authority(&another) }),
    )?;
    let error = with.expect_unusable()?;
    expect_said(&error, &["invalid peer certificate", KUBECONFIG]);
    assert!(!error.msg.contains("tried"), "it was tried again: {error}");
    Ok(())
}

#[test]
fn a_server_of_no_authority_is_refused() -> Result<()> {
    let with = With::cluster(|server| json!({ "server": server.url() }))?;
    let error = with.expect_unusable()?;
    expect_said(&error, &["certificate"]);
    Ok(())
}

#[test]
fn programs_and_proxies_are_refused() -> Result<()> {
    let root = Root::new()?;
    root.write("/program", "#!/bin/sh\ntouch \"$0.was-run\"\n")?;
    let program = root.path().join("program");
    fs::set_permissions(&program, Permissions::from_mode(0o755))?;
    let exec = json!({
        "apiVersion": "client.authentication.k8s.io/v1",
        "command": program,
        "interactiveMode": "Never",
    });
    let provider = json!({
        "name": "gcp",
        "config": { "cmd-path": program, "token-key": "{.token}", "expiry-key": "{.expiry}" },
    });
    for (key, value) in [("exec", exec), ("auth-provider", provider)] {
        let with = With::user(|_| Ok(json!({ key: value })))?;
        let error = with.expect_unusable()?;
        expect_said(&error, &[KUBECONFIG, key, "tokenFile"]);
    }
    assert!(!root.path().join("program.was-run").exists());
    let with = With::cluster(
        |server| json!({ "server": server.url(), "proxy-url": "http://proxy.example:3128" }),
    )?;
    expect_said(&with.expect_unusable()?, &[KUBECONFIG, "proxy-url"]);
    Ok(())
}

#[test]
fn what_is_wrong_with_a_kubeconfig_is_reported() -> Result<()> {
    let cluster = json!({ "server": "https://127.0.0.1:1" });
    let without_context = kubeconfig(&cluster, &json!({})).replace("current-context", "context");
    let bad_authority =
        json!({ "server": "https://127.0.0.1:1", "certificate-authority-data": "%" });
    let cases = [
        ("clusters: [".to_owned(), "line 1"),
        (String::new(), "context"),
        (without_context, "context"),
        (kubeconfig(&json!({}), &json!({})), "url"),
        (kubeconfig(&bad_authority, &json!({})), "base64"),
        (
            kubeconfig(&cluster, &json!({ "tokenFile": "/nowhere" })),
            "/nowhere",
        ),
        (kubeconfig(&cluster, &json!({ "token": "a\nb" })), "token"),
    ];
    for (text, told) in &cases {
        let scene = Scene::new(SHORT)?;
        let cluster = scene.root.cluster(text, SHORT)?;
        let error = With { scene, cluster }.expect_unusable()?;
        assert!(
            error.to_string().to_lowercase().contains(told),
            "{told:?}: {error}"
        );
    }
    Ok(())
}

#[test]
fn a_kubeconfig_that_is_not_there_is_named() -> Result<()> {
    let scene = Scene::new(SHORT)?;
    let path = Some(Path::new("/etc/missing.kubeconfig"));
    let cluster = Kubernetes::connect(path, &scene.root.paths(), SHORT);
    let error = With { scene, cluster }.expect_unusable()?;
    expect_said(&error, &["/etc/missing.kubeconfig", "No such file"]);
    Ok(())
}

/// Kubernetes replaces a bound token in its file before it ends.
#[test]
fn a_token_that_was_replaced_is_read_anew() -> Result<()> {
    let with = With::user(|_| Ok(json!({ "tokenFile": "/var/token" })))?;
    let server = &with.scene.server;
    let old = server.new_token()?;
    with.scene.root.write("/var/token", &old)?;
    with.expect_works()?;
    with.scene.root.write("/var/token", &server.new_token()?)?;
    server.revoke(&old)?;
    server.forget_requests()?;
    let pod = weir_pod::cluster::PodName {
        namespace: "default".to_owned(),
        name: "web".to_owned(),
        uid: None,
    };
    with.cluster.pod(&pod)?.context("the pod is there")?;
    let users: Vec<String> = server.requests()?.into_iter().map(|it| it.user).collect();
    assert_eq!(users, ["", WEIR]);
    Ok(())
}

/// An installer writes the kubeconfig anew, with another token.
#[test]
fn a_kubeconfig_that_was_replaced_is_read_anew() -> Result<()> {
    let with = With::user(|server| Ok(json!({ "token": server.token() })))?;
    with.expect_works()?;
    let server = &with.scene.server;
    let user = json!({ "token": server.new_token()? });
    let kubeconfig = server.kubeconfig_with(&user);
    with.scene.root.write(KUBECONFIG, &kubeconfig)?;
    server.revoke(server.token())?;
    server.delete_pod("default", "web")?;
    with.expect_works()
}

#[test]
fn an_expired_token_is_reported_with_its_place() -> Result<()> {
    let with = With::user(|server| Ok(json!({ "token": server.token() })))?;
    let server = &with.scene.server;
    server.revoke(server.token())?;
    let error = with.ask()?.unwrap_err();
    assert_eq!(error.code, codes::CLUSTER);
    expect_said(
        &error,
        &[
            "get pod default/web",
            "401",
            "Unauthorized",
            KUBECONFIG,
            "renew",
        ],
    );
    assert_eq!(server.requests()?.len(), 1);
    Ok(())
}

#[test]
fn nobody_is_refused_like_everybody() -> Result<()> {
    let with = With::user(|_| Ok(json!({})))?;
    let error = with.ask()?.unwrap_err();
    expect_said(&error, &["401"]);
    Ok(())
}

/// Whoever writes it chooses the API server, and with it what pods are attached to.
#[test]
fn a_kubeconfig_that_others_can_write_is_not_used() -> Result<()> {
    for path in ["etc/weir.kubeconfig", "etc"] {
        let with = With::user(|server| Ok(json!({ "token": server.token() })))?;
        let path = with.scene.root.path().join(path);
        fs::set_permissions(&path, Permissions::from_mode(0o777))?;
        let error = with.expect_unusable()?;
        let remedy = format!("chmod go-w {}", path.display());
        expect_said(&error, &["is not trusted", &remedy]);
    }
    Ok(())
}

/// The same is true of the files that it names.
#[test]
fn files_of_a_kubeconfig_that_others_can_write_are_not_used() -> Result<()> {
    for (key, is_of_user) in [
        ("tokenFile", true),
        ("client-certificate", true),
        ("client-key", true),
        ("certificate-authority", false),
    ] {
        let named = json!({ key: "named" });
        let with = if is_of_user {
            With::user(|_| Ok(named))?
        } else {
            With::cluster(|server| json!({ "server": server.url(), key: "named" }))?
        };
        let path = with.scene.root.path().join("etc/named");
        fs::write(&path, "anything")?;
        fs::set_permissions(&path, Permissions::from_mode(0o666))?;
        let error = with.expect_unusable()?;
        expect_said(&error, &[key, "is not trusted", "chmod go-w"]);
    }
    Ok(())
}
