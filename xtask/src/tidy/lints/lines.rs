//! Rules about single lines of some files.

use super::Lint;
use super::Rule::Lines;
use crate::tidy::sources::{Line, Source};

pub(super) const LINTS: [&Lint; 5] = [
    &CHILD_PROCESS,
    &DISK_NUMBER,
    &MACHINE_PATH,
    &SEAM,
    &WAITING_TEST,
];

const CHILD_PROCESS: Lint = Lint {
    name: "shipped code starts no child process",
    rule: Lines {
        of: |source| is_code_in(source, "crates/") && !source.is_for_tests(),
        breaks: |line| {
            let code = line.code().to_lowercase();
            !line.in_tests && PROGRAMS.iter().any(|trace| code.contains(trace))
        },
    },
};

/// Names of programs as they would be started, not as prose mentions them.
const PROGRAMS: [&str; 6] = [
    "process::command",
    "command::new",
    "powershell.exe",
    "\"powershell",
    "cmd.exe",
    "\"wmic",
];

/// After a restart a disk has another number, and another disk its old one.
const DISK_NUMBER: Lint = Lint {
    name: "the driver names no disk by its number",
    rule: Lines {
        of: |source| is_code_in(source, "crates/driver/src/"),
        breaks: |line| line.has_one_of(&["DiskNumber", ".number()", "disk_number"]),
    },
};

/// Nothing depends on its author's machine.
const MACHINE_PATH: Lint = Lint {
    name: "no path of one machine",
    rule: Lines {
        of: |source| !source.path.ends_with(".lock"),
        breaks: |line| names_a_machine(line.text),
    },
};

fn names_a_machine(line: &str) -> bool {
    let tops = ["farm", "home", "root", "work"].map(|top| format!("/{top}/"));
    let mut places = tops.iter().flat_map(|top| line.match_indices(top));
    let begins = |before: &str| {
        !before.ends_with(|c: char| c.is_ascii_alphanumeric() || "_-./}".contains(c))
    };
    places.any(|(at, _)| begins(&line[..at]))
}

/// I/O and clocks of the standard library.
const SEAM: Lint = Lint {
    name: "node reaches the system only through `os`",
    rule: Lines {
        of: |source| is_code_in(source, "crates/node/src/"),
        breaks: |line| !line.in_tests && line.has_one_of(&SYSTEM),
    },
};

const SYSTEM: [&str; 6] = [
    "std::env",
    "std::fs",
    "std::io",
    "Instant::now",
    "SystemTime",
    "TcpStream",
];

/// A test that sleeps to be on time fails on a slow machine and wastes a fast one.
const WAITING_TEST: Lint = Lint {
    name: "no test sleeps to synchronise",
    rule: Lines {
        of: |source| source.is_rust() || source.path.ends_with(".go"),
        breaks: |line| line.in_tests && sleeps(&line.code().to_lowercase()),
    },
};

fn sleeps(code: &str) -> bool {
    let modules = ["thread::", "time::", "time."];
    modules
        .iter()
        .any(|module| code.contains(&format!("{module}{SLEEP}")))
}

/// In two halves, so this file does not find itself.
const SLEEP: &str = concat!("sle", "ep(");

fn is_code_in(source: &Source, folder: &str) -> bool {
    source.is_rust() && source.path.starts_with(folder)
}

impl Line<'_> {
    fn has_one_of(self, words: &[&str]) -> bool {
        words.iter().any(|word| self.code().contains(word))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::lints::{CLEAN, findings};

    #[test]
    fn only_shipped_code_starts_no_program() {
        let text = "// Command::new in words, as PowerShell\nlet c = Command::new(x);\n#[cfg(test)]\nCommand::new";
        assert_eq!(findings(&CHILD_PROCESS, "crates/a/src/lib.rs", text), [2]);
        assert_eq!(
            findings(&CHILD_PROCESS, "crates/a/tests/it.rs", text),
            CLEAN
        );
        assert_eq!(findings(&CHILD_PROCESS, "xtask/src/main.rs", text), CLEAN);
    }

    #[test]
    fn the_driver_alone_names_no_disk_by_number() {
        let text = "// the number() of a disk\nlet disk = found.number();\n";
        assert_eq!(
            findings(&DISK_NUMBER, "crates/driver/src/lib.rs", text),
            [2]
        );
        assert_eq!(
            findings(&DISK_NUMBER, "crates/client/src/lib.rs", text),
            CLEAN
        );
    }

    #[test]
    fn a_path_from_the_top_is_told_from_a_part_of_one() {
        let top = format!("/{}/", "work");
        assert!(names_a_machine(&format!("see {top}x")));
        assert!(names_a_machine(&format!("\"{top}x\"")));
        assert!(!names_a_machine(&format!("https://example.org{top}x")));
        assert!(!names_a_machine("homework/x"));
    }

    #[test]
    fn io_in_node_is_found_in_shipped_code_only() {
        let text = "// std::fs in words\nuse std::fs;\n#[cfg(test)]\nuse std::fs;\n";
        assert_eq!(findings(&SEAM, "crates/node/src/x.rs", text), [2]);
        assert_eq!(findings(&SEAM, "crates/os-sim/src/x.rs", text), CLEAN);
    }

    #[test]
    fn only_tests_do_not_sleep() {
        let text = format!("thread::{SLEEP}x)\n#[cfg(test)]\nthread::{SLEEP}x)\n");
        assert_eq!(findings(&WAITING_TEST, "crates/a/src/lib.rs", &text), [3]);
        assert_eq!(
            findings(&WAITING_TEST, "crates/a/tests/it.rs", &text),
            [1, 3]
        );
    }
}
