//! The log: klog's text form, so that what reads csi-proxy's logs reads ours.

use std::fmt;
use std::fs::OpenOptions;
use std::io;
use std::path::Path;
use std::sync::Mutex;

use time::OffsetDateTime;
use tracing::Event;
use tracing::Level;
use tracing::Subscriber;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::FmtContext;
use tracing_subscriber::fmt::FormatEvent;
use tracing_subscriber::fmt::FormatFields;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::registry::LookupSpan;

use crate::flags::Config;

/// Starts logging as the configuration says.
///
/// # Errors
/// The log file cannot be opened.
pub fn start(config: &Config) -> io::Result<()> {
    match &config.log_file {
        Some(path) => install(config, Mutex::new(open(path)?)),
        None => install(config, io::stderr),
    }
    Ok(())
}

fn open(path: &Path) -> io::Result<std::fs::File> {
    OpenOptions::new().create(true).append(true).open(path)
}

fn install<W>(config: &Config, writer: W)
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(writer)
        .event_format(Klog {
            process: std::process::id(),
        });
    let subscriber = tracing_subscriber::registry()
        .with(lines)
        .with(filter(config.verbosity));
    // A second start in one process keeps the first log, which only tests can notice.
    let _ = tracing::subscriber::set_global_default(subscriber);
}

/// What the libraries below have to say, frame by frame, is nothing for an operator.
fn filter(verbosity: u8) -> Targets {
    Targets::new()
        .with_default(level(verbosity))
        .with_target("h2", LevelFilter::WARN)
}

/// Requests are logged at `-v=2`, details at `-v=5`, as csi-proxy does.
fn level(verbosity: u8) -> LevelFilter {
    match verbosity {
        0 | 1 => LevelFilter::INFO,
        2..=4 => LevelFilter::DEBUG,
        _ => LevelFilter::TRACE,
    }
}

/// The longest text of a line, in bytes.
const LONGEST: usize = 8 << 10;

struct Klog {
    process: u32,
}

impl<S, N> FormatEvent<S, N> for Klog
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let meta = event.metadata();
        header(
            &mut writer,
            *meta.level(),
            OffsetDateTime::now_utc(),
            self.process,
        )?;
        let file = meta
            .file()
            .unwrap_or("?")
            .rsplit(['/', '\\'])
            .next()
            .unwrap_or("?");
        write!(writer, " {file}:{}] ", meta.line().unwrap_or(0))?;
        let mut text = String::new();
        context
            .field_format()
            .format_fields(Writer::new(&mut text), event)?;
        writeln!(writer, "{}", one_line(&text))
    }
}

/// What clients send is in the text: it may neither begin a line of its own nor go on for ever.
fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len().min(LONGEST));
    for character in text.chars() {
        if line.len() >= LONGEST {
            line.push_str("...");
            break;
        }
        match character.is_control() {
            true => line.extend(character.escape_default()),
            false => line.push(character),
        }
    }
    line
}

fn header(
    writer: &mut impl fmt::Write,
    level: Level,
    now: OffsetDateTime,
    process: u32,
) -> fmt::Result {
    let severity = match level {
        Level::ERROR => 'E',
        Level::WARN => 'W',
        _ => 'I',
    };
    let (month, day) = (u8::from(now.month()), now.day());
    let (hour, minute, second) = now.to_hms();
    let micros = now.microsecond();
    write!(
        writer,
        "{severity}{month:02}{day:02} {hour:02}:{minute:02}:{second:02}.{micros:06} {process:>7}"
    )
}

#[cfg(test)]
mod tests {
    use time::OffsetDateTime;
    use tracing::Level;

    use super::header;
    use super::one_line;

    #[test]
    fn a_client_cannot_begin_a_line_of_the_log() {
        let forged = "volume a\nI0101 00:00:00.000000 1 x.rs:1] all is well\r\u{1b}[0m";
        let line = one_line(forged);
        assert!(!line.contains(char::is_control), "{line:?}");
        assert!(line.starts_with(r"volume a\nI0101"), "{line}");
        let long = one_line(&"x".repeat(1 << 20));
        assert!(long.len() < 9000 && long.ends_with("..."));
    }

    #[test]
    fn the_header_is_klogs() {
        let mut text = String::new();
        let then = OffsetDateTime::UNIX_EPOCH + time::Duration::microseconds(1_234_567);
        header(&mut text, Level::WARN, then, 42).expect("a String takes everything");
        assert_eq!(text, "W0101 00:00:01.234567      42");
    }
}
