use std::collections::BTreeSet;
use std::path::Path;
use std::{env, fs, io};

use crate::{Cases, Record};

/// A test program that records its operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Program {
    /// `os-suite` on the simulated node.
    Simulator,
    /// The node's operations, in the situations of `costs`, on the simulated node.
    SimulatorNode,
    /// `os-suite` on `os-windows`, under Wine.
    Wine,
    /// `os-suite` through `os-windows`'s way to WMI, to COM objects in the process, under Wine.
    InProcess,
    /// The node's operations in the same way.
    InProcessNode,
    /// `windows-suite` on Windows Server. Its record is from one run there, and empty before the first: no run of the
    /// tests compares it.
    Windows,
}

/// Names the folder for writing records, instead of comparing them.
const WRITE: &str = "WINCSI_FIDELITY";

impl Program {
    /// The name of its file in `records/`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Simulator => "simulator",
            Self::SimulatorNode => "simulator-node",
            Self::Wine => "wine",
            Self::InProcess => "in-process",
            Self::InProcessNode => "in-process-node",
            Self::Windows => "windows",
        }
    }

    pub(crate) fn record(self) -> Record {
        Record::parse(match self {
            Self::Simulator => include_str!("../records/simulator.txt"),
            Self::SimulatorNode => include_str!("../records/simulator-node.txt"),
            Self::Wine => include_str!("../records/wine.txt"),
            Self::InProcess => include_str!("../records/in-process.txt"),
            Self::InProcessNode => include_str!("../records/in-process-node.txt"),
            Self::Windows => include_str!("../records/windows.txt"),
        })
    }
}

/// Compares all operations of a program with its record, or writes the record.
///
/// # Errors
/// It executed other operations, or an unknown one; the record cannot be written.
pub fn settle(program: Program, seen: &Record) -> Result<(), String> {
    let unknown = seen.unknown();
    if !unknown.is_empty() {
        return Err(format!("no operations of the seam: {unknown:?}"));
    }
    match env::var_os(WRITE) {
        Some(folder) => write(Path::new(&folder), program, seen),
        None => compare(program, seen),
    }
}

/// Writes a program's record to its file in a folder.
///
/// # Errors
/// It cannot be written.
pub fn write(folder: &Path, program: Program, seen: &Record) -> Result<(), String> {
    let file = folder.join(format!("{}.txt", program.name()));
    fs::write(&file, seen.text()).map_err(|error| format!("write {}: {error}", file.display()))
}

/// Writes the observations of a run on Windows Server to `windows.txt` in a folder. Lines of other runs, machines and
/// scripts stay, unless this run observed the same again: a run of chosen cases adds observations alone.
///
/// # Errors
/// The old file cannot be read, or the new one not be written.
pub fn report(folder: &Path, cases: Cases, seen: &Record) -> Result<(), String> {
    let file = folder.join(format!("{}.txt", Program::Windows.name()));
    let before = match fs::read_to_string(&file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        read => read.map_err(|error| format!("read {}: {error}", file.display()))?,
    };
    let after = Record::parse(&before).after(cases, seen);
    write(folder, Program::Windows, &after)
}

fn compare(program: Program, seen: &Record) -> Result<(), String> {
    let (recorded, seen) = (program.record().text(), seen.text());
    let (recorded, seen): (BTreeSet<_>, BTreeSet<_>) =
        (recorded.lines().collect(), seen.lines().collect());
    if recorded == seen {
        return Ok(());
    }
    Err(format!(
        "docs/fidelity.md is stale: gone {:?}, new {:?}; run `cargo xtask fidelity`",
        recorded.difference(&seen).collect::<Vec<_>>(),
        seen.difference(&recorded).collect::<Vec<_>>()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Program; 5] = [
        Program::Simulator,
        Program::SimulatorNode,
        Program::Wine,
        Program::InProcess,
        Program::InProcessNode,
    ];

    #[test]
    fn the_windows_record_is_read_whole() {
        let lines = include_str!("../records/windows.txt").lines().count();
        let record = Program::Windows.record();
        assert_eq!(record.text().lines().count(), lines);
    }

    #[test]
    fn a_record_names_operations_that_there_are() {
        for program in ALL {
            let record = program.record();
            assert_eq!(record, Record::parse(&record.text()), "{}", program.name());
            assert!(!record.done.is_empty(), "{}", program.name());
        }
    }

    #[test]
    fn a_program_that_executes_less_than_its_record_is_told() {
        for program in ALL {
            assert_eq!(compare(program, &program.record()), Ok(()));
            let mut less = program.record();
            let gone = less.done.pop_first();
            let refused = compare(program, &less).expect_err("less");
            assert!(refused.contains(&gone.expect("one").name), "{refused}");
        }
    }
}
