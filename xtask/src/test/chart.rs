//! The step for the chart: what both Helms render from it, and what they refuse.

use std::collections::BTreeMap;
use std::fs;

use anyhow::{Context, Result, bail, ensure};
use saphyr::{LoadableYamlNode, YamlOwned};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::Session;
use super::lanes;
use super::outcome::Outcome;
use crate::chart::table::{self, Row};
use crate::chart::{self, images, render};
use crate::env::Helm;
use crate::{cargo, process};

type Check = fn(&Helm) -> Result<()>;

const CHECKS: [(&str, Check); 6] = [
    ("each value passes lint, and changes something", each_value),
    ("hostile strings arrive unchanged or are refused", hostile),
    ("what comes from the table and templates is fresh", fresh),
    ("a misspelt value is refused at every level", misspelt),
    ("other names of csi-driver-smb are refused", replaced),
    ("what cannot work is refused", mixes),
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

/// Values and strings for the checks.
pub(crate) fn data<T: DeserializeOwned>(key: &str) -> Result<T> {
    let mut data: Value = serde_json::from_str(include_str!("chart.json")).context("chart.json")?;
    serde_json::from_value(data[key].take()).context("chart.json")
}

fn fresh(helm: &Helm) -> Result<()> {
    for one in chart::files(helm)? {
        let (file, text) = one?;
        let written = fs::read_to_string(cargo::root().join(&file))?;
        ensure!(written == text, "{file} is stale: run `cargo xtask docs`");
    }
    let chart = fs::read_to_string(cargo::root().join("charts/wincsi/Chart.yaml"))?;
    let ours = chart.matches(concat!("ersion: ", env!("CARGO_PKG_VERSION"), "\n"));
    ensure!(ours.count() == 2, "the chart has another version");
    Ok(())
}

/// All switches.
fn all() -> Result<Value> {
    Ok(data::<Value>("bases")?[0][1].take())
}

const LINT: [&str; 2] = ["lint", "--strict"];

/// An object of the notes: Helm 3 renders them for a cluster alone.
const NOTES: &str =
    r#"{{ dict "kind" "Notes" "text" (include "wincsi/templates/NOTES.txt" .) | toYaml }}"#;

/// Texts with how often they are rendered, values, and how often each note is.
type Base = (BTreeMap<String, usize>, Value, Vec<usize>);

/// These pass lint, and have each text so often in their objects and notes, as the PodMonitor's, which no server of the
/// tests knows. Each value is rendered otherwise, at least beside some of them.
fn each_value(helm: &Helm) -> Result<()> {
    let (schema, folder) = (table::schema()?, tempfile::tempdir()?);
    let with_notes = folder.path().join("wincsi");
    process::copy_folder(&chart::folder(), &with_notes)?;
    fs::write(with_notes.join("templates/notes.yaml"), NOTES)?;
    let template = ["template", "wincsi", "--namespace=123"];
    let mut bases = Vec::new();
    for (mut texts, base, times) in data::<Vec<Base>>("bases")? {
        texts.extend(data::<Vec<String>>("notes")?.into_iter().zip(times));
        let values = [images(), base];
        let all = chart::run(helm, &with_notes, &template, &values)?;
        for (text, times) in texts {
            let is_so = all.matches(&text).count() == times;
            ensure!(is_so, "not {times} times {text:?}: {all}");
        }
        chart::run(helm, &chart::folder(), &LINT, &values)?;
        // YAML takes it for a number.
        let before = render(helm, &values, &["--namespace=123"])?;
        bases.push((values, before));
    }
    for row in rows(true) {
        let value = nested(row.name, example(&schema, row));
        let is_other = |([images, base], before): &([Value; 2], String)| {
            let values = [images.clone(), base.clone(), value.clone()];
            let after = render(helm, &values, &["--namespace=123"]);
            after.is_ok_and(|after| after != *before)
                && chart::run(helm, &chart::folder(), &LINT, &values).is_ok()
        };
        ensure!(bases.iter().any(is_other), "{} changes nothing", row.name);
    }
    Ok(())
}

fn rows(is_taken: bool) -> impl Iterator<Item = Row> {
    table::rows().filter(move |row| row.default.is_some() == is_taken)
}

/// A value at its place, which is nowhere if it is all; a 0 there is the first item of a list.
fn nested(name: &str, value: Value) -> Value {
    name.rsplit('.').fold(value, |value, key| match key {
        "" => value,
        "0" => json!([value]),
        key => json!({key: value}),
    })
}

/// A value that is not the default.
fn example(schema: &Value, row: Row) -> Value {
    schema["$defs"][row.kind]["examples"][0].clone()
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
    let inner: Vec<String> = data("misspelt")?;
    let text = |place| format!("at '{place}': additional properties 'misspelt' not allowed");
    let misspelt = json!({"misspelt": "1"});
    let (mut values, mut texts) = (vec![images(), misspelt.clone()], vec![text(String::new())]);
    for name in groups.chain(inner) {
        values.push(nested(&name, misspelt.clone()));
        texts.push(text(format!("/{}", name.replace('.', "/"))));
    }
    refused(helm, &values, &texts)
}

/// Facts of the chart in its maintainer's repository, commit e33a3fbf139d0e4157dfd49b82300946ae88c413.
const OF_CSI_DRIVER_SMB: &str = include_str!("csi-driver-smb.txt");

fn replaced(helm: &Helm) -> Result<()> {
    for name in OF_CSI_DRIVER_SMB.lines() {
        let lies_in = |row: Row| format!("{name}.").starts_with(&format!("{}.", row.name));
        let is_known = rows(false).any(lies_in) || rows(true).any(|row| row.name == name);
        ensure!(is_known, "{name} is not in the table");
    }
    let values = rows(false).map(|row| nested(row.name, json!({})));
    let text = |row: Row| format!("{} of csi-driver-smb's chart: {}", row.name, row.about);
    let values: Vec<_> = values.chain([images()]).collect();
    refused(helm, &values, &rows(false).map(text).collect::<Vec<_>>())
}

fn mixes(helm: &Helm) -> Result<()> {
    for (name, value, text) in data::<Vec<(String, Value, String)>>("mixes")? {
        refused(helm, &[images(), all()?, nested(&name, value)], &[text])?;
    }
    Ok(())
}

fn hostile(helm: &Helm) -> Result<()> {
    let all: Vec<String> = data("hostile")?;
    all.iter().try_for_each(|text| unchanged(helm, text))
}

/// In place of each text, and of each other value.
fn unchanged(helm: &Helm, text: &str) -> Result<()> {
    let (schema, base) = (table::schema()?, [images(), all()?]);
    let of = |row: &Row| format!("{text}{}", row.name);
    let harmless = |row: &Row| example(&schema, *row).to_string();
    let with = |rows: &[Row]| -> Result<Vec<Value>> {
        let set = rows.iter().map(|row| {
            let held = harmless(row).replace(OTHER, &json!(of(row)).to_string());
            let is_held = held != harmless(row);
            let held = is_held.then(|| serde_json::from_str(&held));
            Ok(nested(row.name, held.unwrap_or(Ok(json!(of(row))))?))
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
        texts(&object, &mut found);
    }
    // Kubernetes replaces `$(NAME)` there, and `$$` by `$`.
    let expected = |row: &Row| {
        let is_expanded = row.kind.ends_with("flags") || row.name.contains("extraArgs");
        of(row).replace('$', ["$", "$$"][usize::from(is_expanded)])
    };
    // A variable counts for each of its program.
    let times = |row: &&Row| found.iter().filter(|one| **one == expected(row)).count();
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

/// Each text but keys.
fn texts(value: &YamlOwned, found: &mut Vec<String>) {
    found.extend(value.as_str().map(str::to_owned));
    let items = value.as_sequence().into_iter().flatten();
    let pairs = value.as_mapping().into_iter().flatten();
    let items = items.chain(pairs.map(|(_, item)| item));
    items.for_each(|item| texts(item, found));
}
