//! Differences between two machines of one kind, removed before a comparison.

use std::cell::RefCell;
use std::collections::BTreeSet;

use formats::fixtures::field::{Form, Object, Record, Recorded};
use os::Value;

/// The origin of a value.
#[derive(Clone, Copy)]
pub(crate) struct Context<'a> {
    pub(crate) record: &'a Record,
    pub(crate) object: &'a Object,
    pub(crate) property: &'a str,
}

type Rule = (&'static str, fn(&Context<'_>, &str) -> String);

/// In their order.
const RULES: &[Rule] = &[
    ("the computer's name", computer),
    ("the provider's own GUID", provider),
    ("the instance's number in the device tree", instance),
    ("blanks at the end, which a console does not show", blanks),
    ("GUIDs that Windows draws", drawn),
    ("the path of a disk's file", file),
    ("the namespace's case", namespace),
    ("a cluster's name of its disk", clustered),
    ("the numbers of a session", session),
    ("digits that were masked", masked),
];

type Exemption = (&'static str, fn(&Context<'_>, &Recorded, &Value) -> bool);

/// Values that may differ. The record backs nothing by them.
const EXEMPTIONS: &[Exemption] = &[
    ("a signature of an MBR that Windows draws", signature),
    (
        "no DiskNumber of a clustered disk, which no simulated node has",
        numberless,
    ),
];

/// Makes texts neutral, decides which values may differ, and records which rules that took.
#[derive(Default)]
pub(crate) struct Neutral(RefCell<BTreeSet<&'static str>>);

impl Neutral {
    pub(crate) fn text(&self, context: &Context<'_>, text: &str) -> String {
        RULES.iter().fold(text.to_owned(), |text, (name, rule)| {
            let neutral = rule(context, &text);
            if neutral != text {
                self.0.borrow_mut().insert(name);
            }
            neutral
        })
    }

    /// Whether these two need not be equal.
    pub(crate) fn exempts(
        &self,
        context: &Context<'_>,
        recorded: &Recorded,
        value: &Value,
    ) -> bool {
        let mut rules = EXEMPTIONS.iter();
        let found = rules.find(|(_, rule)| rule(context, recorded, value));
        self.0.borrow_mut().extend(found.map(|(name, _)| *name));
        found.is_some()
    }

    pub(crate) fn unused(&self) -> Vec<&'static str> {
        let used = self.0.borrow();
        let names = RULES.iter().map(|(name, _)| *name);
        let names = names.chain(EXEMPTIONS.iter().map(|(name, _)| *name));
        names.filter(|name| !used.contains(name)).collect()
    }
}

/// Zero is none.
fn signature(context: &Context<'_>, recorded: &Recorded, value: &Value) -> bool {
    let is_drawn =
        matches!(recorded, Recorded::Number(1..)) && value.unsigned().is_ok_and(|it| it > 0);
    is_drawn && is(context, "hyper-v", "system", "Signature")
}

fn numberless(context: &Context<'_>, recorded: &Recorded, value: &Value) -> bool {
    let is_here_alone = *recorded == Recorded::Empty && value.unsigned().is_ok();
    is_here_alone && is(context, "vsphere-cluster", "clustered", "DiskNumber")
}

fn is(context: &Context<'_>, record: &str, object: &str, property: &str) -> bool {
    (context.record.name, context.property) == (record, property) && context.object.name == object
}

fn computer(context: &Context<'_>, text: &str) -> String {
    let Some(name) = &context.record.computer else {
        return text.to_owned();
    };
    let (lower, name) = (text.to_lowercase(), name.to_lowercase());
    match lower.find(&name) {
        Some(at) => format!("{}{{computer}}{}", &text[..at], &text[at + name.len()..]),
        None => text.to_owned(),
    }
}

fn provider(_: &Context<'_>, text: &str) -> String {
    const BEFORE: &str = ".ObjectId=\"";
    match text.split_once(BEFORE) {
        Some((head, tail)) => {
            let rest = tail.split_once(':').unwrap().1;
            format!("{head}{BEFORE}{{provider}}:{rest}")
        }
        None => text.to_owned(),
    }
}

/// `#5&23db5f40&0&000001#`: the second number. The first, the depth, is compared.
fn instance(_: &Context<'_>, text: &str) -> String {
    let mut parts: Vec<_> = text.split(['#', '\\']).map(str::to_owned).collect();
    let seams: Vec<_> = text.chars().filter(|c| ['#', '\\'].contains(c)).collect();
    for part in &mut parts {
        let mut numbers: Vec<_> = part.split('&').collect();
        if numbers.len() == 4 && numbers[0].parse::<u8>().is_ok() {
            numbers[1] = "*";
            *part = numbers.join("&");
        }
    }
    let seams = seams.iter().map(char::to_string).chain([String::new()]);
    let woven = parts
        .into_iter()
        .zip(seams)
        .map(|(part, seam)| part + &seam);
    woven.collect()
}

fn blanks(context: &Context<'_>, text: &str) -> String {
    match context.record.form {
        Form::List => text.trim_end().to_owned(),
        Form::Json | Form::Raw => text.to_owned(),
    }
}

fn drawn(context: &Context<'_>, text: &str) -> String {
    if !["Guid", "AccessPaths"].contains(&context.property) {
        return text.to_owned();
    }
    match text.split_once('{') {
        Some((head, tail)) => format!("{head}{{drawn}}{}", tail.split_once('}').unwrap().1),
        None => text.to_owned(),
    }
}

fn file(context: &Context<'_>, text: &str) -> String {
    let is_file = text.starts_with(r"C:\") && text.ends_with(".vhdx");
    match context.property == "Location" && is_file {
        true => r"C:\*.vhdx".to_owned(),
        false => text.to_owned(),
    }
}

fn namespace(_: &Context<'_>, text: &str) -> String {
    text.replace(r"\ROOT/Microsoft/", r"\root/Microsoft/")
}

fn clustered(context: &Context<'_>, text: &str) -> String {
    let is_of_disk = ["DiskId", "ObjectId"].contains(&context.property);
    match text.rsplit_once(r"\\?\") {
        Some((head, _)) if is_of_disk && context.record.name == "vsphere-cluster" => {
            format!("{head}{{disk}}")
        }
        _ => text.to_owned(),
    }
}

fn session(context: &Context<'_>, text: &str) -> String {
    match context.property {
        "SessionIdentifier" => any_digit(text, |c| c.is_ascii_hexdigit()),
        _ => text.to_owned(),
    }
}

/// Of serial numbers of firmware the records have the form, with `#` or zeros for each digit.
fn masked(context: &Context<'_>, text: &str) -> String {
    match context.record.name.starts_with("firmware") && context.property == "SerialNumber" {
        true => match text.split_once('-') {
            Some(("VMware", digits)) => format!("VMware-{}", masked_digits(digits)),
            _ => masked_digits(text),
        },
        false => text.to_owned(),
    }
}

fn masked_digits(text: &str) -> String {
    any_digit(text, |c| c.is_ascii_hexdigit() || c == '#')
}

fn any_digit(text: &str, is_digit: fn(char) -> bool) -> String {
    let neutral = text.chars().map(|c| if is_digit(c) { '#' } else { c });
    neutral.collect()
}
