//! `wincsi collect`: a tar of what a person elsewhere needs of a sick node; and `wincsi doctor -from`, which reads it there.
//!
//! A bundle has the fields that `contents.rs` writes and no others, of types that have no secret. In an anonymous one each
//! name is another, and no text is of the system or of a log: any name may be in it.

mod contents;
mod metrics;
mod names;

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::Path;

use program::escape::one_line;
use serde_json::json;

use self::contents::{Contents, Gathering, REPORT};
use self::names::Names;
use super::command;
use super::report::Report;
use super::subject::Subject;
use crate::flags::Config;

pub use self::names::Naming;

/// The most bytes of a bundle.
const MOST: u64 = 20 << 20;

/// The most of one file of it.
const MOST_OF_FILE: u64 = 4 << 20;

/// No bundle has more files.
const MOST_FILES: usize = 64;

/// A header, and what fills a file's last block.
const BLOCKS: u64 = 1 << 10;

/// Why a file is no bundle. What it has is in the text, and leads no terminal.
#[derive(Debug, thiserror::Error)]
pub enum BundleError {
    #[error("it is not read: {}", one_line(&.0.to_string()))]
    Io(#[from] io::Error),
    #[error("it is no bundle of wincsi collect: it has no {REPORT} of at most 4 MiB")]
    NoReport,
    #[error("its {REPORT} is malformed: {}", one_line(&.0.to_string()))]
    Malformed(#[from] serde_json::Error),
}

/// Looks at the node and writes the bundle. It takes a minute at most, but for what waits for a reader.
///
/// # Errors
/// It cannot be written.
pub fn collect(config: &Config, naming: Naming, to: impl Write) -> io::Result<()> {
    let contents = command::with_answer(config, |subject, report, metrics| {
        let metrics = metrics.as_deref().map_err(Clone::clone);
        gathered(subject, report, metrics, config, naming)
    });
    write(contents, to)
}

/// The bundle of a look, with names and without.
pub(super) fn both(
    subject: &Subject<'_>,
    report: &Report,
    metrics: &str,
    config: &Config,
) -> [io::Result<Vec<u8>>; 2] {
    [Naming::Own, Naming::Anonymous].map(|naming| {
        let contents = gathered(subject, report, Ok(metrics), config, naming);
        let mut bundle = Vec::new();
        write(contents, &mut bundle).map(|()| bundle)
    })
}

fn gathered(
    subject: &Subject<'_>,
    report: &Report,
    metrics: Result<&str, String>,
    config: &Config,
    naming: Naming,
) -> Contents {
    let gathering = Gathering {
        subject,
        report,
        metrics,
        config,
        names: Names::new(naming),
    };
    gathering.contents()
}

/// The files, as far as there is room, and the list of what is missing.
fn write(contents: Contents, to: impl Write) -> io::Result<()> {
    let Contents {
        present,
        mut missing,
    } = contents;
    let mut bundle = tar::Builder::new(to);
    let mut room = MOST - MOST_OF_FILE;
    for (name, content) in present {
        let size = u64::try_from(content.len()).unwrap_or(u64::MAX);
        if size <= room.saturating_sub(BLOCKS).min(MOST_OF_FILE) {
            append(&mut bundle, name, &content)?;
            room -= size + BLOCKS;
        } else {
            missing.insert(
                name,
                format!("it has {size} bytes, for which there is no room"),
            );
        }
    }
    append(&mut bundle, "missing.json", &json!(missing).to_string())?;
    bundle.into_inner()?.flush()
}

fn append(bundle: &mut tar::Builder<impl Write>, name: &str, content: &str) -> io::Result<()> {
    let mut header = tar::Header::new_ustar();
    header.set_size(u64::try_from(content.len()).unwrap_or(u64::MAX));
    header.set_mode(0o644);
    bundle.append_data(&mut header, name, content.as_bytes())
}

/// The findings in a file.
///
/// # Errors
/// It is no bundle.
pub fn read(file: &Path) -> Result<Report, BundleError> {
    // To open a pipe waits for who writes into it.
    if !fs::metadata(file)?.is_file() {
        return Err(io::Error::other("it is no file").into());
    }
    report_in(File::open(file)?)
}

/// The findings in a bundle. It may be anyone's: it is read as far as a bundle goes, and no path in it is opened.
///
/// # Errors
/// It is none.
pub fn report_in(bundle: impl Read) -> Result<Report, BundleError> {
    let mut archive = tar::Archive::new(bundle.take(MOST));
    for entry in archive.entries()?.take(MOST_FILES) {
        let entry = entry?;
        let is_report = &*entry.path_bytes() == REPORT.as_bytes();
        if is_report && entry.header().entry_type().is_file() && entry.size() <= MOST_OF_FILE {
            let mut text = String::new();
            entry.take(MOST_OF_FILE).read_to_string(&mut text)?;
            return Ok(Report::read(&text)?);
        }
    }
    Err(BundleError::NoReport)
}

#[cfg(test)]
mod tests;
