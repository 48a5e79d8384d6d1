use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::{env, fs, io};

use time::OffsetDateTime;

use super::{Format, Options, Severity, standard_error};
use crate::escape;
use crate::rotate::{Limits, RotatingFile};

/// How many records their file, or standard error, did not take since the process began.
#[must_use]
pub fn lost() -> u64 {
    LOST.load(Ordering::Relaxed)
}

static LOST: AtomicU64 = AtomicU64::new(0);

/// Where lines go, by klog's rules.
pub(super) struct Output {
    stderr: Stderr,
    files: Mutex<Files>,
}

impl Output {
    pub(super) fn open(options: &Options) -> io::Result<Self> {
        let files = match options.to_stderr {
            true => Files::None,
            false => Files::open(options)?,
        };
        Ok(Self {
            stderr: Stderr::of(options),
            files: Mutex::new(files),
        })
    }

    /// An unread standard error and an unwritable file are no reason to fail or to wait: each lost record is counted,
    /// and a file's lost record goes to standard error.
    pub(super) fn write(&self, severity: Severity, line: &[u8]) {
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        let is_filed = files.write(severity, line).is_ok();
        let is_to_be_shown = !is_filed || self.stderr.takes(severity);
        let is_shown = !is_to_be_shown || standard_error::write(line).is_ok();
        if !is_filed || !is_shown {
            LOST.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// The least severity of records on standard error.
struct Stderr(Severity);

impl Stderr {
    fn of(options: &Options) -> Self {
        Self(match (options.to_stderr, options.also_to_stderr) {
            (true, _) if options.legacy_threshold => Severity::Info,
            (false, true) => options.threshold.min(options.also_threshold),
            _ => options.threshold,
        })
    }

    fn takes(&self, severity: Severity) -> bool {
        severity >= self.0
    }
}

enum Files {
    None,
    One(Box<RotatingFile>),
    BySeverity(Box<Folder>),
}

impl Files {
    fn open(options: &Options) -> io::Result<Self> {
        if let Some(path) = &options.file {
            let file = open_file(path.clone(), options)?;
            return Ok(Self::One(Box::new(file)));
        }
        let folder = Folder::open(options.folder_of_files(), options.clone())?;
        Ok(Self::BySeverity(Box::new(folder)))
    }

    fn write(&mut self, severity: Severity, line: &[u8]) -> io::Result<()> {
        match self {
            Self::None => Ok(()),
            Self::One(file) => file.write(line),
            Self::BySeverity(folder) => folder.write(severity, line),
        }
    }
}

/// A folder with a file for each severity seen.
struct Folder {
    path: PathBuf,
    options: Options,
    /// `program.host.user.log`, the beginning of every file's name.
    stem: String,
    info: RotatingFile,
    warning: Option<RotatingFile>,
    error: Option<RotatingFile>,
}

impl Folder {
    fn open(path: PathBuf, options: Options) -> io::Result<Self> {
        fs::create_dir_all(&path)?;
        let stem = stem();
        let info = open_file(path.join(file_name(&stem, Severity::Info)), &options)?;
        Ok(Self {
            path,
            options,
            stem,
            info,
            warning: None,
            error: None,
        })
    }

    /// A record also goes to the files of the lesser severities, unless each has one output.
    fn write(&mut self, severity: Severity, line: &[u8]) -> io::Result<()> {
        let every = !self.options.one_output;
        let mut outcome = Ok(());
        if severity >= Severity::Error {
            outcome = self.own(Severity::Error).and_then(|file| file.write(line));
        }
        if severity == Severity::Warning || (every && severity > Severity::Warning) {
            let written = self
                .own(Severity::Warning)
                .and_then(|file| file.write(line));
            outcome = outcome.and(written);
        }
        if severity == Severity::Info || every {
            outcome = outcome.and(self.info.write(line));
        }
        outcome
    }

    fn own(&mut self, severity: Severity) -> io::Result<&mut RotatingFile> {
        let path = self.path.join(file_name(&self.stem, severity));
        let place = match severity {
            Severity::Info => return Ok(&mut self.info),
            Severity::Warning => &mut self.warning,
            Severity::Error | Severity::Fatal => &mut self.error,
        };
        let file = match place.take() {
            Some(file) => file,
            None => open_file(path, &self.options)?,
        };
        Ok(place.insert(file))
    }
}

fn open_file(path: PathBuf, options: &Options) -> io::Result<RotatingFile> {
    let limits = Limits::megabytes(options.max_megabytes, options.backups);
    let header = match options.format {
        Format::Text if !options.skip_log_headers => file_header,
        _ => String::new,
    };
    RotatingFile::open(path, limits, header)
}

/// klog's first lines of each file.
fn file_header() -> String {
    let now = OffsetDateTime::now_utc();
    let (date, (hour, minute, second)) = (now.date(), now.to_hms());
    let (year, month, day) = (date.year(), u8::from(date.month()), date.day());
    format!(
        "Log file created at: {year:04}/{month:02}/{day:02} {hour:02}:{minute:02}:{second:02}\n\
         Running on machine: {}\n\
         Binary: csi-proxy (wincsi) {} for {}/{}\n\
         Log line format: [IWEF]mmdd hh:mm:ss.uuuuuu threadid file:line] msg\n",
        escape::one_line(&host()),
        env!("CARGO_PKG_VERSION"),
        env::consts::OS,
        env::consts::ARCH,
    )
}

/// klog's: `program.host.user.log.SEVERITY.date-time.pid`.
fn file_name(stem: &str, severity: Severity) -> String {
    let now = OffsetDateTime::now_utc();
    let (date, (hour, minute, second)) = (now.date(), now.to_hms());
    let (year, month, day) = (date.year(), u8::from(date.month()), date.day());
    let (severity, process) = (severity.name(), std::process::id());
    format!(
        "{stem}.{severity}.{year:04}{month:02}{day:02}-{hour:02}{minute:02}{second:02}.{process}"
    )
}

fn stem() -> String {
    let user = ["USERNAME", "USER"]
        .iter()
        .find_map(|name| env::var(name).ok());
    let host = host();
    let host = host.split('.').next().unwrap_or_default();
    let user = user.unwrap_or_else(|| String::from("unknownuser"));
    file_safe(&format!("csi-proxy.{host}.{user}.log"))
}

fn host() -> String {
    let named = env::var("COMPUTERNAME").ok();
    named
        .or_else(|| fs::read_to_string(Path::new("/proc/sys/kernel/hostname")).ok())
        .map_or_else(
            || String::from("unknownhost"),
            |name| name.trim().to_owned(),
        )
}

fn file_safe(name: &str) -> String {
    name.replace(
        |character: char| !character.is_ascii_alphanumeric() && !"._-".contains(character),
        "_",
    )
}

#[cfg(test)]
mod tests {
    use super::{Options, Severity, Stderr, file_safe};

    #[test]
    fn standard_error_takes_what_klogs_flags_say() {
        let with = |to_stderr, change: fn(&mut Options)| {
            let mut options = Options {
                to_stderr,
                ..Options::default()
            };
            change(&mut options);
            Stderr::of(&options).0
        };
        assert_eq!(with(true, |_| {}), Severity::Info);
        assert_eq!(
            with(true, |options| options.legacy_threshold = false),
            Severity::Error
        );
        assert_eq!(with(false, |_| {}), Severity::Error);
        assert_eq!(
            with(false, |options| options.also_to_stderr = true),
            Severity::Info
        );
        assert_eq!(
            with(false, |options| {
                options.also_to_stderr = true;
                options.also_threshold = Severity::Warning;
            }),
            Severity::Warning
        );
        assert_eq!(
            with(false, |options| options.threshold = Severity::Fatal),
            Severity::Fatal
        );
    }

    #[test]
    fn a_users_name_cannot_leave_the_folder() {
        assert_eq!(file_safe(r"a.DOMAIN\../user$.log"), "a.DOMAIN_.._user_.log");
    }
}
