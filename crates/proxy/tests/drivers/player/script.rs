//! A script's lines, with those that are indented below each.

use std::fmt;
use std::iter::Peekable;

/// The scripts that others use.
const COMMON: [(&str, &str); 2] = [
    (
        "share_mounter",
        include_str!("../scripts/share_mounter.txt"),
    ),
    (
        "democratic_csi",
        include_str!("../scripts/democratic_csi.txt"),
    ),
];

/// A script's text, with the names of its tests: its modes and cases.
#[derive(Clone, Copy)]
pub(crate) struct Source {
    pub(crate) file: &'static str,
    pub(crate) text: &'static str,
    pub(crate) tests: &'static [&'static str],
}

pub(crate) struct Script(pub(crate) Vec<Line>);

/// A routine or case: its first line, with the words after its name.
pub(crate) struct Routine<'s> {
    pub(crate) line: &'s Line,
    pub(crate) parameters: Vec<&'s str>,
}

pub(crate) struct Line {
    file: &'static str,
    number: usize,
    depth: usize,
    pub(crate) words: Vec<String>,
    pub(crate) below: Vec<Self>,
}

/// `gce_pd.txt:12`
impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.txt:{}", self.file, self.number)
    }
}

impl Script {
    pub(crate) fn parse(file: &'static str, text: &str) -> Self {
        let rows = text.lines().zip(1..);
        let rows = rows.filter(|(row, _)| !matches!(row.trim().chars().next(), None | Some('#')));
        let lines = rows.map(|(row, number)| Line {
            file,
            number,
            depth: row.len() - row.trim_start().len(),
            words: words(row),
            below: Vec::new(),
        });
        let mut lines = block(&mut lines.peekable(), 0);
        for (name, text) in COMMON {
            if lines.iter().any(|line| line.words() == ["use", name]) {
                lines.extend(Self::parse(name, text).0);
            }
        }
        Self(lines)
    }

    /// The rest of the line that begins with this word.
    pub(crate) fn head(&self, word: &str) -> &[String] {
        let line = self.0.iter().find(|line| line.words[0] == word);
        &line
            .unwrap_or_else(|| panic!("{}: it has no {word}", self.0[0]))
            .words[1..]
    }

    /// The names of all modes.
    pub(crate) fn modes(&self) -> impl Iterator<Item = &str> {
        let modes = self.0.iter().filter(|line| line.words[0] == "mode");
        modes.map(|line| line.words[1].as_str())
    }

    /// The versions and values of a mode.
    pub(crate) fn mode(&self, name: &str) -> &[String] {
        let mut lines = self.0.iter();
        let line = lines.find(|line| line.words[0] == "mode" && line.words[1] == name);
        &line
            .unwrap_or_else(|| panic!("{}: it has no mode {name}", self.0[0]))
            .words[2..]
    }

    pub(crate) fn routine(&self, name: &str) -> Option<Routine<'_>> {
        self.0.iter().find_map(|line| {
            let heading = line.heading()?;
            let parameters = match heading[..] {
                ["case", word, ..] if word == name => heading[2..].to_vec(),
                [word, ..] if word == name => heading[1..].to_vec(),
                _ => return None,
            };
            Some(Routine { line, parameters })
        })
    }
}

impl Line {
    pub(crate) fn is_of(&self, file: &str) -> bool {
        self.file == file
    }

    pub(crate) fn words(&self) -> Vec<&str> {
        self.words.iter().map(String::as_str).collect()
    }

    /// The words of a routine's or case's first line.
    pub(crate) fn heading(&self) -> Option<Vec<&str>> {
        let mut words = self.words();
        let last = words.pop()?.strip_suffix(':')?;
        words.push(last);
        Some(words)
    }

    /// The names of the routines that this line and those below it play.
    pub(crate) fn plays(&self) -> Vec<&str> {
        let mut played: Vec<_> = self.below.iter().flat_map(Self::plays).collect();
        let pairs = self.words.windows(2).filter(|pair| pair[0] == "do");
        played.extend(pairs.map(|pair| pair[1].as_str()));
        played
    }
}

/// The lines from this depth on. Those below a call go on with it.
fn block(rows: &mut Peekable<impl Iterator<Item = Line>>, depth: usize) -> Vec<Line> {
    let mut lines = Vec::new();
    while let Some(mut line) = rows.next_if(|row| row.depth >= depth) {
        line.below = block(&mut *rows, line.depth + 1);
        if line.words[0] != "if" && line.heading().is_none() {
            let below = std::mem::take(&mut line.below);
            line.words
                .extend(below.into_iter().flat_map(|line| line.words));
        }
        lines.push(line);
    }
    lines
}

/// The words of a line; blanks within quotation marks are part of a word.
fn words(row: &str) -> Vec<String> {
    let mut is_quoted = false;
    let words = row.split(|character| {
        is_quoted ^= character == '"';
        character == ' ' && !is_quoted
    });
    let words = words.filter(|word| !word.is_empty());
    words.map(|word| word.replace('"', "")).collect()
}
