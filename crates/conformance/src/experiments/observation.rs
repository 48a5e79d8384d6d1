//! An experiment's observation on one machine, as a line of `windows.txt`.

use std::fmt;
use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::path::Path;

/// The file of observations in the folder of `--record`.
const FILE: &str = "windows.txt";

/// One experiment's observation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Observation {
    /// The assumption's number.
    pub experiment: u8,
    /// Its machine: build of Windows, maker and model.
    pub machine: String,
    /// The verdict on the assumption.
    pub verdict: Verdict,
    /// Windows's answer.
    pub seen: String,
}

/// An observation's verdict on its experiment's assumption.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Windows answered as our code assumes.
    Settled,
    /// Windows answered something else.
    Contradicted,
    /// The machine lacks a part that the experiment needs.
    NotPossible,
}

impl Verdict {
    /// The word in a line.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Settled => "settled",
            Self::Contradicted => "contradicted",
            Self::NotPossible => "not possible here",
        }
    }
}

impl Observation {
    /// Appends its line to the file in this folder: the scripts and other runs write there too.
    ///
    /// # Errors
    /// The file cannot be opened or written.
    pub fn append_to(&self, folder: &Path) -> io::Result<()> {
        let mut options = OpenOptions::new();
        let mut file = options.append(true).create(true).open(folder.join(FILE))?;
        writeln!(file, "{self}")
    }
}

/// `seen: 5 | Windows 10.0.20348, Example Model | settled | SetAttributes returned 0`, on one line.
impl fmt::Display for Observation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (number, word) = (self.experiment, self.verdict.word());
        let [machine, seen] = [&self.machine, &self.seen].map(|text| one_line(text));
        let machine = machine.replace('|', "/");
        write!(f, "seen: {number} | {machine} | {word} | {seen}")
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{FILE, Observation, Verdict};

    #[test]
    fn an_observation_is_a_line_behind_those_before() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join(FILE);
        fs::write(&file, "seen: of a script\n").expect("a file");
        let odd = Observation {
            experiment: 5,
            machine: "a | b".to_owned(),
            verdict: Verdict::Contradicted,
            seen: "two\r\nlines | of it".to_owned(),
        };
        odd.append_to(folder.path()).expect("a line");
        let written = fs::read_to_string(&file).expect("the file");
        let line = "seen: 5 | a / b | contradicted | two lines | of it";
        assert_eq!(written, format!("seen: of a script\n{line}\n"));
    }
}
