//! The step for `wincsi node` by csi-sanity, and as kubelet dials a driver.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::Session;
use super::counts::Counts;
use super::outcome::{Failure, Outcome};
use super::program::{Language, Program};
use crate::host::Host;
use crate::process::{self, Background};
use crate::{cargo, env, trial};

const BUILD: Duration = Duration::from_secs(10 * 60);
const START: Duration = Duration::from_secs(60);
const RUN: Duration = Duration::from_secs(5 * 60);

/// The services whose cases all have to run, except those left out for these reasons: optional calls.
const WHOLE: [&str; 2] = ["Identity Service", "Node Service"];
const OPTIONAL: [&str; 2] = [
    "NodeGetStorageHealth not supported",
    "NodeGetVolumeHealth not supported",
];

pub(super) fn linux(session: &Session) -> Result<Outcome> {
    let built = session.built(Host::Linux)?;
    let programs = Programs {
        plugin: built.binary(trial::PLUGIN)?,
        controller: built.binary(trial::CONTROLLER)?,
        tool: built.binary(trial::TOOL)?,
    };
    let started = Instant::now();
    let test = build(session)?;
    let mut outcome = Outcome {
        building: started.elapsed(),
        ..Outcome::default()
    };
    for volumes in [Volumes::Disks, Volumes::Shares] {
        outcome.add(Outcome::steady(volumes.run(), || {
            DriverFixture::set(&programs)?.sanity(&test, volumes)
        })?);
    }
    outcome.add(Outcome::steady("kubelet's dials", || {
        DriverFixture::set(&programs)?.dials(&test)
    })?);
    Ok(outcome)
}

fn build(session: &Session) -> Result<PathBuf> {
    let test = cargo::work_dir("go-tests")?.join("sanity");
    let mut command = session
        .provision
        .go()?
        .command(env::GO_SANITY, &["test", "-c", "-o"]);
    process::capture(command.arg(&test).arg("."), BUILD)?.success("go test -c")?;
    Ok(test)
}

/// The kind of csi-sanity's volumes.
#[derive(Clone, Copy)]
enum Volumes {
    Disks,
    Shares,
}

impl Volumes {
    /// The run with these.
    fn run(self) -> &'static str {
        match self {
            Self::Disks => "csi-sanity",
            Self::Shares => "csi-sanity with shares",
        }
    }
}

struct Programs<'a> {
    plugin: &'a Path,
    controller: &'a Path,
    tool: &'a Path,
}

/// A driver with a node of its own: `wincsi node`, and the controller for tests.
struct DriverFixture {
    plugin: Background,
    controller: Background,
    dir: tempfile::TempDir,
    node: PathBuf,
    drive_c: PathBuf,
    tool: PathBuf,
}

impl DriverFixture {
    fn set(programs: &Programs<'_>) -> Result<Self> {
        let dir = trial::private_dir()?;
        let [node, at_controller] = ["node", "controller"].map(|name| dir.path().join(name));
        let drive_c = trial::make_node(programs.tool, &node)?;
        let mut plugin = trial::plugin(Host::Linux, programs.plugin, &node);
        let at = dir.path().display();
        plugin.arg(format!("-endpoint=unix:{at}/csi"));
        plugin.arg(format!("-registration-endpoint=unix:{at}/registration"));
        let log = dir.path().join("wincsi.log");
        let mut plugin = Background::start("wincsi", &mut plugin, &log)?;
        let mut controller = trial::controller(programs.controller, &node, &at_controller);
        let log = dir.path().join("controller.log");
        let mut controller = Background::start("controller", &mut controller, &log)?;
        plugin.wait_for_line(trial::PLUGIN_SERVES, START)?;
        controller.wait_for_line(trial::CONTROLLER_SERVES, START)?;
        Ok(Self {
            plugin,
            controller,
            dir,
            node,
            drive_c,
            tool: programs.tool.to_owned(),
        })
    }

    /// Each case of csi-sanity counts.
    fn sanity(self, test: &Path, volumes: Volumes) -> Result<Outcome> {
        let report = self.dir.path().join("report.json");
        let mut command = self.command(test, "TestSanity");
        if let Volumes::Shares = volumes {
            command.env("WINCSI_SOURCE", trial::source());
            command.env("WINCSI_SECRETS", self.write_secrets()?);
        }
        command.arg("--ginkgo.no-color");
        command.arg(format!("--ginkgo.json-report={}", report.display()));
        let done = process::capture(&mut command, RUN)?;
        let report = fs::read_to_string(&report).with_context(|| {
            let end = process::tail(&done.output, 30);
            format!("csi-sanity wrote no report: {}\n{end}", done.status)
        })?;
        let mut outcome = judge(&cases(&report)?, volumes.run());
        outcome.check("after csi-sanity", self.expect_nothing_left());
        if !done.status.success() && outcome.failures.is_empty() {
            let what = format!("csi-sanity: {}, though no case failed", done.status);
            outcome.add(Outcome::failed(Failure::new(what, done.output)));
        }
        for failure in &mut outcome.failures {
            for (name, program) in [("wincsi", &self.plugin), ("controller", &self.controller)] {
                failure.output += &format!("\nthe end of {name}'s log:\n{}", program.tail());
            }
        }
        let (passed, seconds) = (outcome.counts.passed, done.took.as_secs_f32());
        println!("{passed:>4} passed {seconds:>6.1} s  {}", volumes.run());
        Ok(outcome)
    }

    /// The file of secrets for csi-sanity.
    fn write_secrets(&self) -> Result<PathBuf> {
        let secret = json!({"username": trial::USER, "password": trial::PASSWORD});
        let secrets = json!({"NodeStageVolumeSecret": secret, "NodePublishVolumeSecret": secret});
        let file = self.dir.path().join("secrets.yaml");
        fs::write(&file, secrets.to_string()).context("write the secrets")?;
        Ok(file)
    }

    fn expect_nothing_left(&self) -> Result<()> {
        trial::expect_no_record(&self.node.join(trial::RECORDS))?;
        trial::expect_no_mapping(&self.tool, &self.node)
    }

    fn dials(self, test: &Path) -> Result<Outcome> {
        let program = Program {
            step: "sanity",
            name: "kubelet's dials",
            limit: RUN,
            language: Language::Go,
        };
        let outcome = program.run(&mut self.command(test, "TestKubeletsDials"))?;
        Ok(outcome.not_empty("kubelet's dials"))
    }

    fn command(&self, test: &Path, name: &str) -> Command {
        let socket = |name| format!("unix:{}", self.dir.path().join(name).display());
        let mut command = Command::new(test);
        command
            .args(["-test.v", "-test.count=1"])
            .arg(format!("-test.run=^{name}$"))
            .env("WINCSI_ENDPOINT", socket("csi"))
            .env("WINCSI_CONTROLLER_ENDPOINT", socket("controller"))
            .env("WINCSI_REGISTRATION", self.dir.path().join("registration"))
            .env("WINCSI_DRIVE_C", &self.drive_c);
        command
    }
}

/// A case of csi-sanity.
#[derive(Debug)]
struct Case {
    service: String,
    name: String,
    ending: Ending,
}

#[derive(Debug, PartialEq)]
enum Ending {
    Passed,
    /// With the reason.
    NotRun(String),
    /// With csi-sanity's text.
    Failed(String),
}

/// Reads Ginkgo's report.
fn cases(report: &str) -> Result<Vec<Case>> {
    let suites: Vec<Value> = serde_json::from_str(report).context("read csi-sanity's report")?;
    let all = suites
        .iter()
        .filter_map(|suite| suite["SpecReports"].as_array());
    let leaves = all.flatten().filter(|one| one["LeafNodeType"] == "It");
    Ok(leaves.map(case).collect())
}

fn case(one: &Value) -> Case {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let containers = one["ContainerHierarchyTexts"].as_array();
    let mut names: Vec<String> = containers.into_iter().flatten().map(text).collect();
    let service = names.first().cloned().unwrap_or_default();
    names.push(text(&one["LeafNodeText"]));
    let message = text(&one["Failure"]["Message"]);
    let ending = match one["State"].as_str() {
        Some("passed") => Ending::Passed,
        Some("skipped") => Ending::NotRun(message),
        Some("pending") => Ending::NotRun("csi-sanity leaves it out by itself".to_owned()),
        _ => Ending::Failed(message),
    };
    Case {
        service,
        name: names.join(" "),
        ending,
    }
}

/// Cases not run are reported by their reason, and are failures where all have to run.
fn judge(cases: &[Case], run: &str) -> Outcome {
    let mut outcome = Outcome::default();
    let mut not_run: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for case in cases {
        let Case { name, ending, .. } = case;
        match ending {
            Ending::Passed => outcome.counts = outcome.counts + Counts::passed(1),
            Ending::NotRun(reason) if may_be_left_out(case, reason) => {
                not_run.entry(reason).or_default().insert(name);
            }
            Ending::NotRun(reason) | Ending::Failed(reason) => {
                let what = format!("{run}: {name}");
                outcome.add(Outcome::failed(Failure::new(what, reason)));
            }
        }
    }
    for (reason, names) in not_run {
        let (number, names) = (names.len(), Vec::from_iter(names).join("; "));
        outcome.note(format!("{run}: {number} not run, {reason}: {names}"));
    }
    outcome.not_empty(run)
}

fn may_be_left_out(case: &Case, reason: &str) -> bool {
    !WHOLE.contains(&&*case.service) || OPTIONAL.contains(&reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(service: &str, state: &str, message: &str) -> String {
        format!(
            r#"[{{"SpecReports": [
                {{"LeafNodeType": "BeforeSuite", "State": "passed"}},
                {{"LeafNodeType": "It", "ContainerHierarchyTexts": ["{service}", "Call"],
                  "LeafNodeText": "should work", "State": "{state}", "Failure": {{"Message": "{message}"}}}}
            ]}}]"#
        )
    }

    fn judged(service: &str, state: &str, message: &str) -> Outcome {
        judge(
            &cases(&report(service, state, message)).unwrap(),
            "csi-sanity",
        )
    }

    #[test]
    fn each_case_counts_as_it_ended() {
        let passed = judged("Node Service", "passed", "");
        assert_eq!((passed.counts, passed.notes.len()), (Counts::passed(1), 0));
        for state in ["failed", "panicked", "timedout"] {
            let failed = judged("Node Service", state, "why");
            assert_eq!(failed.counts, Counts::failed(1));
            let what = "csi-sanity: Node Service Call should work";
            assert_eq!(failed.failures[0].what, what);
            assert_eq!(failed.failures[0].output, "why");
        }
    }

    #[test]
    fn a_case_that_is_not_run_is_told_of_with_its_reason() {
        let mut all = cases(&report("Controller Service", "skipped", "no lists")).unwrap();
        all.extend(cases(&report("Node Service", "passed", "")).unwrap());
        let left_out = judge(&all, "csi-sanity");
        assert_eq!(left_out.counts, Counts::passed(1));
        let note = "csi-sanity: 1 not run, no lists: Controller Service Call should work";
        assert_eq!(left_out.notes, [note]);
    }

    #[test]
    fn what_has_to_run_whole_is_not_left_out() {
        let optional = judged("Node Service", "skipped", OPTIONAL[0]);
        assert_eq!(optional.notes.len(), 1);
        let lost = judged("Node Service", "skipped", "NodeStageVolume not supported");
        assert_eq!(lost.notes, [""; 0]);
        assert_eq!(lost.failures[0].output, "NodeStageVolume not supported");
    }

    #[test]
    fn a_report_without_a_case_is_red() {
        assert_eq!(judge(&[], "csi-sanity").counts, Counts::failed(1));
    }
}
