//! The values of the chart, from its `values.txt`: what is written into the chart, and onto the page.
//!
//! A line is `name | kind | default | about`. The kinds are in `kinds.json`, with an example of each that is no default,
//! beside those of a variable for each flag of a page. A line `name | replaced | about` has a name of
//! csi-driver-smb's chart, which the chart's `checks.yaml` refuses with the rest.

use std::fs;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use crate::cargo;

/// A line of the table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) kind: &'static str,
    /// As YAML has it; `None` for a name that is replaced.
    pub(crate) default: Option<&'static str>,
    pub(crate) about: &'static str,
}

pub(crate) fn rows() -> impl Iterator<Item = Row> {
    let lines = include_str!("../../../charts/wincsi/values.txt").lines();
    lines.filter_map(|line| {
        let cells: Vec<_> = line.split(" | ").collect();
        let default = (cells.len() == 4).then(|| cells[2]);
        let [name, kind, .., about] = cells[..] else {
            return None;
        };
        Some(Row {
            name,
            kind,
            default,
            about,
        })
    })
}

/// What the table is written to, with its text.
pub(super) fn files() -> Result<[(&'static str, String); 3]> {
    let schema = serde_json::to_string_pretty(&schema()?)? + "\n";
    Ok([
        ("charts/wincsi/values.yaml", values()),
        ("charts/wincsi/values.schema.json", schema),
        ("docs/chart.md", page()),
    ])
}

fn values() -> String {
    let mut text = String::from(
        "# Written by `cargo xtask docs` from values.txt; docs/chart.md has the table.\n",
    );
    let mut groups = Vec::new();
    for (row, default) in rows().filter_map(|row| Some((row, row.default?))) {
        let (mut above, mut key, mut indent) = (0, row.name, String::new());
        while let Some((group, rest)) = key.split_once('.') {
            above += group.len() + 1;
            if !groups.contains(&&row.name[..above]) {
                groups.push(&row.name[..above]);
                text += &format!("{indent}{group}:\n");
            }
            (key, indent) = (rest, indent + "  ");
        }
        text += &format!("{indent}# {}\n{indent}{key}: {default}\n", row.about);
    }
    text
}

/// Closed at every level. Each value is required, as Helm takes one that is null for none.
pub(crate) fn schema() -> Result<Value> {
    let closed = || json!({"type": "object", "additionalProperties": false, "required": []});
    let mut schema = closed();
    for row in rows() {
        let mut at = &mut schema;
        for key in row.name.split('.') {
            if at.is_null() {
                *at = closed();
            }
            let required = at["required"].as_array_mut().context("no group")?;
            if row.default.is_some() && !required.contains(&json!(key)) {
                required.push(json!(key));
            }
            at = &mut at["properties"][key];
        }
        *at = match row.default {
            Some(_) => json!({"$ref": format!("#/$defs/{}", row.kind)}),
            None => json!({}),
        };
    }
    let mut kinds: Value = serde_json::from_str(include_str!("kinds.json"))?;
    for page in ["controller-flags", "driver-flags", "flags"] {
        kinds[page] = variables(page)?;
    }
    schema["$defs"] = kinds;
    Ok(schema)
}

/// Flags that other values set, that would move the program from its place, or have it do something else.
const NO_VARIABLES: &str = " DRAIN_TIMEOUT DRIVERNAME ENDPOINT HEALTHZ_BIND_ADDRESS HEALTH_ADDRESS HELP HOST \
    KUBELET_ENDPOINT KUBELET_PATH LISTEN METRICS_ADDRESS METRICS_BIND_ADDRESS NATIVE PRE_STOP_TIMEOUT PROXY_SOCKETS \
    REGISTRATION REGISTRATION_ENDPOINT SIMULATE VERSION WINDOWS_SERVICE ";

/// A variable for each flag on a page, which a test of its crate compares with the program.
fn variables(page: &str) -> Result<Value> {
    let prefix = if page == "flags" {
        "CSI_PROXY_"
    } else {
        "WINCSI_"
    };
    let path = format!("docs/{page}.md");
    let text = fs::read_to_string(cargo::root().join(&path)).context(path)?;
    // Above the first section is the syntax; the last one is of other drivers' flags.
    let sections = text.split("\n## ").skip(1);
    let own = sections.filter(|section| !section.starts_with("Flags of "));
    let flags = own.flat_map(str::lines).filter_map(|line| {
        let flag = line.strip_prefix("| `-")?.split(['`', ' ']).next()?;
        Some(flag.to_uppercase().replace('-', "_"))
    });
    let flags = flags.filter(|flag| !NO_VARIABLES.contains(&format!(" {flag} ")));
    let names: Vec<_> = flags.map(|flag| format!("{prefix}{flag}")).collect();
    let all = |value: Value| -> Value {
        let pairs = names.iter().map(|name| (name.clone(), value.clone()));
        pairs.collect()
    };
    let (example, names) = (all(json!("other")), all(json!({"type": "string"})));
    Ok(
        json!({"type": "object", "additionalProperties": false, "examples": [example], "properties": names}),
    )
}

/// Names with the same text share a line; defaults of more than a word are in values.yaml.
fn page() -> String {
    let mut lines: Vec<(Row, String)> = Vec::new();
    for row in rows() {
        let default = row.default.filter(|text| !text.contains(['"', '[', '{']));
        let default = default.map_or(String::new(), |text| format!("={text}"));
        let name = format!("`{}{default}`", row.name);
        match lines.iter_mut().find(|(one, _)| one.about == row.about) {
            Some((_, names)) => *names += &format!(", {name}"),
            None => lines.push((row, name)),
        }
    }
    let (mut taken, mut replaced) = (String::new(), String::new());
    for (row, names) in lines {
        let about = row.about.trim_start_matches("leave it out: ");
        let table = row.default.map_or(&mut replaced, |_| &mut taken);
        *table += &format!("| {names} | {about} |\n");
    }
    let page = include_str!("page.md").replace("{values}\n", &(taken + "\n"));
    page.replace("{replaced}\n", &replaced)
}
