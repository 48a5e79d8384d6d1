//! The code of each RPC for each failure of the node, as a table for docs/stuck.md.

use std::fmt::Write as _;

use transport::Code;
use wincsi::{Cause, Condition, Error, Feature, Needs, Unreachable};
use wincsi_driver::code::Leftovers;
use wincsi_driver::life::CallError;
use wincsi_driver::record::VolumeHandle;

type Column = (&'static str, fn(Error) -> Code);

/// The RPCs that work on volumes, as docs/stuck.md has them, and what each answers.
const COLUMNS: [Column; 7] = [
    ("NodeStage, nothing left", |error| {
        let (error, left) = (Box::new(error), Leftovers::None);
        CallError::Node { error, left }.code()
    }),
    ("NodeStage, something left", |error| {
        let (error, left) = (Box::new(error), Leftovers::Maybe);
        CallError::Node { error, left }.code()
    }),
    ("NodePublish", |error| {
        let volume = VolumeHandle::parse("volume").unwrap();
        CallError::of_link(&volume, error).code()
    }),
    ("NodeUnpublish", something_left),
    ("NodeUnstage", something_left),
    ("NodeGetVolumeStats", something_left),
    ("NodeExpand", something_left),
];

fn something_left(error: Error) -> Code {
    CallError::from(error).code()
}

/// The table, as Markdown.
pub(crate) fn code_rows() -> String {
    let names: Vec<_> = COLUMNS.iter().map(|(name, _)| *name).collect();
    let line = "---|".repeat(COLUMNS.len() + 1);
    let mut rows = format!("| failure | {} |\n|{line}\n", names.join(" | "));
    let of_conditions = Condition::ALL.iter().map(|condition| {
        let cause = Cause::failed(*condition, "");
        (format!("`{condition}`"), cause)
    });
    let of_causes = causes().map(|(name, cause)| (name.to_owned(), cause));
    for (name, cause) in of_conditions.chain(of_causes) {
        let error = Error::new("", "", cause);
        let codes = COLUMNS.map(|(_, answer)| answer(error.clone()).to_string());
        writeln!(rows, "| {name} | {} |", codes.join(" | ")).unwrap();
    }
    rows
}

/// One of each failure that has no condition.
fn causes() -> impl Iterator<Item = (&'static str, Cause)> {
    let needs = Needs::Feature(Feature::FormatOptions);
    let (operation, text) = (String::new(), String::new());
    let (endpoint, reason) = (String::new(), Unreachable::NoPipe);
    [
        ("the deadline passed", Cause::Deadline),
        (
            "a value is none of Windows",
            Cause::InvalidArgument(text.clone()),
        ),
        (
            "a policy of csi-proxy forbids it",
            Cause::Refused { text: text.clone() },
        ),
        (
            "the host cannot do it",
            Cause::Unsupported { operation, needs },
        ),
        (
            "csi-proxy is too old",
            Cause::Unimplemented { text: text.clone() },
        ),
        ("an answer is malformed", Cause::Malformed(text.clone())),
        ("the connection broke", Cause::Lost { reason: text }),
        (
            "csi-proxy does not answer",
            Cause::Unreachable { endpoint, reason },
        ),
    ]
    .into_iter()
}
