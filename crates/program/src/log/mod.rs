//! The log: klog's text form, so readers of csi-proxy's logs read ours, or JSON lines.
//!
//! klog's flags decide where the records go. Files are rotated by size. An unwritable file, or an unread standard
//! error, loses records (these are counted), and never ends the process.

mod filter;
mod limit;
mod line;
mod output;
mod standard_error;

use std::path::PathBuf;
use std::{env, io};

use tracing::callsite::Identifier;
use tracing::{Event, Metadata, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt as _};

use self::filter::{Filter, is_ours};
use self::line::Lines;
use self::output::Output;

pub use self::filter::{Module, ModuleError};
pub use self::limit::Limit;
pub use self::line::Format;
pub use self::output::lost;
pub use self::standard_error::{flush, say};

/// Starts logging like this.
///
/// # Errors
/// A log file cannot be opened.
pub fn start(options: &Options) -> io::Result<()> {
    let subscriber = tracing_subscriber::registry().with(Log::open(options)?);
    // A second start in one process keeps the first log; only tests can notice.
    let _ = tracing::subscriber::set_global_default(subscriber);
    Ok(())
}

/// Where the log goes and how it looks: klog's flags, and ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// The header has the source file's folder.
    pub add_dir_header: bool,
    /// The least severity of records that `also_to_stderr` writes to standard error.
    pub also_threshold: Severity,
    /// Files do not replace standard error.
    pub also_to_stderr: bool,
    /// How many full files are kept beside the current one.
    pub backups: u32,
    /// The one file of the log; goes before `folder`.
    pub file: Option<PathBuf>,
    /// The folder of the files, one for each severity.
    pub folder: Option<PathBuf>,
    /// The form of a line.
    pub format: Format,
    /// `threshold` means nothing while the log goes to standard error alone.
    pub legacy_threshold: bool,
    /// The size at which a file is rotated; 0 is never.
    pub max_megabytes: u64,
    /// Verbosity by source file or module.
    pub modules: Vec<Module>,
    /// A record goes to the file of its own severity alone.
    pub one_output: bool,
    /// Records have no header.
    pub skip_headers: bool,
    /// Files have no header.
    pub skip_log_headers: bool,
    /// The least severity of records on standard error beside the files.
    pub threshold: Severity,
    /// Standard error instead of files.
    pub to_stderr: bool,
    /// How talkative the log is, as klog counts.
    pub verbosity: i32,
}

impl Options {
    /// Where its files are, if there are any.
    pub fn files(&self) -> Option<PathBuf> {
        match (self.to_stderr, &self.file) {
            (true, _) => None,
            (false, Some(file)) => Some(file.clone()),
            (false, None) => Some(self.folder_of_files()),
        }
    }

    /// As in klog, the folder for temporary files if none is named.
    fn folder_of_files(&self) -> PathBuf {
        self.folder.clone().unwrap_or_else(env::temp_dir)
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            add_dir_header: false,
            also_threshold: Severity::Info,
            also_to_stderr: false,
            backups: 1,
            file: None,
            folder: None,
            format: Format::Text,
            legacy_threshold: true,
            max_megabytes: 1800,
            modules: Vec::new(),
            one_output: false,
            skip_headers: false,
            skip_log_headers: false,
            threshold: Severity::Error,
            to_stderr: true,
            verbosity: 0,
        }
    }
}

impl Options {
    /// Whether a named file or folder gets nothing, because the log goes to standard error. klog does not report this.
    #[must_use]
    pub fn names_files_in_vain(&self) -> bool {
        self.to_stderr && (self.file.is_some() || self.folder.is_some())
    }
}

/// How grave a record is, as klog counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs, reason = "klog's own names")]
pub enum Severity {
    Info,
    Warning,
    Error,
    /// No record is: a threshold above all records.
    Fatal,
}

impl Severity {
    /// The severity of klog's name, in any case.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Self> {
        let all = [Self::Info, Self::Warning, Self::Error, Self::Fatal];
        all.into_iter()
            .find(|severity| severity.name().eq_ignore_ascii_case(name))
    }

    /// The severity of klog's number; the nearest one for others.
    #[must_use]
    pub fn by_number(number: i32) -> Self {
        match number {
            ..=0 => Self::Info,
            1 => Self::Warning,
            2 => Self::Error,
            3.. => Self::Fatal,
        }
    }

    /// klog's name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Info => "INFO",
            Self::Warning => "WARNING",
            Self::Error => "ERROR",
            Self::Fatal => "FATAL",
        }
    }

    fn of(metadata: &Metadata<'_>) -> Self {
        match *metadata.level() {
            tracing::Level::ERROR => Self::Error,
            tracing::Level::WARN => Self::Warning,
            _ => Self::Info,
        }
    }
}

/// The layer for writing events as lines.
pub struct Log {
    filter: Filter,
    /// For the libraries' lines.
    limit: Limit<Identifier>,
    lines: Lines,
    output: Output,
}

impl Log {
    pub fn open(options: &Options) -> io::Result<Self> {
        Ok(Self {
            filter: Filter::new(options),
            limit: Limit::default(),
            lines: Lines::new(options),
            output: Output::open(options)?,
        })
    }
}

impl<S: Subscriber> Layer<S> for Log {
    /// Depends only on the place in the source, so it is called once for each.
    fn enabled(&self, metadata: &Metadata<'_>, _context: Context<'_, S>) -> bool {
        self.filter.admits(metadata)
    }

    fn on_event(&self, event: &Event<'_>, _context: Context<'_, S>) {
        let metadata = event.metadata();
        let held_back = match is_ours(metadata) {
            true => Some(0),
            false => self.limit.pass(metadata.callsite()),
        };
        if let Some(held_back) = held_back {
            let line = self.lines.render(event, held_back);
            self.output.write(Severity::of(metadata), line.as_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tracing_subscriber::layer::SubscriberExt as _;

    use super::{Format, Log, Options, Severity};

    fn logged(options: &Options, write: impl FnOnce()) {
        let log = Log::open(options).expect("the files can be made");
        tracing::subscriber::with_default(tracing_subscriber::registry().with(log), write);
    }

    fn to_file(change: impl FnOnce(&mut Options), write: impl FnOnce()) -> String {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("log");
        let mut options = Options {
            file: Some(path.clone()),
            to_stderr: false,
            ..Options::default()
        };
        change(&mut options);
        logged(&options, write);
        fs::read_to_string(path).unwrap_or_default()
    }

    #[test]
    fn a_file_begins_with_klogs_header_and_holds_klogs_lines() {
        let text = to_file(|_| {}, || tracing::warn!(disk = 3, "is odd"));
        let lines: Vec<_> = text.lines().collect();
        assert!(lines[0].starts_with("Log file created at: 2"), "{text}");
        assert!(lines[1].starts_with("Running on machine: "), "{text}");
        assert!(
            lines[3].starts_with("Log line format: [IWEF]mmdd"),
            "{text}"
        );
        assert!(lines[4].starts_with('W'), "{text}");
        assert!(lines[4].contains(" mod.rs:"), "{text}");
        assert!(lines[4].ends_with("] is odd disk=3"), "{text}");
        assert_eq!(lines.len(), 5);
    }

    #[test]
    fn headers_are_left_out_when_asked() {
        let text = to_file(
            |options| {
                options.skip_headers = true;
                options.skip_log_headers = true;
            },
            || tracing::info!("bare"),
        );
        assert_eq!(text, "bare\n");
    }

    #[test]
    fn the_folder_is_added_when_asked() {
        let text = to_file(
            |options| options.add_dir_header = true,
            || tracing::info!("x"),
        );
        assert!(text.contains(" log/mod.rs:"), "{text}");
    }

    #[test]
    fn verbosity_admits_requests_at_two_and_details_at_five() {
        let write = || {
            tracing::info!("start");
            tracing::debug!("request");
            tracing::trace!("detail");
        };
        let heard = |level| {
            let text = to_file(|options| options.verbosity = level, write);
            ["start", "request", "detail"].map(|word| text.contains(word))
        };
        assert_eq!(heard(-1), [true, false, false]);
        assert_eq!(heard(1), [true, false, false]);
        assert_eq!(heard(2), [true, true, false]);
        assert_eq!(heard(5), [true, true, true]);
    }

    /// Guards: P33
    #[test]
    fn a_librarys_flood_of_warnings_is_one_line_and_ours_are_each_written() {
        let text = to_file(
            |options| options.verbosity = 10,
            || {
                for _ in 0..1_000 {
                    tracing::warn!(target: "h2::proto::streams", "flood");
                }
                for _ in 0..3 {
                    tracing::warn!("ours");
                }
            },
        );
        let lines = |word| text.lines().filter(|line| line.ends_with(word)).count();
        assert_eq!((lines("] flood"), lines("] ours")), (1, 3), "{text}");
    }

    #[test]
    fn a_file_that_is_named_beside_standard_error_is_not_made_as_in_klog() {
        let folder = tempfile::tempdir().expect("a folder");
        let options = Options {
            file: Some(folder.path().join("log")),
            folder: Some(folder.path().join("logs")),
            ..Options::default()
        };
        assert!(options.names_files_in_vain());
        logged(&options, || tracing::info!("x"));
        let made = fs::read_dir(folder.path()).expect("the folder").count();
        assert_eq!(made, 0);
    }

    #[test]
    fn json_lines_are_objects_whatever_clients_send() {
        let text = to_file(
            |options| options.format = Format::Json,
            || tracing::error!(path = "a\"}\n{\"x\":1", client = ?Some(7), "failed: {}", "a\nb\u{2028}"),
        );
        assert_eq!(text.lines().count(), 1, "{text}");
        let line: serde_json::Value = serde_json::from_str(&text).expect("an object");
        assert_eq!(line["severity"], "ERROR");
        assert_eq!(line["fields"]["client"], "Some(7)");
        assert_eq!(line["fields"]["path"], r#"a"}\n{"x":1"#);
        assert_eq!(line["message"], r"failed: a\nb\u{2028}");
        assert_eq!(line["pid"], std::process::id());
        assert!(line["caller"].as_str().expect("text").contains("mod.rs:"));
    }

    #[test]
    fn a_folder_gets_a_file_for_each_severity() {
        let folder = tempfile::tempdir().expect("a folder");
        let options = Options {
            folder: Some(folder.path().to_owned()),
            threshold: Severity::Fatal,
            to_stderr: false,
            ..Options::default()
        };
        logged(&options, || {
            tracing::info!("one");
            tracing::error!("two");
        });
        let files: Vec<_> = fs::read_dir(folder.path())
            .expect("the folder")
            .map(|entry| entry.expect("an entry").path())
            .collect();
        let of = |severity: &str| {
            let infix = format!(".log.{severity}.");
            let mut files = files
                .iter()
                .filter(|path| path.to_string_lossy().contains(&infix));
            let file = files.next().map(fs::read_to_string).transpose();
            assert_eq!(files.next(), None, "one file for each severity");
            file.expect("a text file").unwrap_or_default()
        };
        assert!(of("INFO").contains("] one") && of("INFO").contains("] two"));
        assert!(of("WARNING").contains("] two") && !of("WARNING").contains("] one"));
        assert!(of("ERROR").contains("] two"));
    }
}
