//! The audit log: a JSON line for each changing call, run or refused.
//!
//! A line has the time, the process, the operation, its objects, and how it ended. It is written when the call really
//! ends, even if its client got `DeadlineExceeded` before. Objects are the fields of the request known to name objects;
//! everything else, secrets above all, is left out. The operating system has each line before the client has its
//! answer. A lost line is counted, logged, and does not fail the call: a full disk must not keep volumes mounted.

mod object;

use std::cell::RefCell;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use program::escape;
use program::rotate::{Limits, RotatingFile};
use serde::Serialize;
use serde_json::{Map, Value};
use time::OffsetDateTime;

use crate::metrics::Metrics;

pub(crate) use self::object::Shape;

/// The open audit log.
pub(crate) struct Audit {
    file: Mutex<RotatingFile>,
    metrics: Arc<Metrics>,
}

pub(crate) struct Record<'a> {
    pub(crate) began: OffsetDateTime,
    pub(crate) took: Duration,
    /// The client's process, if the system reported it.
    pub(crate) client: Option<u32>,
    pub(crate) group: &'static wire::Group,
    pub(crate) method: &'static str,
    pub(crate) operation: String,
    pub(crate) object: Map<String, Value>,
    /// gRPC's code by name, and the client's text.
    pub(crate) outcome: &'static str,
    pub(crate) text: &'a str,
    /// The operation's effect beyond its request.
    pub(crate) remark: Option<String>,
}

thread_local! {
    /// For the call on this thread.
    static REMARK: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Adds an effect beyond the request to the line of the call on this thread.
pub(crate) fn remark(text: String) {
    REMARK.set(Some(text));
}

/// Takes the remark of the call that this thread ran.
pub(crate) fn take_remark() -> Option<String> {
    REMARK.take()
}

/// A line, in the order of its fields.
#[derive(Serialize)]
struct Line<'a> {
    time: String,
    client_pid: Option<u32>,
    group: &'static str,
    version: String,
    method: &'static str,
    operation: &'a str,
    object: &'a Map<String, Value>,
    outcome: &'static str,
    text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    remark: Option<String>,
    duration_seconds: f64,
}

impl Audit {
    /// Opens the file to append to it.
    ///
    /// # Errors
    /// It cannot be opened.
    pub(crate) fn open(path: PathBuf, limits: Limits, metrics: &Arc<Metrics>) -> io::Result<Self> {
        Ok(Self {
            file: Mutex::new(RotatingFile::open(path, limits, String::new)?),
            metrics: Arc::clone(metrics),
        })
    }

    /// Writes the line of one call.
    pub(crate) fn write(&self, record: &Record<'_>) {
        let written = line(record).and_then(|line| {
            let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
            file.write(line.as_bytes())
        });
        if let Err(error) = written {
            self.metrics.audit_lost.add_one();
            let operation = &record.operation;
            tracing::error!(client = ?record.client, "AUDIT: {operation} is not recorded: {error}");
        }
    }
}

fn line(record: &Record<'_>) -> io::Result<String> {
    let line = Line {
        time: escape::rfc3339(record.began),
        client_pid: record.client,
        group: record.group.name,
        version: record.group.version.to_string(),
        method: record.method,
        operation: &record.operation,
        object: &record.object,
        outcome: record.outcome,
        text: escape::one_line(record.text),
        remark: record.remark.as_deref().map(escape::one_line),
        duration_seconds: record.took.as_secs_f64(),
    };
    Ok(serde_json::to_string(&line)? + "\n")
}
