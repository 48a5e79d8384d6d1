//! Plays the scripts: `../scripts` has one for each driver but vSphere's, and what several have in common.
//!
//! | line | meaning |
//! |---|---|
//! | `driver`, `node`, `content` | the volumes' folder; the node's profile or policy; where a volume's files are |
//! | `mode NAME disk.v1 ... NAME=VALUE ...` | a test, or what a case names: the versions of its pipes, its values |
//! | `use NAME`, `let NAME = VALUE` | a common script's routines too; a variable, read as `$NAME` |
//! | `stage:`, `clear path:` | a routine, with its parameters: a call of the kubelet's, or a part of one |
//! | `case NAME MODE FORM [ROUTINE]:` | a test of its own, on the node that the routine makes |
//! | `disk.Rescan`, `node mkdir $staging` | an RPC with its fields, also on deeper lines; another action |
//! | `do ROUTINE NAME=VALUE` | plays a routine, which has all variables of its caller |
//! | `... -> a = b, c` | puts fields of the answer into variables; `first`, `last`, `only` take one of several |
//! | `... ignoring "text"` | a failure with this text, or any of `errors`, is an empty answer |
//! | `... or CONDITION` | a failure is none if the condition holds |
//! | `connect disk` | a new connection to a group |
//! | `if CONDITION [then LINE]`, `check` | an answer, a variable, `not`, `==`, `>`, `contains`, `lists` (by commas) |
//! | `fails LINE`, `fail "text"`, `done` | the line fails, with `$failure`; the routine fails, or ends |
//! | `whole` | the whole life of a volume |
//!
//! A driver's `if` is the driver's own. There are no loops. Each line is checked before anything is played: an unknown
//! RPC, field, action, routine or variable is an error with its file and line.

mod actions;
mod check;
mod rpc;
mod script;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::rc::Rc;
use std::time::{Duration, Instant};

use transport::{CallError, Channel, ChannelOptions, Code, Endpoint};

use self::rpc::{Data, Rpc};
use self::script::{Line, Script};
use super::fixture::NodeFixture;
use super::lives::{self, Ask, Driver, Form, Paths};
use super::steps::{Answer, Lifeline, StepFailure, Vars};

pub(crate) use self::script::Source;

const TIMEOUT: Duration = Duration::from_secs(60);

/// A driver's process, which plays its script for one volume.
pub(crate) struct Player<'a> {
    fixture: &'a NodeFixture,
    script: Script,
    mode: String,
    paths: Paths,
    values: Vars,
    channels: RefCell<BTreeMap<&'static str, Channel>>,
    lifeline: Lifeline,
    /// The files of its container.
    container: Rc<RefCell<BTreeSet<String>>>,
    /// Whether it only checks its script: each line, without a call.
    is_dry: bool,
}

/// What follows a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Flow {
    Next,
    /// The end of the routine.
    Done,
}

/// A node as this routine of the script makes it in a mode, once the script is checked.
pub(crate) fn node(source: Source, mode: &str, routine: &str) -> NodeFixture {
    let script = Script::parse(source.file, source.text);
    let fixture = NodeFixture::named(&script.head("node")[0]);
    check::check(&fixture, source);
    let player = Player::new(&fixture, source, mode, Form::Backslashes);
    let _ = match routine {
        "node" => player.play_if_any(routine).unwrap(),
        named => Some(player.play(named, &[]).unwrap()),
    };
    drop(player);
    fixture
}

/// Plays a case of the script.
pub(crate) fn case(source: Source, name: &str) -> Answer<()> {
    let script = Script::parse(source.file, source.text);
    let case = script.routine(name).expect(name);
    let [mode, form, routine @ ..] = &case.parameters[..] else {
        panic!("{}: a case has a mode and a form of paths", case.line);
    };
    let form = match *form {
        "backslashes" => Form::Backslashes,
        "drive" => Form::Drive,
        other => panic!("{}: no form of paths is {other}", case.line),
    };
    let fixture = node(source, mode, routine.first().unwrap_or(&"node"));
    let player = Player::start(&fixture, source, mode, form);
    player.play(name, &[]).map(drop)
}

impl<'a> Player<'a> {
    /// The driver as it starts.
    pub(crate) fn start(fixture: &'a NodeFixture, source: Source, mode: &str, form: Form) -> Self {
        let player = Self::new(fixture, source, mode, form);
        player.play_if_any("start").unwrap();
        player
    }

    /// Without what the driver does when it starts.
    pub(crate) fn new(fixture: &'a NodeFixture, source: Source, mode: &str, form: Form) -> Self {
        let script = Script::parse(source.file, source.text);
        let paths = Paths::new(&script.head("driver")[0], "pvc-1", form);
        Self {
            fixture,
            mode: mode.to_owned(),
            values: values(&script, mode, &paths),
            paths,
            channels: RefCell::default(),
            lifeline: Lifeline::default(),
            container: Rc::default(),
            is_dry: false,
            script,
        }
    }

    /// The same process with another volume of the same share.
    pub(crate) fn another(&self, source: Source, volume: &str, remote: &str) -> Self {
        let mut player = Self::new(self.fixture, source, &self.mode, Form::Backslashes);
        player.paths = Paths::new(&player.script.head("driver")[0], volume, Form::Backslashes);
        player.values = values(&player.script, &self.mode, &player.paths);
        player.values.insert("volume".to_owned(), volume.to_owned());
        player.values.insert("remote".to_owned(), remote.to_owned());
        player.container = Rc::clone(&self.container);
        player
    }

    /// Plays a routine with these parameters. Returns all values after it.
    pub(crate) fn play(&self, routine: &str, parameters: &[(&str, &str)]) -> Answer<Vars> {
        let mut vars = self.values.clone();
        let parameters = parameters
            .iter()
            .map(|(name, value)| ((*name).into(), (*value).into()));
        vars.extend(parameters);
        let found = self.script.routine(routine).expect(routine);
        self.block(&found.line.below, &mut vars)?;
        Ok(vars)
    }

    fn play_if_any(&self, routine: &str) -> Answer<Option<Vars>> {
        let found = self.script.routine(routine);
        found.map(|_| self.play(routine, &[])).transpose()
    }

    fn block(&self, lines: &[Line], vars: &mut Vars) -> Answer<Flow> {
        for line in lines {
            if self.line(line, &line.words(), vars)? == Flow::Done {
                return Ok(Flow::Done);
            }
        }
        Ok(Flow::Next)
    }

    fn line(&self, line: &Line, words: &[&str], vars: &mut Vars) -> Answer<Flow> {
        match words {
            ["done"] if !self.is_dry => return Ok(Flow::Done),
            ["fail", text] if !self.is_dry => return Err(StepFailure::new(line, text)),
            ["done"] | ["fail", _] => {}
            ["check", condition @ ..] => {
                let holds = self.condition(line, condition, vars)?;
                assert!(holds || self.is_dry, "{line}: {condition:?} with {vars:?}");
            }
            ["let", name, "=", value @ ..] => {
                let value = expand(line, value.first().unwrap_or(&""), vars);
                vars.insert((*name).to_owned(), value);
            }
            ["connect", group] => {
                let of_group = format!("{group}.");
                let mut words = self.script.mode(&self.mode).iter();
                let is_known = words.any(|word| word.starts_with(&of_group));
                assert!(is_known, "{line}: {} has no {group}", self.mode);
                self.channels.borrow_mut().remove(*group);
            }
            ["fails", rest @ ..] => {
                let failure = match self.line(line, rest, vars) {
                    Err(failure) => failure.text,
                    Ok(_) => {
                        assert!(self.is_dry, "{line}: it does not fail");
                        String::new()
                    }
                };
                vars.insert("failure".to_owned(), failure);
            }
            ["do", routine, parameters @ ..] => self.routine(line, routine, parameters, vars)?,
            ["if", rest @ ..] => {
                let (condition, then) = split(rest, "then");
                let is_either = then.is_empty() != line.below.is_empty();
                assert!(
                    is_either,
                    "{line}: a condition is for `then` or for lines below"
                );
                if self.condition(line, condition, vars)? || self.is_dry {
                    return match then {
                        [] => self.block(&line.below, vars),
                        then => self.line(line, then, vars),
                    };
                }
            }
            ["whole"] if !self.is_dry => lives::whole(self.fixture, self)?,
            ["whole"] => {}
            call => drop(self.call(line, call, vars)?),
        }
        Ok(Flow::Next)
    }

    fn routine(&self, line: &Line, name: &str, given: &[&str], vars: &mut Vars) -> Answer<()> {
        let found = self.script.routine(name);
        let found = found.unwrap_or_else(|| panic!("{line}: there is no routine {name}"));
        let given = pairs(line, given);
        let names: Vec<_> = given.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, found.parameters, "{line}: the parameters of {name}");
        for (name, value) in given {
            let value = expand(line, value, vars);
            vars.insert(name.to_owned(), value);
        }
        self.block(&found.line.below, vars).map(drop)
    }

    fn condition(&self, line: &Line, words: &[&str], vars: &mut Vars) -> Answer<bool> {
        let number = |text: &str| match expand(line, text, vars).parse::<u64>() {
            Ok(number) => number,
            Err(_) if self.is_dry => 0,
            Err(error) => panic!("{line}: {text}: {error}"),
        };
        Ok(match words {
            ["not", rest @ ..] => !self.condition(line, rest, vars)?,
            [left, ">", right] => number(left) > number(right),
            [left, ">", right, "+", more] => number(left) > number(right) + number(more),
            [left, how @ ("==" | "contains" | "lists"), right] => matches(
                line,
                &expand(line, left, vars),
                how,
                &expand(line, right, vars),
            ),
            [value] if value.starts_with('$') => Data::Text(expand(line, value, vars)).holds(),
            call => self.call(line, call, vars)?.holds(),
        })
    }

    /// Makes a call, and takes what is wanted from its answer.
    fn call(&self, line: &Line, words: &[&str], vars: &mut Vars) -> Answer<Data> {
        let (words, picks) = split(words, "->");
        let (words, or) = split(words, "or");
        let (words, ignoring) = split(words, "ignoring");
        let words: Vec<_> = words.iter().map(|word| expand(line, word, vars)).collect();
        let (answer, empty) = match words.first().and_then(|name| name.split_once('.')) {
            Some((group, name)) => {
                let rpc = self.rpc(line, group, name);
                (self.send(line, &rpc, &words[1..]), rpc.answer(&[]))
            }
            None => (Ok(self.act(line, &words)), Data::Text(String::new())),
        };
        if self.is_dry && !or.is_empty() {
            self.condition(line, or, vars)?;
        }
        let is_ignored = |failure: &StepFailure| {
            let mut texts = ignoring.iter();
            texts.any(|text| *text == "errors" || is_said(&failure.text, text))
        };
        let answer = match answer {
            Err(failure) if self.lifeline.is_over() => return Err(failure),
            Err(failure) if is_ignored(&failure) => empty,
            Err(_) if !or.is_empty() && self.condition(line, or, vars)? => {
                Data::Text("true".into())
            }
            answer => answer?,
        };
        for pick in picks.split_inclusive(|word| word.ends_with(',')) {
            let (name, text) = self.pick(line, pick, &answer)?;
            vars.insert(name, text);
        }
        Ok(answer)
    }

    /// The variable and value of `name`, `name = FIELD`, `name = only FIELD` or `name = FIELD where KEY HOW VALUE`.
    fn pick(&self, line: &Line, words: &[&str], answer: &Data) -> Answer<(String, String)> {
        let words: Vec<_> = words
            .iter()
            .map(|word| word.trim_end_matches(','))
            .collect();
        let field = |name: &str| match answer {
            Data::Text(_) => answer,
            _ => answer
                .get(name)
                .unwrap_or_else(|| panic!("{line}: no field {name} in {answer:?}")),
        };
        let found = match words[..] {
            [name] | [_, "=", name] => Some(field(name).text()),
            [_, "=", which @ ("first" | "last" | "only"), name] => field(name).one(which),
            [_, "=", name, "where", key, how, value] => field(name).key_where(|entry| {
                let entry = entry
                    .get(key)
                    .unwrap_or_else(|| panic!("{line}: no field {key}"));
                matches(line, &entry.text(), how, value)
            }),
            _ => panic!("{line}: it is not clear what to take from the answer"),
        };
        match found {
            Some(text) => Ok((words[0].to_owned(), text)),
            None if self.is_dry => Ok((words[0].to_owned(), String::new())),
            None => Err(StepFailure::new(line, format!("{words:?} in {answer:?}"))),
        }
    }

    fn rpc(&self, line: &Line, group: &str, name: &str) -> Rpc {
        let words = self.script.mode(&self.mode);
        let mut groups = wire::GROUPS.iter();
        let found = groups
            .find(|one| one.name == group && words.contains(&format!("{group}.{}", one.version)));
        let found = found.unwrap_or_else(|| panic!("{line}: {} has no {group}", self.mode));
        Rpc::find(found, name).unwrap_or_else(|| panic!("{line}: {found} has no RPC {name}"))
    }

    fn act(&self, line: &Line, words: &[String]) -> Data {
        let words: Vec<_> = words.iter().map(String::as_str).collect();
        let action = actions::action(self, &words);
        let action = action.unwrap_or_else(|| panic!("{line}: there is no action {words:?}"));
        Data::Text(if self.is_dry { String::new() } else { action() })
    }

    fn send(&self, line: &Line, rpc: &Rpc, fields: &[String]) -> Answer<Data> {
        let request = rpc.request(&pairs(line, fields), self.is_dry);
        let request = request.unwrap_or_else(|field| panic!("{line}: {field} of {}", rpc.path));
        if self.is_dry {
            return Ok(rpc.answer(&[]));
        }
        self.lifeline.call(line, || {
            let channel = self.channel(rpc.group);
            match channel.call(rpc.path, &request, Instant::now() + TIMEOUT) {
                Ok(answer) => Ok(rpc.answer(&answer)),
                Err(CallError::Status(status)) if status.code == Code::Unknown => {
                    Err(StepFailure::new(line, status.message))
                }
                Err(other) => panic!("{line}: {other}"),
            }
        })
    }

    fn channel(&self, group: &'static wire::Group) -> Channel {
        let mut channels = self.channels.borrow_mut();
        let open = || {
            let endpoint = Endpoint::local(&self.fixture.sockets(), &group.pipe_name());
            Channel::connect(endpoint.unwrap(), ChannelOptions::default()).unwrap()
        };
        channels.entry(group.name).or_insert_with(open).clone()
    }
}

impl Driver for Player<'_> {
    fn paths(&self) -> &Paths {
        &self.paths
    }

    fn lifeline(&self) -> &Lifeline {
        &self.lifeline
    }

    fn ask(&self, what: Ask) -> Answer<Option<Vars>> {
        self.play_if_any(&format!("{what:?}").to_lowercase())
    }

    fn content(&self) -> PathBuf {
        let node = self.fixture;
        match self.script.head("content")[0].as_str() {
            "volume" => node.volume_folder(node.mounted_at(&self.paths.staging).unwrap()),
            below => node.node_folder(&expand(&self.script.0[0], below, &self.values)),
        }
    }
}

/// The values that a process of the driver has from the beginning.
fn values(script: &Script, mode: &str, paths: &Paths) -> Vars {
    let parent = |path: &str| path.rsplit_once('\\').unwrap().0.to_owned();
    let mut vars: Vars = [
        ("raw_staging", paths.raw_staging.clone()),
        ("raw_target", paths.raw_target.clone()),
        ("staging", paths.staging.clone()),
        ("staging_parent", parent(&paths.staging)),
        ("target", paths.target.clone()),
        ("target_parent", parent(&paths.target)),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into();
    for line in &script.0 {
        if let ["let", name, "=", value] = line.words()[..] {
            vars.insert(name.to_owned(), value.to_owned());
        }
    }
    let pairs = script
        .mode(mode)
        .iter()
        .filter_map(|word| word.split_once('='));
    vars.extend(pairs.map(|(name, value)| (name.to_owned(), value.to_owned())));
    vars
}

/// The words before and after a word.
fn split<'w>(words: &'w [&'w str], at: &str) -> (&'w [&'w str], &'w [&'w str]) {
    match words.iter().position(|word| *word == at) {
        Some(place) => (&words[..place], &words[place + 1..]),
        None => (words, &[]),
    }
}

/// The text with the values of its variables.
fn expand(line: &Line, text: &str, vars: &Vars) -> String {
    let mut parts = text.split('$');
    let mut expanded = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let (name, rest) = part.split_at(end.unwrap_or(part.len()));
        let value = vars.get(name);
        expanded += value.unwrap_or_else(|| panic!("{line}: nothing binds ${name}"));
        expanded += rest;
    }
    expanded
}

/// The words, each of which is `NAME=VALUE`.
fn pairs<'w>(line: &Line, words: &'w [impl AsRef<str>]) -> Vec<(&'w str, &'w str)> {
    let pair = |word: &'w str| {
        let pair = word.split_once('=');
        pair.unwrap_or_else(|| panic!("{line}: {word} is no NAME=VALUE"))
    };
    words.iter().map(|word| pair(word.as_ref())).collect()
}

fn matches(line: &Line, text: &str, how: &str, wanted: &str) -> bool {
    match how {
        "==" => text == wanted,
        "contains" => text.contains(wanted),
        "lists" => text.split(',').any(|one| one == wanted),
        "ends" => text.ends_with(wanted),
        "starts" => text.starts_with(wanted),
        how => panic!("{line}: nothing compares by {how}"),
    }
}

/// Whether a failure's text has this one, in which `*` are characters without blanks.
fn is_said(text: &str, wanted: &str) -> bool {
    let Some((start, end)) = wanted.split_once('*') else {
        return text.contains(wanted);
    };
    text.split(start).skip(1).any(|rest| {
        let between = rest.find(end).map(|place| &rest[..place]);
        between.is_some_and(|text| !text.is_empty() && !text.contains(char::is_whitespace))
    })
}
