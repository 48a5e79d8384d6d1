//! The executed lines, read from the output of `llvm-cov export --format=lcov`.

use std::collections::BTreeMap;
use std::path::Path;
use std::{fmt, fs};

use anyhow::{Context, Result};

/// The executable lines of each file, by its path below the sources.
#[derive(Debug, Default)]
pub(super) struct Lines(BTreeMap<String, Count>);

#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
struct Count {
    executed: usize,
    all: usize,
}

impl Lines {
    /// Reads those of the files below `sources`. Tests do not count as code to be covered.
    pub(super) fn read(export: &str, sources: &Path) -> Result<Self> {
        Self::of(export, sources, |path| {
            let text = fs::read_to_string(path);
            text.with_context(|| format!("read {}", path.display()))
        })
    }

    fn of(export: &str, sources: &Path, text: impl Fn(&Path) -> Result<String>) -> Result<Self> {
        let mut lines = Self::default();
        for file in export.split("end_of_record") {
            let path = file.lines().find_map(|line| line.strip_prefix("SF:"));
            let Some(path) = path.map(Path::new) else {
                continue;
            };
            let Ok(name) = path.strip_prefix(sources) else {
                continue;
            };
            if name.ends_with("tests.rs") || name.ends_with("wine_tests.rs") {
                continue;
            }
            let count = Count::of(file, before_tests(&text(path)?))?;
            lines.0.insert(name.display().to_string(), count);
        }
        anyhow::ensure!(lines.all() > 0, "no line of {}", sources.display());
        Ok(lines)
    }

    fn executed(&self) -> usize {
        self.0.values().map(|count| count.executed).sum()
    }

    fn all(&self) -> usize {
        self.0.values().map(|count| count.all).sum()
    }
}

/// One line for each file: its path, how many lines were executed, how many there are; then the sums.
impl fmt::Display for Lines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, Count { executed, all }) in &self.0 {
            writeln!(f, "{name}: {executed} {all}")?;
        }
        writeln!(f, "coverage: {} of {} lines", self.executed(), self.all())
    }
}

impl Count {
    /// Of a file's record, the lines up to this one.
    fn of(record: &str, last: usize) -> Result<Self> {
        let mut count = Self::default();
        for line in record.lines().filter_map(|line| line.strip_prefix("DA:")) {
            let (number, times) = line.split_once(',').context("DA:line,times")?;
            let (number, times): (usize, u64) = (number.parse()?, times.parse()?);
            if number <= last {
                count.all += 1;
                count.executed += usize::from(times > 0);
            }
        }
        Ok(count)
    }
}

/// The number of lines before a file's tests, as these are last.
fn before_tests(text: &str) -> usize {
    let code = text.lines().take_while(|line| *line != "#[cfg(test)]");
    code.count()
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXPORT: &str = "SF:/w/src/a.rs\nDA:1,3\nDA:2,0\nDA:9,7\nend_of_record\n\
                          SF:/w/src/b/c.rs\nDA:1,1\nend_of_record\n\
                          SF:/w/src/b/tests.rs\nDA:1,1\nend_of_record\n\
                          SF:/other/a.rs\nDA:1,1\nend_of_record\n";

    fn read(export: &str) -> Result<Lines> {
        let text = "one\ntwo\n\n#[cfg(test)]\nmod tests {}\n";
        Lines::of(export, Path::new("/w/src"), |_| Ok(text.to_owned()))
    }

    #[test]
    fn lines_of_tests_and_of_other_crates_do_not_count() {
        let lines = read(EXPORT).unwrap();
        let written = "a.rs: 1 2\nb/c.rs: 1 1\ncoverage: 2 of 3 lines\n";
        assert_eq!(lines.to_string(), written);
    }

    #[test]
    fn a_report_without_a_line_is_an_error() {
        assert!(read("").is_err());
        assert!(read("SF:/w/src/a.rs\nDA:one,2\n").is_err());
    }
}
