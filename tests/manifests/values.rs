//! The values of the Helm chart: what they change, and which are refused.

use std::collections::BTreeSet;
use std::fs;

use anyhow::{Context, Result};
use serde_json::{Value, json};
use weir_kit::{assert_contains, failure, house};

use super::chart::{Chart, Objects, object, take_checksum};
use super::documents::help;
use super::guide::variables;

/// The options that other values set, or the container.
const NOT_TAKEN: [&str; 6] = [
    "WEIR_INSTALL_BIN_DIR",
    "WEIR_INSTALL_CONF_DIR",
    "WEIR_INSTALL_FROM_MULTUS",
    "WEIR_INSTALL_PLUGIN_LIST",
    "WEIR_INSTALL_POD_NAME",
    "WEIR_INSTALL_POD_NAMESPACE",
];

/// Texts that mean something in YAML or to Helm.
const MEANINGFUL: [&str; 17] = [
    "a: b",
    "a\n---\napiVersion: v1\nkind: Pod\n",
    "{{ .Release.Name }}",
    "{{- fail \"no\" }}",
    "\"twice\" 'once' `back` \\",
    " # none ",
    "*alias",
    "&anchor",
    "!!int 1",
    "yes",
    "null",
    "0x10",
    "1e3",
    "- item\n- item",
    "{a: [b]}",
    "a\r\n\tb",
    "%TAG ! …",
];

const DIGEST: &str = "sha256:0000000000000000000000000000000000000000000000000000000000000000";

fn pod(objects: &Objects) -> Result<&Value> {
    Ok(&object(objects, "DaemonSet", "weir")?["spec"]["template"]["spec"])
}

fn render(values: Value) -> Result<Objects> {
    Chart::pack()?.render(&values)
}

#[test]
fn a_key_that_there_is_not_is_refused() -> Result<()> {
    let chart = Chart::pack()?;
    for values in [
        json!({ "misspelt": {} }),
        json!({ "image": { "misspelt": "weir" } }),
        json!({ "options": { "misspelt": "true" } }),
        json!({ "plugins": [{ "name": "a", "uri": "file:/a", "digest": DIGEST, "misspelt": "b" }] }),
        json!({ "resources": { "misspelt": {} } }),
        json!({ "tolerations": [{ "misspelt": "Exists" }] }),
    ] {
        let refused = failure(chart.render(&values))?;
        assert_contains(&refused, &["schema", "misspelt"]);
    }
    Ok(())
}

#[test]
fn a_value_of_another_type_is_refused() -> Result<()> {
    let chart = Chart::pack()?;
    for (values, place) in [
        (json!({ "image": { "tag": 1.1 } }), "tag"),
        (json!({ "image": { "digest": "sha256:1" } }), "digest"),
        (json!({ "image": { "repository": "" } }), "repository"),
        (
            json!({ "options": { "WEIR_INSTALL_WAIT": 600 } }),
            "WEIR_INSTALL_WAIT",
        ),
        (json!({ "confDir": "etc" }), "confDir"),
        (json!({ "fromMultus": "no" }), "fromMultus"),
        (
            json!({ "plugins": [{ "name": "a", "uri": "file:/a" }] }),
            "digest",
        ),
        (json!({ "volumes": [{ "hostPath": {} }] }), "volumes"),
    ] {
        let refused = failure(chart.render(&values))?;
        assert_contains(&refused, &["schema", place]);
    }
    Ok(())
}

/// The options that the schema of the values takes.
fn options_of_schema() -> Result<Vec<String>> {
    let file = fs::read_to_string(house().join("packaging/helm/values.schema.json"))?;
    let schema: Value = serde_json::from_str(&file)?;
    let options = schema["properties"]["options"]["properties"].as_object();
    Ok(options.context("options")?.keys().cloned().collect())
}

#[test]
fn the_schema_has_each_option_that_no_other_value_sets() -> Result<()> {
    let taken = options_of_schema()?;
    let all: BTreeSet<&str> = taken.iter().map(String::as_str).chain(NOT_TAKEN).collect();
    assert_eq!(all, variables(&help()?));
    Ok(())
}

/// And other options are another rollout.
#[test]
fn options_arrive_as_text_beside_those_that_there_are() -> Result<()> {
    let chart = Chart::pack()?;
    let before = take_checksum(&mut chart.render(&json!({}))?)?;
    let options = json!({ "WEIR_INSTALL_NAMESPACE_ISOLATION": true, "WEIR_INSTALL_WAIT": "60s" });
    let mut rendered = chart.render(&json!({ "options": options }))?;
    assert_ne!(take_checksum(&mut rendered)?, before);
    let expected = json!({
        "WEIR_INSTALL_LOG_LEVEL": "error",
        "WEIR_INSTALL_NAMESPACE_ISOLATION": "true",
        "WEIR_INSTALL_WAIT": "60s",
    });
    assert_eq!(object(&rendered, "ConfigMap", "weir")?["data"], expected);
    let other = json!({ "options": { "WEIR_INSTALL_LOG_LEVEL": "debug" } });
    let rendered = chart.render(&other)?;
    let expected = json!({ "WEIR_INSTALL_LOG_LEVEL": "debug" });
    assert_eq!(object(&rendered, "ConfigMap", "weir")?["data"], expected);
    Ok(())
}

#[test]
fn the_image_is_named_by_its_tag_or_its_digest() -> Result<()> {
    let chart = Chart::pack()?;
    let version = env!("CARGO_PKG_VERSION");
    for (image, expected) in [
        (
            json!({ "repository": "reg.example.com/weir" }),
            format!("reg.example.com/weir:{version}"),
        ),
        (json!({ "tag": "1.2.3" }), "weir:1.2.3".to_owned()),
        (
            json!({ "tag": "1.2.3", "digest": DIGEST }),
            format!("weir@{DIGEST}"),
        ),
    ] {
        let mut values = json!({ "image": image });
        values["image"]["pullPolicy"] = json!("Always");
        let rendered = chart.render(&values)?;
        let container = &pod(&rendered)?["containers"][0];
        assert_eq!(container["image"], expected);
        assert_eq!(container["imagePullPolicy"], "Always");
        values["uninstall"] = json!(true);
        let rendered = chart.render(&values)?;
        let daemons = object(&rendered, "DaemonSet", "weir-uninstall")?;
        let pod = &daemons["spec"]["template"]["spec"];
        assert_eq!(pod["initContainers"][0]["image"], expected);
        assert!(pod["containers"][0]["image"].to_string().contains("pause"));
    }
    Ok(())
}

#[test]
fn the_pod_gets_what_the_values_say_and_keeps_the_rest() -> Result<()> {
    let plain = render(json!({}))?;
    let values = json!({
        "imagePullSecrets": [{ "name": "registry" }],
        "resources": { "limits": { "memory": "1Gi" } },
        "securityContext": { "capabilities": { "add": ["DAC_OVERRIDE"] } },
        "nodeSelector": { "pool": "edge" },
        "tolerations": [{ "key": "edge", "operator": "Exists", "tolerationSeconds": 31_536_000 }],
        "affinity": { "nodeAffinity": {} },
        "env": [{ "name": "KUBERNETES_SERVICE_PORT", "value": "6443" }],
        "volumes": [{ "name": "credentials", "secret": { "secretName": "registry" } }],
        "volumeMounts": [
            { "name": "credentials", "mountPath": "/credentials" },
            { "name": "credentials", "mountPath": "/once-more" },
        ],
    });
    let mut expected = pod(&plain)?.clone();
    for key in ["imagePullSecrets", "tolerations", "affinity"] {
        expected[key] = values[key].clone();
    }
    expected["nodeSelector"]["pool"] = json!("edge");
    extend(&mut expected["volumes"], &values["volumes"]);
    let container = &mut expected["containers"][0];
    container["resources"]["limits"]["memory"] = json!("1Gi");
    container["securityContext"]["capabilities"]["add"] = json!(["DAC_OVERRIDE"]);
    container["env"] = values["env"].clone();
    extend(&mut container["volumeMounts"], &values["volumeMounts"]);
    assert_eq!(*pod(&render(values)?)?, expected);
    Ok(())
}

fn extend(list: &mut Value, more: &Value) {
    let more = more.as_array().into_iter().flatten().cloned();
    list.as_array_mut().expect("a list").extend(more);
}

/// At the same path in the container as on the node, and in the options.
#[test]
fn the_directories_are_those_of_the_runtime() -> Result<()> {
    let directories = [
        ("plugins", "binDir", "WEIR_INSTALL_BIN_DIR"),
        ("networks", "confDir", "WEIR_INSTALL_CONF_DIR"),
    ];
    for (volume, value, option) in directories {
        let rendered = render(json!({ value: "/var/lib/runtime" }))?;
        let named = |list: &Value| {
            let items = list.as_array().into_iter().flatten();
            let mut found = items.filter(|item| item["name"] == volume).cloned();
            found
                .next()
                .context("it is there")
                .map(|item| (item, found.count()))
        };
        let (mount, more) = named(&pod(&rendered)?["containers"][0]["volumeMounts"])?;
        assert_eq!(
            (mount, more),
            (
                json!({ "name": volume, "mountPath": "/var/lib/runtime" }),
                0
            )
        );
        let (volume, more) = named(&pod(&rendered)?["volumes"])?;
        let path = json!({ "path": "/var/lib/runtime", "type": "DirectoryOrCreate" });
        assert_eq!((&volume["hostPath"], more), (&path, 0));
        assert_eq!(
            object(&rendered, "ConfigMap", "weir")?["data"][option],
            "/var/lib/runtime"
        );
    }
    Ok(())
}

/// Each overlay is there, and what both change is changed once.
#[test]
fn a_takeover_and_plugins_go_together() -> Result<()> {
    let plugin = json!({ "name": "labels", "uri": "file:/labels", "digest": DIGEST });
    let rendered = render(json!({ "fromMultus": true, "plugins": [plugin] }))?;
    let data = &object(&rendered, "ConfigMap", "weir")?["data"];
    assert_eq!(data["WEIR_INSTALL_FROM_MULTUS"], "true");
    assert!(data["WEIR_INSTALL_PLUGIN_LIST"].is_string(), "{data}");
    let pod = pod(&rendered)?;
    let names = |list: &Value| -> Vec<String> {
        let items = list.as_array().into_iter().flatten();
        let mut names: Vec<String> = items.map(|item| item["name"].to_string()).collect();
        names.sort();
        names
    };
    let mounts = names(&pod["containers"][0]["volumeMounts"]);
    assert_eq!(mounts, names(&pod["volumes"]));
    assert_eq!(mounts.len(), 10, "{mounts:?}");
    assert_eq!(
        mounts.iter().collect::<BTreeSet<_>>().len(),
        10,
        "{mounts:?}"
    );
    Ok(())
}

/// And those of `values.yaml` are what there is without values.
#[test]
fn the_values_that_the_guide_and_the_chart_show_are_taken() -> Result<()> {
    let chart = Chart::pack()?;
    let guide = fs::read_to_string(house().join("docs/kubernetes.md"))?;
    let (_, after) = guide.split_once("```yaml\nimage: ").context("values")?;
    let (shown, _) = after.split_once("```").context("the end of the values")?;
    let rendered = chart.render(&serde_saphyr::from_str(&format!("image: {shown}"))?)?;
    assert_contains(
        &pod(&rendered)?["containers"][0]["image"].to_string(),
        &["REGISTRY/weir:"],
    );
    let own = fs::read_to_string(house().join("packaging/helm/values.yaml"))?;
    let rendered = chart.render(&serde_saphyr::from_str(&own)?)?;
    assert_eq!(rendered, chart.render(&json!({}))?);
    // What is there as an example, behind a `#`, is a value, too.
    let examples = own.lines().filter_map(|line| line.strip_prefix("#   "));
    let (options, plugins): (Vec<&str>, _) = examples.partition(|line| line.starts_with("WEIR_"));
    let plugins = plugins.join("\n").replace("sha256:…", DIGEST);
    let values = json!({
        "options": serde_saphyr::from_str::<Value>(&options.join("\n"))?,
        "plugins": serde_saphyr::from_str::<Value>(&plugins)?,
    });
    let rendered = chart.render(&values)?;
    assert_lists(&rendered, values["plugins"].as_array().context("plugins")?)?;
    let data = &object(&rendered, "ConfigMap", "weir")?["data"];
    assert_eq!(data["WEIR_INSTALL_HOST_INTERFACES"], "eth1,ens*");
    Ok(())
}

/// No value becomes another document, another key or a template.
#[test]
fn what_means_something_in_yaml_stays_text() -> Result<()> {
    let names = options_of_schema()?.into_iter();
    let options: serde_json::Map<String, Value> = names.zip(MEANINGFUL.map(Value::from)).collect();
    assert_eq!(
        options.len(),
        MEANINGFUL.len(),
        "each is the value of an option"
    );
    let plugins = MEANINGFUL.map(|text| json!({ "name": text, "uri": text, "digest": DIGEST }));
    let env = MEANINGFUL.map(|text| json!({ "name": text, "value": text }));
    let labels = MEANINGFUL.map(|text| (text.to_owned(), Value::from(text)));
    let labels: serde_json::Map<String, Value> = labels.into_iter().collect();
    let (image, tag) = (MEANINGFUL.concat(), MEANINGFUL[1]);
    let values = json!({
        "image": { "repository": image, "tag": tag },
        "options": options,
        "plugins": plugins,
        "env": env,
        "nodeSelector": labels,
    });
    let rendered = render(values)?;
    assert_eq!(rendered.len(), 7, "{:?}", rendered.keys());
    assert_lists(&rendered, &plugins)?;
    let data = object(&rendered, "ConfigMap", "weir")?["data"].as_object();
    let data = data.context("data")?;
    assert_eq!(data.len(), options.len() + 1, "and the list: {data:?}");
    for (name, value) in &options {
        assert_eq!(data[name], *value);
    }
    let pod = pod(&rendered)?;
    let container = &pod["containers"][0];
    assert_eq!(container["image"], format!("{image}:{tag}"));
    let given = container["env"].as_array().context("an environment")?;
    assert_eq!(given[given.len() - env.len()..], env);
    let mut selector = labels;
    selector.insert("kubernetes.io/os".to_owned(), json!("linux"));
    assert_eq!(pod["nodeSelector"], Value::Object(selector));
    Ok(())
}

fn assert_lists(rendered: &Objects, plugins: &[Value]) -> Result<()> {
    let map = object(rendered, "ConfigMap", "weir-plugins")?;
    let text = map["data"]["plugins.yaml"].as_str().context("a list")?;
    let list: Value = serde_saphyr::from_str(text)?;
    let expected = json!({
        "apiVersion": "weir.dev/v1alpha1",
        "kind": "PluginInstallation",
        "spec": { "plugins": plugins },
    });
    assert_eq!(list, expected);
    Ok(())
}
