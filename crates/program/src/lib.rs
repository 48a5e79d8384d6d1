//! Shared by every program of wincsi: a log, rotated files, metrics, pages over HTTP.
//!
//! `csi-proxy` and the CSI driver use it alike, so an operator who knows one knows the other.
//!
//! - [`flags`]: one table of a program's flags gives the parser, `-help` and the page in docs, with klog's flags and Go's
//!   rules.
//! - [`log`]: klog's lines or JSON. [`rotate`]: the file below it and below the audit log.
//! - [`events`]: the event log.
//! - [`hidden`]: names that no text shows.
//! - [`http`]: pages, over a fixed number of connections with a fixed life.
//! - [`metrics`]: the figures of any server of calls.
//! - [`retry`]: a thread that retries an address or endpoint taken by another process.
//! - [`run`]: a program's life, one `serve` for all starters and enders: a console, signals, the service control
//!   manager (`Surroundings`).
//!
//! Monitoring (log, metrics, health, audit log) can lose lines and counts them. It neither fails a call nor ends the
//! process.

pub mod escape;
pub mod events;
pub mod flags;
pub mod hidden;
pub mod http;
pub mod log;
pub mod metrics;
pub mod retry;
pub mod rotate;
pub mod run;
