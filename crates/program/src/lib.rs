//! What every program of wincsi has beside what it serves: a log, files that are rotated, metrics, pages over HTTP.
//!
//! `csi-proxy` and the CSI driver are framed by it alike, so that an operator who knows one knows the other.

pub mod flags;
pub mod http;
pub mod log;
pub mod metrics;
pub mod retry;
pub mod rotate;
pub mod run;
pub mod text;
