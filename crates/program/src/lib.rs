//! What every program of wincsi has beside what it serves: a log, files that are rotated, metrics, pages over HTTP.
//!
//! `csi-proxy` and the CSI driver are framed by it alike, so that an operator who knows one knows the other.
//!
//! - [`flags`]: one table of a program's flags gives the parser, `-help` and the page in docs, with klog's flags and Go's
//!   rules.
//! - [`log`]: klog's lines or JSON. [`rotate`]: the file below it and below the audit log.
//! - [`events`]: the event log.
//! - [`http`]: pages, over a fixed number of connections with a fixed life.
//! - [`metrics`]: the figures that any server of calls has.
//! - [`retry`]: a thread that tries an address or endpoint again that another process has.
//! - [`run`]: a program's life, one `serve` for everything that starts and ends it: a console, signals, the service
//!   control manager (`Surroundings`).
//!
//! What watches the server (log, metrics, health, audit log) can lose lines and counts them. It neither fails a call nor
//! ends the process.

pub mod escape;
pub mod events;
pub mod flags;
pub mod http;
pub mod log;
pub mod metrics;
pub mod retry;
pub mod rotate;
pub mod run;
