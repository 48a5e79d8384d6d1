use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use prost::Message as _;
use transport::CallError;
use wire::Rpc as _;
use wire::lifecycle::v1::lifecycle::Drain;
use wire::lifecycle::v1::{DrainRequest, DrainResponse, RunningCall};

use crate::admission::Admission;
use crate::flags::Config;
use crate::kubelet::Router;

/// The longest wait: the server's own limit of a call is ten minutes.
const LONGEST: Duration = Duration::from_secs(9 * 60);

/// How much longer than the wait the answer may take.
const ANSWER: Duration = Duration::from_secs(5);

/// What a drain left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drained {
    left: Vec<RunningCall>,
    wait: Duration,
}

impl Drained {
    pub fn is_complete(&self) -> bool {
        self.left.is_empty()
    }
}

impl fmt::Display for Drained {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_complete() {
            return f.write_str("drained: no call runs, and no new one is admitted");
        }
        let left: Vec<_> = self.left.iter().map(describe).collect();
        let (count, wait) = (self.left.len(), self.wait.as_secs());
        let left = left.join(", ");
        write!(f, "not drained: {count} calls run after {wait} s: {left}")
    }
}

fn describe(call: &RunningCall) -> String {
    format!("{} for {} s", call.method, call.seconds)
}

/// Has the driver that serves CSI here admit no more calls, and waits for those that run.
///
/// # Errors
/// No driver answers there.
pub fn drain(config: &Config) -> Result<Drained, CallError> {
    let wait = config.pre_stop_timeout.min(LONGEST);
    let request = DrainRequest {
        wait_ms: u32::try_from(wait.as_millis()).unwrap_or(u32::MAX),
    };
    let channel = super::channel(config.csi_endpoint())?;
    let deadline = Instant::now() + wait + ANSWER;
    let answer = channel.call(Drain::PATH, &request.encode_to_vec(), deadline)?;
    let response = DrainResponse::decode(answer.as_slice()).map_err(|error| CallError::Broken {
        endpoint: config.csi_endpoint(),
        reason: error.to_string(),
    })?;
    let left = response.running;
    Ok(Drained { left, wait })
}

/// Answers the RPC behind [`drain`].
pub fn serve(admission: &Arc<Admission>, router: &mut Router) {
    let admission = Arc::clone(admission);
    router.on::<Drain>(move |request| {
        tracing::info!("draining: no new call is admitted");
        let wait = Duration::from_millis(request.wait_ms.into()).min(LONGEST);
        let left = admission.drain(wait);
        tracing::info!("drained: {} calls run", left.len());
        let running = left.iter().map(|call| RunningCall {
            method: call.method.to_owned(),
            seconds: u32::try_from(call.since.elapsed().as_secs()).unwrap_or(u32::MAX),
        });
        Ok(DrainResponse {
            running: running.collect(),
        })
    });
}
