//! The step for the chart: what both Helms render from it, and what they refuse.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::{fs, thread};

use anyhow::{Context, Result, bail, ensure};
use saphyr::{LoadableYamlNode, YamlOwned};
use serde_json::{Value, json};

use super::Session;
use super::lanes;
use super::outcome::Outcome;
use crate::cargo;
use crate::chart::table::{self, Row};
use crate::chart::{self, images, lint, render};
use crate::env::Helm;

type Check = fn(&Helm) -> Result<()>;

const CHECKS: [(&str, Check); 9] = [
    ("each value passes lint, and changes something", each_value),
    ("hostile strings arrive unchanged or are refused", hostile),
    ("deploy/ is what the chart renders", deploy),
    ("each switch alone, and all together, pass lint", switches),
    ("a misspelt value is refused at every level", misspelt),
    (
        "other values of csi-driver-smb's are refused with what replaces them",
        replaced,
    ),
    ("mixes that cannot work are refused", mixes),
    ("the PodMonitor has these fields", pod_monitor),
    (
        "a change of the CSIDriver that the server refuses is refused before",
        immutable,
    ),
];

pub(super) fn run(_session: &Session) -> Result<Outcome> {
    let helms = Helm::both()?;
    let jobs: Vec<_> = CHECKS
        .iter()
        .flat_map(|check| helms.each_ref().map(|helm| (helm, check)))
        .collect();
    let ran = lanes::run(lanes::LINUX, &jobs, |_, (helm, (name, check))| {
        Ok(Outcome::of_check(
            &format!("Helm {}: {name}", helm.major),
            check(helm),
        ))
    })?;
    let mut outcome = Outcome::default();
    ran.into_iter().for_each(|one| outcome.add(one));
    Ok(outcome)
}

fn deploy(helm: &Helm) -> Result<()> {
    for (file, text) in chart::manifests(helm)? {
        let written = fs::read_to_string(cargo::root().join(&file))?;
        ensure!(written == text, "{file} is stale: run `cargo xtask docs`");
    }
    let version = format!(
        "\nversion: {0}\nappVersion: {0}\n",
        env!("CARGO_PKG_VERSION")
    );
    ensure!(
        fs::read_to_string(cargo::root().join("charts/wincsi/Chart.yaml"))?.contains(&version),
        "another version"
    );
    Ok(())
}

const SWITCHES: [&str; 4] = ["node", "smbNode", "controller", "csiProxy"];

fn switched(is_on: impl Fn(&str) -> bool) -> Value {
    SWITCHES
        .iter()
        .map(|name| (*name, json!({"enabled": is_on(name)})))
        .collect()
}

fn switches(helm: &Helm) -> Result<()> {
    lint(helm, &[images(), switched(|_| true)])?;
    for alone in SWITCHES {
        let values = [images(), switched(|name| name == alone)];
        lint(helm, &values).context(alone)?;
        let workloads = render(helm, &values, &[])?
            .matches("      containers:")
            .count();
        ensure!(workloads == 1, "{alone}: {workloads} workloads");
    }
    Ok(())
}

/// Each is rendered otherwise beside other values, at least beside some of these.
fn each_value(helm: &Helm) -> Result<()> {
    let (all, pod) = (switched(|_| true), json!({"metrics": {"address": "pod"}}));
    let others =
        json!({"metrics": {"podMonitor": true}, "windows": {"useHostProcessContainers": false}});
    let bases = [
        vec![images(), all.clone()],
        vec![images()],
        vec![images(), all.clone(), pod.clone()],
        vec![images(), all, pod, others],
    ];
    let rendered = bases
        .each_ref()
        .map(|values| render(helm, values, &[]).ok());
    let schema = table::schema()?;
    for row in rows(true) {
        let is_other = |(values, before): (&Vec<Value>, &Option<String>)| {
            let values = [&values[..], &[nested(row.name, example(&schema, row))]].concat();
            let after = render(helm, &values, &[]).ok();
            after.is_some() && after != *before && lint(helm, &values).is_ok()
        };
        ensure!(
            bases.iter().zip(&rendered).any(is_other),
            "{} changes nothing",
            row.name
        );
    }
    Ok(())
}

fn rows(is_taken: bool) -> impl Iterator<Item = Row> {
    table::rows().filter(move |row| row.default.is_some() == is_taken)
}

fn nested(name: &str, value: Value) -> Value {
    name.rsplit('.')
        .fold(value, |value, key| json!({key: value}))
}

/// A value that is not the default.
fn example(schema: &Value, row: Row) -> Value {
    let place = format!("/properties/{}", row.name.replace('.', "/properties/"));
    let of_kind = &schema["$defs"][row.kind]["examples"][0];
    match &schema.pointer(&place).unwrap_or(&Value::Null)["examples"][0] {
        Value::Null if row.kind == "bool" => json!(row.default != Some("true")),
        Value::Null => of_kind.clone(),
        own => own.clone(),
    }
}

fn refused(helm: &Helm, values: &[Value], texts: &[String]) -> Result<()> {
    let Err(error) = render(helm, values, &[]) else {
        bail!("taken: {values:?}");
    };
    let printed = error.to_string();
    for text in texts {
        ensure!(
            printed.contains(text),
            "not refused with {text:?}: {printed}"
        );
    }
    Ok(())
}

fn misspelt(helm: &Helm) -> Result<()> {
    let rows = rows(true);
    let groups = rows.filter_map(|row| Some(row.name.rsplit_once('.')?.0));
    let inner = [
        "node.env",
        "node.affinity",
        "node.affinity.nodeAffinity",
        "csiProxy.resources.limits",
    ];
    let mut values = vec![images(), json!({"misspelt": "1"})];
    let mut places = vec![String::new()];
    for name in groups.chain(inner) {
        values.push(nested(name, json!({"misspelt": "1"})));
        places.push(format!("/{}", name.replace('.', "/")));
    }
    for name in ["imagePullSecrets", "storageClasses", "windows.tolerations"] {
        values.push(nested(name, json!([{"misspelt": "1"}])));
        places.push(format!("/{}/0", name.replace('.', "/")));
    }
    let text = |place| format!("at '{place}': additional properties 'misspelt' not allowed");
    refused(
        helm,
        &values,
        &places.into_iter().map(text).collect::<Vec<_>>(),
    )
}

fn replaced(helm: &Helm) -> Result<()> {
    let values = rows(false).map(|row| nested(row.name, json!({})));
    let text = |row: Row| format!("{} of csi-driver-smb's chart: {}", row.name, row.about);
    let values: Vec<_> = values.chain([images()]).collect();
    refused(helm, &values, &rows(false).map(text).collect::<Vec<_>>())
}

/// Strings, mixes of values, and pages.
fn data() -> Result<Value> {
    serde_json::from_str(include_str!("chart.json")).context("chart.json")
}

fn mixes(helm: &Helm) -> Result<()> {
    let (data, all) = (data()?, switched(|_| true));
    for mix in data["mixes"].as_array().into_iter().flatten() {
        let [Value::String(name), value, Value::String(text)] =
            &mix.as_array().context("a list")?[..]
        else {
            bail!("no name, value and text: {mix}");
        };
        let values = [images(), all.clone(), nested(name, value.clone())];
        refused(helm, &values, std::slice::from_ref(text))?;
    }
    // A pod with a network of its own has its own ports.
    let pipes = json!({"windows": {"useHostProcessContainers": false}, "node": {"port": 29658}});
    render(helm, &[images(), all, pipes], &[]).map(drop)
}

/// No server that the tests have knows its kind.
fn pod_monitor(helm: &Helm) -> Result<()> {
    let values = json!({"metrics": {"address": "pod", "podMonitor": true, "podMonitorLabels": {"release": "prometheus"}}});
    let rendered = render(
        helm,
        &[images(), values],
        &["--show-only=templates/pod-monitor.yaml"],
    )?;
    // The keys of both are in the order of the alphabet.
    let expected = YamlOwned::load_from_str(&data()?["podMonitor"].to_string())?;
    ensure!(
        YamlOwned::load_from_str(&rendered)? == expected,
        "{rendered}"
    );
    Ok(())
}

fn hostile(helm: &Helm) -> Result<()> {
    let data = data()?;
    let mut all = data["hostile"].as_array().into_iter().flatten();
    all.try_for_each(|text| unchanged(helm, text.as_str().context("a text")?))
}

/// In place of each text, and of each other value.
fn unchanged(helm: &Helm, text: &str) -> Result<()> {
    let (schema, base) = (table::schema()?, [images(), switched(|_| true)]);
    let of = |row: &Row| format!("{text}{}", row.name);
    let harmless = |row: &Row| example(&schema, *row).to_string();
    let with = |rows: &[Row]| -> Result<Vec<Value>> {
        let set = rows.iter().map(|row| {
            let held = harmless(row).replace(OTHER, &json!(of(row)).to_string());
            let is_held = held != harmless(row);
            let held = is_held.then(|| serde_json::from_str(&held)).transpose()?;
            Ok(nested(row.name, held.unwrap_or_else(|| json!(of(row)))))
        });
        base.iter().cloned().map(Ok).chain(set).collect()
    };
    let rows: Vec<_> = rows(true).collect();
    let refused = render(helm, &with(&rows)?, &[]).err();
    let refused = refused.context("no value is refused")?.to_string();
    let place = |row: &Row| format!("- at '/{}", row.name.replace('.', "/"));
    let (_, taken): (Vec<_>, Vec<_>) = rows.iter().partition(|row| refused.contains(&place(row)));
    ensure!(
        taken.len() > 10,
        "{text:?} is taken by {} values",
        taken.len()
    );
    let rendered = render(helm, &with(&taken)?, &[])?;
    let is_started = started(&rendered) == started(&render(helm, &base, &[])?);
    ensure!(is_started, "{text:?} reaches a shell");
    let mut found = Vec::new();
    for object in YamlOwned::load_from_str(&rendered)? {
        texts(&object, false, &mut found);
    }
    // A variable counts for each of its program.
    let times = |row: &&Row| found.iter().filter(|one| **one == of(row)).count();
    let is_lost = |row: &&Row| times(row) < harmless(row).matches(OTHER).count();
    let lost: Vec<_> = taken.iter().filter(is_lost).map(|row| row.name).collect();
    ensure!(lost.is_empty(), "{text:?} is another text in {lost:?}");
    Ok(())
}

/// The text in examples.
const OTHER: &str = "\"other\"";

/// Command lines; a shell reads those of Windows programs.
fn started(rendered: &str) -> Vec<&str> {
    let lines = rendered.lines().map(str::trim);
    lines
        .filter(|line| line.starts_with("command:") || line.starts_with("args:"))
        .collect()
}

/// Each text, as a program or the API server has it.
fn texts(value: &YamlOwned, is_expanded: bool, found: &mut Vec<String>) {
    let text = value.as_str().map(str::to_owned);
    found.extend(text.map(|text| if is_expanded { expanded(&text) } else { text }));
    let items = value.as_sequence().into_iter().flatten();
    items.for_each(|item| texts(item, is_expanded, found));
    for (key, item) in value.as_mapping().into_iter().flatten() {
        let expands = matches!(key.as_str(), Some("env" | "args"));
        texts(item, is_expanded || expands, found);
    }
}

/// As Kubernetes replaces `$$`, and `$(NAME)`, each of which is a variable here.
fn expanded(text: &str) -> String {
    let Some((before, rest)) = text.split_once('$') else {
        return text.to_owned();
    };
    let named = rest.strip_prefix('(').and_then(|rest| rest.split_once(')'));
    let (replaced, rest) = match (rest.strip_prefix('$'), named) {
        (Some(rest), _) => ("$", rest),
        (None, Some((_, rest))) => ("REPLACED", rest),
        (None, None) => ("$", rest),
    };
    format!("{before}{replaced}{}", expanded(rest))
}

/// By `lookup`, in a server with a CSIDriver.
fn immutable(helm: &Helm) -> Result<()> {
    let modes = json!(["Ephemeral", "Persistent"]);
    for (attaches, modes, refused) in [
        (false, &modes, ""),
        (true, &modes, "another attachRequired, which"),
        (
            false,
            &json!(["Persistent"]),
            "another volumeLifecycleModes, which",
        ),
    ] {
        let spec = json!({"attachRequired": attaches, "podInfoOnMount": false, "volumeLifecycleModes": modes});
        let url =
            serve(json!({"kind": "CSIDriver", "apiVersion": "storage.k8s.io/v1", "spec": spec}))?;
        let rendered = render(
            helm,
            &[images()],
            &["--dry-run=server", "--kube-apiserver", &url],
        );
        // This server has no DaemonSets, on which Helm 4 fails later.
        let error = rendered
            .err()
            .map(|error| error.to_string())
            .unwrap_or_default();
        let is_refused = error.contains("the API server lets nobody change");
        ensure!(
            error.contains(refused) && is_refused != refused.is_empty(),
            "{spec}: {error}"
        );
    }
    Ok(())
}

/// An API server's pages that Helm reads, to the end of this program.
fn serve(driver: Value) -> Result<String> {
    let mut pages = data()?["pages"].take();
    pages["/apis/storage.k8s.io/v1/csidrivers/wincsi.io"] = driver;
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let url = format!("http://{}", listener.local_addr()?);
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut request = [0; 4096];
            let length = stream.read(&mut request).unwrap_or_default();
            let request = String::from_utf8_lossy(&request[..length]);
            let page = &pages[request.split([' ', '?']).nth(1).unwrap_or_default()];
            let (status, body) = (if page.is_null() { 404 } else { 200 }, page.to_string());
            let head = format!(
                "HTTP/1.1 {status} -\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n"
            );
            // Helm says what it lacks.
            let _ = stream.write_all((head + &body).as_bytes());
        }
    });
    Ok(url)
}
