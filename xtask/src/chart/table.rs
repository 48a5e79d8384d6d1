//! The values of the chart, from its `values.txt`: what is written into the chart, and onto the page.
//!
//! A line is `name | kind | default | about`. The kinds are in `kinds.json`, with an example of each that is no default;
//! `env PAGE PREFIX` is a variable for each flag of a page. A line `name | replaced | about` has a name of
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
    let mut open = Vec::new();
    for (row, default) in rows().filter_map(|row| Some((row, row.default?))) {
        let mut groups: Vec<_> = row.name.split('.').collect();
        let key = groups.pop().unwrap_or_default();
        let shared = groups
            .iter()
            .zip(&open)
            .take_while(|(one, other)| one == other);
        for (depth, group) in groups.iter().enumerate().skip(shared.count()) {
            text += &format!("{:1$}{group}:\n", "", 2 * depth);
        }
        let indent = " ".repeat(2 * groups.len());
        text += &format!("{indent}# {}\n{indent}{key}: {default}\n", row.about);
        open = groups;
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
        *at = match *row.kind.split(' ').collect::<Vec<_>>() {
            [_, page, prefix] => variables(page, prefix)?,
            _ if row.default.is_none() => json!({}),
            _ => json!({"$ref": format!("#/$defs/{}", row.kind)}),
        };
    }
    schema["$defs"] = serde_json::from_str(include_str!("kinds.json")).context("kinds.json")?;
    Ok(schema)
}

/// Flags that other values set, that would move the program from its place, or have it do something else.
const NO_VARIABLES: &str = " DRAIN_TIMEOUT DRIVERNAME ENDPOINT HEALTHZ_BIND_ADDRESS HEALTH_ADDRESS HELP HOST \
    KUBELET_ENDPOINT KUBELET_PATH LISTEN METRICS_ADDRESS METRICS_BIND_ADDRESS NATIVE PROXY_SOCKETS REGISTRATION \
    REGISTRATION_ENDPOINT SIMULATE VERSION WINDOWS_SERVICE ";

/// A variable for each flag on a page, which a test of its crate compares with the program.
fn variables(page: &str, prefix: &str) -> Result<Value> {
    let path = format!("docs/{page}.md");
    let text = fs::read_to_string(cargo::root().join(&path)).context(path)?;
    // The last section is of other drivers' flags.
    let own = text.split("\n## Flags of ").next().unwrap_or_default();
    let flags = own
        .lines()
        .filter_map(|line| line.strip_prefix("| `-")?.split(['`', ' ']).next());
    let names = flags.map(|flag| flag.to_uppercase().replace('-', "_"));
    let names = names.filter(|name| !NO_VARIABLES.contains(&format!(" {name} ")));
    let names: Vec<_> = names.map(|name| format!("{prefix}{name}")).collect();
    let all = |value: Value| {
        names
            .iter()
            .map(|name| (name.clone(), value.clone()))
            .collect::<Value>()
    };
    let (example, names) = (all(json!("other")), all(json!({"type": "string"})));
    Ok(
        json!({"type": "object", "additionalProperties": false, "examples": [example], "properties": names}),
    )
}

/// Names with the same cells share a line.
fn page() -> String {
    let mut lines: Vec<(Row, String)> = Vec::new();
    for row in rows() {
        let is_alike =
            |(one, _): &&mut (Row, _)| (one.default, one.about) == (row.default, row.about);
        match lines.iter_mut().find(is_alike) {
            Some((_, names)) => *names += &format!(", `{}`", row.name),
            None => lines.push((row, format!("`{}`", row.name))),
        }
    }
    let (mut taken, mut replaced) = (String::new(), String::new());
    for (Row { default, about, .. }, names) in lines {
        match default.map(|default| default.replace('"', "")).as_deref() {
            None => {
                replaced += &format!(
                    "| {names} | {} |\n",
                    about.trim_start_matches("leave it out: ")
                )
            }
            // Long ones are in values.yaml.
            Some(default) if default.is_empty() || default.len() > 50 => {
                taken += &format!("| {names} | | {about} |\n");
            }
            Some(default) => taken += &format!("| {names} | `{default}` | {about} |\n"),
        }
    }
    let page = include_str!("page.md").replace("{values}\n", &(taken + "\n"));
    page.replace("{replaced}\n", &replaced)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_from_the_table_is_fresh() {
        for (file, text) in files().unwrap() {
            let written = fs::read_to_string(cargo::root().join(file)).unwrap_or_default();
            assert!(written == text, "{file} is stale: run `cargo xtask docs`");
        }
    }

    /// Facts of the chart in its maintainer's repository, commit e33a3fbf139d0e4157dfd49b82300946ae88c413.
    #[test]
    fn each_value_of_csi_driver_smbs_chart_is_known() {
        let is_known = |name: &&str| {
            rows().any(|row| match row.default {
                Some(_) => row.name == *name,
                None => format!("{name}.").starts_with(&format!("{}.", row.name)),
            })
        };
        let names = include_str!("csi-driver-smb.txt").lines();
        let unknown: Vec<_> = names.filter(|name| !is_known(name)).collect();
        assert!(unknown.is_empty(), "{unknown:?}");
    }

    #[test]
    fn variables_are_the_programs_own_flags_alone() {
        for (page, name, expected) in [
            ("driver-flags", "MAX_VOLUMES", true),
            ("driver-flags", "AZURE_LUNS", true),
            ("driver-flags", "HOST", false),
            ("driver-flags", "KUBECONFIG", false),
            ("controller-flags", "NODEID", false),
            ("flags", "POLICY_FILE", true),
            ("flags", "WINDOWS_SERVICE", false),
        ] {
            let all = variables(page, "").unwrap();
            assert_eq!(
                !all["properties"][name].is_null(),
                expected,
                "{page}: {name}"
            );
        }
    }
}
