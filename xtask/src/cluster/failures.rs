//! Pods that fail, and the event that an operator sees of each: docs/stuck.md has the same words.

use std::fs;

use anyhow::{Context, Result, ensure};

use super::api::Effect;
use super::life::Life;
use super::objects::{Objects, text};
use crate::cargo;

/// The page, and the line before its events.
pub(super) const PAGE: &str = "docs/stuck.md";
const COMMAND: &str = "$ kubectl describe pod POD\n";

const EVENTS: &str = "/api/v1/namespaces/default/events";

impl Life<'_> {
    /// Begins pods that fail, compares their events with the page's, and ends them.
    pub(super) fn fail(&mut self) -> Result<()> {
        let (page, objects) = (page()?, Objects::read("failures.yaml")?);
        objects.apply(&self.plane.api)?;
        self.wait_for_claims(&objects)?;
        for pod in &objects.pods {
            self.plane.api.apply(pod, &pod.text, Effect::Stored)?;
        }
        let seen = objects.pods.iter().map(|pod| self.event(pod.name()));
        let seen = seen.collect::<Result<Vec<_>>>()?;
        for event in &seen {
            println!("          {event}");
        }
        let events: String = seen.iter().map(|event| format!("{event}\n")).collect();
        compare(&page, COMMAND, &format!("{COMMAND}{events}"))?;
        self.end_failures(&objects)?;
        let shown_by = format!("the events of {} pods are those of {PAGE}", seen.len());
        self.done("failures seen", &shown_by);
        Ok(())
    }

    /// The one failed mount of a pod as `kubectl describe` shows it, but for its age.
    pub(super) fn event(&mut self, pod: &str) -> Result<String> {
        let which = format!("reason=FailedMount,involvedObject.name={pod}");
        let events = format!("{EVENTS}?fieldSelector={which}");
        self.wait_for(&events, |list| {
            let event = list.pointer("/items/0")?;
            let places = ["/type", "/reason", "/source/component", "/message"];
            let columns: Option<Vec<_>> = places.iter().map(|at| text(event, at)).collect();
            Some(columns?.join("  "))
        })
    }

    /// Nothing of them is left, and no password was said.
    fn end_failures(&mut self, objects: &Objects) -> Result<()> {
        let paths = objects.paths();
        for path in &paths {
            self.plane.api.delete(path)?;
        }
        for path in &paths {
            self.wait_until_gone(path)?;
        }
        self.node.expect_no_mapping()?;
        self.expect_no_password()
    }
}

/// The page's text.
pub(super) fn page() -> Result<String> {
    fs::read_to_string(cargo::root().join(PAGE)).context(PAGE)
}

/// Fails unless the page's block that begins with a command is what was seen.
pub(super) fn compare(page: &str, command: &str, seen: &str) -> Result<()> {
    let at = page.find(command).context("no command in the page")?;
    let (block, _) = page[at..]
        .split_once("```")
        .context("no end of the block")?;
    ensure!(block == seen, "{PAGE} has\n{block}and seen is\n{seen}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_each_event_and_no_other() {
        let page = |events: &str| format!("Look:\n```console\n{COMMAND}{events}```\nText.\n");
        let seen = format!("{COMMAND}a b\nc\n");
        let compare = |page: &str| compare(page, COMMAND, &seen);
        compare(&page("a b\nc\n")).unwrap();
        for events in ["a b\n", "a b\nc\nd\n", "a d\nc\n", "c\na b\n", ""] {
            assert!(compare(&page(events)).is_err(), "{events}");
        }
        assert!(compare("a b\nc\n").is_err());
    }
}
