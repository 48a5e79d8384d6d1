use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use os::{Cause, Facility, Hresult, Outcome, Returned, SystemText, Win32};
use serde::Deserialize;

use super::{Effect, Faults, Kill, Pattern, Rule};
use crate::folder;

/// A fault script does not read.
#[derive(Debug, thiserror::Error)]
#[error("fault script {path}: {source}")]
pub struct ScriptError {
    path: String,
    source: toml::de::Error,
}

/// The script in a node's folder, which anyone may write or delete at any time.
pub(crate) struct Script {
    path: PathBuf,
    seen: Mutex<Option<String>>,
}

impl Script {
    pub(super) fn at(path: PathBuf) -> Self {
        Self {
            path,
            seen: Mutex::new(None),
        }
    }

    /// Puts the script's rules in force when it has changed. One that does not read changes nothing,
    /// and is told of.
    pub(super) fn follow(&self, faults: &Faults) {
        let text = folder::text(&self.path).unwrap_or_default();
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if *seen == text {
            return;
        }
        match parse(&self.path, text.as_deref().unwrap_or_default()) {
            Ok(rules) => faults.replace_script(rules),
            Err(error) => tracing::warn!(%error, "the faults stay as they are"),
        }
        *seen = text;
    }
}

/// Reads a script: the crate's page has its form.
pub(crate) fn parse(path: &Path, text: &str) -> Result<Vec<Rule>, ScriptError> {
    let rules: Rules = toml::from_str(text).map_err(|source| ScriptError {
        path: path.display().to_string(),
        source,
    })?;
    Ok(rules.fault.into_iter().map(ScriptRule::armed).collect())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rules {
    #[serde(default)]
    fault: Vec<ScriptRule>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct ScriptRule {
    #[serde(default, deserialize_with = "facility")]
    facility: Option<Facility>,
    #[serde(default = "anything")]
    operation: Pattern,
    #[serde(default = "anything")]
    object: Pattern,
    #[serde(default = "first")]
    from_nth: u32,
    times: Option<u32>,
    effect: ScriptEffect,
    text: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum ScriptEffect {
    Answer(Answer),
    AnswerAfter(Answer),
    DelayMs(u64),
    DetachDisk(String),
    Fail(Code),
    FailAfter(Code),
    HalfWay,
    HalfWayFromEnd,
    Hang,
    KillAfter,
    KillBefore,
    Overrun,
    TakeServerDown(String),
    UnsettledMs(u64),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Answer {
    /// Null where it is left out.
    code: Option<u32>,
    text: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Code {
    Hresult(u32),
    Win32(u32),
}

impl ScriptRule {
    fn armed(self) -> Rule {
        Rule {
            facility: self.facility,
            operation: self.operation,
            object: self.object,
            from_nth: self.from_nth,
            times: self.times,
            effect: self.effect.into(),
            system_text: self.text.as_deref().and_then(SystemText::new),
        }
    }
}

impl From<ScriptEffect> for Effect {
    fn from(effect: ScriptEffect) -> Self {
        match effect {
            ScriptEffect::Answer(answer) => Self::Answer(answer.into()),
            ScriptEffect::AnswerAfter(answer) => Self::AnswerAfter(answer.into()),
            ScriptEffect::DelayMs(delay) => Self::Delay(Duration::from_millis(delay)),
            ScriptEffect::DetachDisk(name) => Self::DetachDisk(name),
            ScriptEffect::Fail(code) => Self::Fail(code.into()),
            ScriptEffect::FailAfter(code) => Self::FailAfter(code.into()),
            ScriptEffect::HalfWay => Self::HalfWay,
            ScriptEffect::HalfWayFromEnd => Self::HalfWayFromEnd,
            ScriptEffect::Hang => Self::Hang,
            ScriptEffect::KillAfter => Self::Kill(Kill::After),
            ScriptEffect::KillBefore => Self::Kill(Kill::Before),
            ScriptEffect::Overrun => Self::Overrun,
            ScriptEffect::TakeServerDown(name) => Self::TakeServerDown(name),
            ScriptEffect::UnsettledMs(time) => Self::Unsettled(Duration::from_millis(time)),
        }
    }
}

impl From<Answer> for Outcome {
    fn from(Answer { code, text }: Answer) -> Self {
        Self {
            extended: text,
            ..Self::of(code.map_or(Returned::Null, Returned::Code))
        }
    }
}

impl From<Code> for Cause {
    fn from(code: Code) -> Self {
        match code {
            Code::Hresult(code) => Hresult(code).into(),
            Code::Win32(code) => Win32(code).into(),
        }
    }
}

fn facility<'de, D: serde::Deserializer<'de>>(input: D) -> Result<Option<Facility>, D::Error> {
    let name = String::deserialize(input)?;
    name.parse().map(Some).map_err(serde::de::Error::custom)
}

fn anything() -> Pattern {
    Pattern::from("*")
}

fn first() -> u32 {
    1
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::time::Duration;

    use os::{Facility, Hresult, Outcome, Returned, Win32};

    use super::parse;
    use crate::gate::{Effect, Kill, Rule};

    #[test]
    fn every_key_of_a_rule_reads() {
        let text = r#"
            [[fault]]
            facility = "storage"
            operation = "MSFT_Disk.CreatePartition"
            object = "*data1*"
            from-nth = 2
            times = 1
            effect = "hang"
            text = "Zugriff verweigert"

            [[fault]]
            effect = "hang"
        "#;
        let rules = parse(Path::new("faults.toml"), text).unwrap();
        let rule = Rule::on("MSFT_Disk.CreatePartition", Effect::Hang)
            .in_facility(Facility::Storage)
            .object("*data1*")
            .from_nth(2)
            .times(1)
            .with_system_text("Zugriff verweigert");
        assert_eq!(rules, [rule, Rule::on("*", Effect::Hang)]);
    }

    #[test]
    fn an_answer_without_a_code_is_a_null() {
        let script = "[[fault]]\neffect = { answer-after = {} }";
        let rules = parse(Path::new("faults.toml"), script).unwrap();
        let null = Effect::AnswerAfter(Outcome::of(Returned::Null));
        assert_eq!(rules, [Rule::on("*", null)]);
    }

    /// Each effect as a script writes it.
    fn effects() -> Vec<(&'static str, Effect)> {
        let out_of_date = Outcome {
            extended: Some("out of date".to_owned()),
            ..Outcome::of(40003)
        };
        let lost = Hresult::RPC_S_SERVER_UNAVAILABLE.into();
        vec![
            (
                r#"{ answer = { code = 40003, text = "out of date" } }"#,
                Effect::Answer(out_of_date),
            ),
            (
                "{ answer-after = { code = 42002 } }",
                Effect::AnswerAfter(Outcome::of(42002)),
            ),
            (
                "{ delay-ms = 1500 }",
                Effect::Delay(Duration::from_millis(1500)),
            ),
            (
                r#"{ detach-disk = "data1" }"#,
                Effect::DetachDisk("data1".to_owned()),
            ),
            (
                "{ fail = { win32 = 1117 } }",
                Effect::fail(Win32::IO_DEVICE),
            ),
            (
                "{ fail-after = { hresult = 0x800706BA } }",
                Effect::FailAfter(lost),
            ),
            (r#""half-way""#, Effect::HalfWay),
            (r#""half-way-from-end""#, Effect::HalfWayFromEnd),
            (r#""hang""#, Effect::Hang),
            (r#""kill-after""#, Effect::Kill(Kill::After)),
            (r#""kill-before""#, Effect::Kill(Kill::Before)),
            (r#""overrun""#, Effect::Overrun),
            (
                r#"{ take-server-down = "fs1" }"#,
                Effect::TakeServerDown("fs1".to_owned()),
            ),
            (
                "{ unsettled-ms = 1500 }",
                Effect::Unsettled(Duration::from_millis(1500)),
            ),
        ]
    }

    #[test]
    fn every_effect_of_the_crates_page_parses() {
        let page = page();
        for (text, effect) in effects() {
            let script = format!("[[fault]]\neffect = {text}");
            let rules = parse(Path::new("faults.toml"), &script).unwrap();
            assert_eq!(rules, [Rule::on("*", effect.clone())]);
            let word = text.trim_matches(['{', ' ', '"']);
            let word = word.split([' ', '"']).next().unwrap();
            assert!(page.contains(word), "{word} is not on the page");
            assert_eq!(written(&effect), word, "the table above has each once");
        }
    }

    /// The crate's page, with all forms of effects.
    fn page() -> String {
        let lines = include_str!("../lib.rs").lines();
        let page: Vec<_> = lines.filter(|line| line.starts_with("//!")).collect();
        page.join("\n")
    }

    /// The word of an effect. A new effect does not compile here, so that it comes into the test.
    fn written(effect: &Effect) -> &'static str {
        match effect {
            Effect::Answer(_) => "answer",
            Effect::AnswerAfter(_) => "answer-after",
            Effect::Delay(_) => "delay-ms",
            Effect::DetachDisk(_) => "detach-disk",
            Effect::Fail(_) => "fail",
            Effect::FailAfter(_) => "fail-after",
            Effect::HalfWay => "half-way",
            Effect::HalfWayFromEnd => "half-way-from-end",
            Effect::Hang => "hang",
            Effect::Kill(Kill::After) => "kill-after",
            Effect::Kill(Kill::Before) => "kill-before",
            Effect::Overrun => "overrun",
            Effect::TakeServerDown(_) => "take-server-down",
            Effect::Unsettled(_) => "unsettled-ms",
        }
    }

    #[test]
    fn misspelt_words_are_refused() {
        for text in [
            "[[fault]]\nefect = \"hang\"",
            "[[fault]]\neffect = \"hand\"",
            "[[fault]]\nfacility = \"disk\"\neffect = \"hang\"",
            "[[faults]]\neffect = \"hang\"",
        ] {
            assert!(parse(Path::new("faults.toml"), text).is_err(), "{text}");
        }
    }
}
