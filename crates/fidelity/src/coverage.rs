//! The lines of `os-windows`, from the record of `cargo xtask coverage`.

use std::collections::BTreeMap;
use std::fmt::Write as _;

const RECORD: &str = include_str!("../records/coverage.txt");

/// Executable lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Count {
    executed: usize,
    all: usize,
}

/// A measurement, and its date.
#[derive(Debug, Default, PartialEq, Eq)]
struct Coverage<'a> {
    date: &'a str,
    /// A module is a file of the crate's root, or a folder.
    by_module: BTreeMap<&'a str, Count>,
}

/// The page's paragraph.
pub(crate) fn summary() -> String {
    Coverage::parse(RECORD).summary()
}

/// The lines of each module.
pub(crate) fn modules() -> String {
    Coverage::parse(RECORD).modules()
}

impl<'a> Coverage<'a> {
    /// Unreadable lines are left out; a test finds them.
    fn parse(record: &'a str) -> Self {
        let mut coverage = Self::default();
        for (name, value) in record.lines().filter_map(|line| line.split_once(": ")) {
            match Count::parse(value) {
                Some(count) => *coverage.by_module.entry(module(name)).or_default() += count,
                None => coverage.date = value,
            }
        }
        coverage
    }

    fn summary(&self) -> String {
        let mut all = Count::default();
        for count in self.by_module.values() {
            all += *count;
        }
        format!(
            "
On {} the tests of `os-windows` and of its test kit executed {all} lines under Wine ({} %), which shows nothing about
Windows. Not counted are lines of tests, of services, and those that other crates' tests execute. `cargo xtask coverage`
measures it.
",
            self.date,
            all.percent()
        )
    }

    fn modules(&self) -> String {
        let mut text = format!(
            "\n# Lines of os-windows executed under Wine, {}\n\n",
            self.date
        );
        for (module, count) in &self.by_module {
            let _ = writeln!(text, "- {module}: {count}");
        }
        text
    }
}

fn module(path: &str) -> &str {
    let folder = path.rsplit_once('/').map(|(folder, _)| folder);
    folder.unwrap_or(path.trim_end_matches(".rs"))
}

impl Count {
    fn parse(value: &str) -> Option<Self> {
        let (executed, all) = value.split_once(' ')?;
        Some(Self {
            executed: executed.parse().ok()?,
            all: all.parse().ok()?,
        })
    }

    fn percent(self) -> usize {
        self.executed * 100 / self.all.max(1)
    }
}

impl std::ops::AddAssign for Count {
    fn add_assign(&mut self, other: Self) {
        self.executed += other.executed;
        self.all += other.all;
    }
}

impl std::fmt::Display for Count {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} of {}", self.executed, self.all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_a_folder_are_counted_together() {
        let record = "date: 2026-01-31\nboot.rs: 1 2\nraw/a.rs: 3 4\nraw/b.rs: 0 6\n";
        let coverage = Coverage::parse(record);
        let (boot, raw) = (
            Count {
                executed: 1,
                all: 2,
            },
            Count {
                executed: 3,
                all: 10,
            },
        );
        let by_module = BTreeMap::from([("boot", boot), ("raw", raw)]);
        let date = "2026-01-31";
        assert_eq!(coverage, Coverage { date, by_module });
        let summary = coverage.summary();
        assert!(summary.contains("On 2026-01-31 "), "{summary}");
        assert!(
            summary.contains("executed 4 of 12 lines under"),
            "{summary}"
        );
        assert!(summary.contains("(33 %)"), "{summary}");
        assert!(coverage.modules().contains("- raw: 3 of 10\n"));
    }

    #[test]
    fn each_line_of_the_record_reads() {
        let lines = RECORD.lines();
        let (date, files): (Vec<_>, Vec<_>) = lines.partition(|line| line.starts_with("date: "));
        assert_eq!(date.len(), 1);
        assert!(!files.is_empty());
        for file in files {
            let (_, value) = file.split_once(": ").expect("a file and its lines");
            let Count { executed, all } = Count::parse(value).expect("two numbers");
            assert!(executed <= all, "{file}");
        }
    }
}
