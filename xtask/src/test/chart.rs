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
        "other values of csi-driver-smb's chart are refused",
        replaced,
    ),
    ("mixes that cannot work are refused", mixes),
    ("the PodMonitor has these fields", pod_monitor),
    (
        "an impossible change of the CSIDriver is refused",
        immutable,
    ),
];

pub(super) fn run(_session: &Session) -> Result<Outcome> {
    let helms = Helm::both()?;
    let jobs = CHECKS.map(|check| helms.each_ref().map(|helm| (helm, check)));
    let ran = lanes::run(
        lanes::LINUX,
        jobs.as_flattened(),
        |_, (helm, (name, check))| {
            let name = format!("Helm {}: {name}", helm.major);
            Ok(Outcome::of_check(&name, check(helm)))
        },
    )?;
    let mut outcome = Outcome::default();
    ran.into_iter().for_each(|one| outcome.add(one));
    Ok(outcome)
}

/// Values, strings and pages for the checks.
fn data(key: &str) -> Result<Value> {
    let mut data: Value = serde_json::from_str(include_str!("chart.json")).context("chart.json")?;
    Ok(data[key].take())
}

fn list(key: &str) -> Result<Vec<Value>> {
    Ok(serde_json::from_value(data(key)?)?)
}

fn deploy(helm: &Helm) -> Result<()> {
    for (file, text) in chart::manifests(helm)? {
        let written = fs::read_to_string(cargo::root().join(&file))?;
        ensure!(written == text, "{file} is stale: run `cargo xtask docs`");
    }
    let chart = fs::read_to_string(cargo::root().join("charts/wincsi/Chart.yaml"))?;
    let ours = chart.matches(concat!("ersion: ", env!("CARGO_PKG_VERSION"), "\n"));
    ensure!(ours.count() == 2, "the chart has another version");
    Ok(())
}

/// All, or one alone.
fn switched(alone: Option<&str>) -> Value {
    let all = SWITCHES
        .iter()
        .map(|name| (*name, alone.is_none_or(|alone| alone == *name)));
    all.map(|(name, is_on)| (name, json!({"enabled": is_on})))
        .collect()
}

const SWITCHES: [&str; 4] = ["node", "smbNode", "controller", "csiProxy"];

fn switches(helm: &Helm) -> Result<()> {
    lint(helm, &[images(), switched(None)])?;
    for alone in SWITCHES {
        let values = [images(), switched(Some(alone))];
        lint(helm, &values).context(alone)?;
        let rendered = render(helm, &values, &[])?;
        let workloads = rendered.matches("      containers:").count();
        ensure!(workloads == 1, "{alone}: {workloads} workloads");
    }
    Ok(())
}

/// Each is rendered otherwise, at least beside some of these.
fn each_value(helm: &Helm) -> Result<()> {
    let schema = table::schema()?;
    let mut bases = Vec::new();
    for base in list("bases")? {
        let before = render(helm, &[images(), base.clone()], &[])?;
        bases.push((base, before));
    }
    for row in rows(true) {
        let value = nested(row.name, example(&schema, row));
        let is_other = |(base, before): &(Value, String)| {
            let values = [images(), base.clone(), value.clone()];
            let after = render(helm, &values, &[]);
            after.is_ok_and(|after| after != *before) && lint(helm, &values).is_ok()
        };
        ensure!(bases.iter().any(is_other), "{} changes nothing", row.name);
    }
    Ok(())
}

fn rows(is_taken: bool) -> impl Iterator<Item = Row> {
    table::rows().filter(move |row| row.default.is_some() == is_taken)
}

/// A value at its place; a 0 there is the first item of a list.
fn nested(name: &str, value: Value) -> Value {
    name.rsplit('.').fold(value, |value, key| match key {
        "0" => json!([value]),
        key => json!({key: value}),
    })
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
    let missing = texts.iter().find(|text| !printed.contains(*text));
    ensure!(missing.is_none(), "not refused with {missing:?}: {printed}");
    Ok(())
}

fn misspelt(helm: &Helm) -> Result<()> {
    let groups = rows(true).filter_map(|row| Some(row.name.rsplit_once('.')?.0.to_owned()));
    let inner: Vec<String> = serde_json::from_value(data("misspelt")?)?;
    let text = |place| format!("at '{place}': additional properties 'misspelt' not allowed");
    let misspelt = json!({"misspelt": "1"});
    let (mut values, mut texts) = (vec![images(), misspelt.clone()], vec![text(String::new())]);
    for name in groups.chain(inner) {
        values.push(nested(&name, misspelt.clone()));
        texts.push(text(format!("/{}", name.replace('.', "/"))));
    }
    refused(helm, &values, &texts)
}

fn replaced(helm: &Helm) -> Result<()> {
    let values = rows(false).map(|row| nested(row.name, json!({})));
    let text = |row: Row| format!("{} of csi-driver-smb's chart: {}", row.name, row.about);
    let values: Vec<_> = values.chain([images()]).collect();
    refused(helm, &values, &rows(false).map(text).collect::<Vec<_>>())
}

fn mixes(helm: &Helm) -> Result<()> {
    for mix in list("mixes")? {
        let (name, value, text): (String, Value, String) = serde_json::from_value(mix)?;
        let values = [images(), switched(None), nested(&name, value)];
        refused(helm, &values, &[text])?;
    }
    // A pod with a network of its own has its own ports.
    let pipes = json!({"windows": {"useHostProcessContainers": false}, "node": {"port": 29658}});
    render(helm, &[images(), switched(None), pipes], &[]).map(drop)
}

/// No server that the tests have knows its kind.
fn pod_monitor(helm: &Helm) -> Result<()> {
    let values = json!({"address": "pod", "podMonitor": true, "podMonitorLabels": {"a": "b"}});
    let values = [images(), json!({"metrics": values})];
    let rendered = render(helm, &values, &["--show-only=templates/pod-monitor.yaml"])?;
    // The keys of both are in the order of the alphabet.
    let expected = YamlOwned::load_from_str(&data("podMonitor")?.to_string())?;
    let is_expected = YamlOwned::load_from_str(&rendered)? == expected;
    ensure!(is_expected, "{rendered}");
    Ok(())
}

fn hostile(helm: &Helm) -> Result<()> {
    let mut all = list("hostile")?.into_iter();
    all.try_for_each(|text| unchanged(helm, text.as_str().context("a text")?))
}

/// In place of each text, and of each other value.
fn unchanged(helm: &Helm, text: &str) -> Result<()> {
    let (schema, base) = (table::schema()?, [images(), switched(None)]);
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
    let number = taken.len();
    ensure!(number > 10, "{text:?} is taken by {number} values");
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
    for one in list("immutable")? {
        let (attaches, modes, text): (bool, Value, Option<String>) = serde_json::from_value(one)?;
        let spec = json!({"attachRequired": attaches, "podInfoOnMount": false, "volumeLifecycleModes": modes});
        let driver = json!({"kind": "CSIDriver", "apiVersion": "storage.k8s.io/v1", "spec": spec});
        let arguments = ["--dry-run=server", "--kube-apiserver", &serve(driver)?];
        // This server has no DaemonSets, on which Helm 4 fails later.
        let error = render(helm, &[images()], &arguments).err();
        let error = error.map(|error| error.to_string()).unwrap_or_default();
        let is_refused = error.contains("the API server lets nobody change");
        let is_so = error.contains(text.as_deref().unwrap_or_default());
        ensure!(is_so && is_refused == text.is_some(), "{spec}: {error}");
    }
    Ok(())
}

/// An API server's pages that Helm reads, to the end of this program.
fn serve(driver: Value) -> Result<String> {
    let mut pages = data("pages")?;
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
