//! `wincsi node drain` and `wincsi node deregister`: how a driver ends without taking a call or its registration with it.
//!
//! SIGTERM gives a HostProcess container five seconds, whatever the grace period; only `preStop` has that time
//! (microsoft/hcsshim, `internal/jobcontainers`). So `drain` is for `preStop`. It reaches the running driver by an RPC of
//! our own on the socket of CSI, whose folder is closed to all but administrators: a signal, an event or a file would be
//! another object to protect, and could not return what was left.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use prost::{DecodeError, Message as _};
use transport::{CallError, Channel, ChannelOptions, Endpoint, Owner};
use wire::Rpc;
use wire::lifecycle::v1::lifecycle::Drain;
use wire::lifecycle::v1::{DrainRequest, DrainResponse, RunningCall};
use wire::pluginregistration::v1::InfoRequest;
use wire::pluginregistration::v1::registration::GetInfo;

use crate::admission::Admission;
use crate::flags::Config;
use crate::kubelet::Router;

/// The longest wait: the server's own limit of a call is ten minutes.
const LONGEST: Duration = Duration::from_secs(9 * 60);

/// How much longer than the wait the answer may take.
const ANSWER_OF_DRAIN: Duration = Duration::from_secs(5);

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
        let describe = |call: &RunningCall| format!("{} for {} s", call.method, call.seconds);
        let left = Vec::from_iter(self.left.iter().map(describe)).join(", ");
        let (count, wait) = (self.left.len(), self.wait.as_secs());
        write!(f, "not drained: {count} calls run after {wait} s: {left}")
    }
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
    let endpoint = config.csi_endpoint();
    // The driver runs in this container or as this user, which need be no administrator of the node.
    let owner = Owner::AdministratorsOrOwnUser;
    let answer = call::<Drain>(&endpoint, owner, &request, wait + ANSWER_OF_DRAIN)?;
    let response = answer.map_err(|error| CallError::Broken {
        endpoint,
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
        let running = admission.drain(wait);
        tracing::info!("drained: {} calls run", running.len());
        Ok(DrainResponse { running })
    });
}

/// How long the server of the socket may take to report its name.
const ANSWER_OF_REGISTRATION: Duration = Duration::from_secs(5);

/// The registration socket was left: another driver, or something else, answers there; it is no socket, or another
/// account's; or the system refuses.
#[derive(Debug, thiserror::Error)]
#[error("{at} was left: {reason}")]
pub struct DeregisterError {
    at: Endpoint,
    reason: String,
}

/// Removes the registration socket of this driver, and says what became of it. The driver may run.
pub fn deregister(config: &Config) -> Result<String, DeregisterError> {
    let at = config.registry_endpoint();
    let removed = match foreign(&at, &config.driver_name) {
        Some(reason) => Err(reason),
        None => at.remove_socket().map_err(|error| error.to_string()),
    };
    match removed {
        Ok(true) => Ok(format!(
            "removed {at}: kubelet removes the driver from CSINode"
        )),
        Ok(false) => Ok(format!("there is no {at}: nothing to do")),
        Err(reason) => Err(DeregisterError { at, reason }),
    }
}

/// Who serves the socket, unless it is this driver or nobody.
fn foreign(at: &Endpoint, driver_name: &str) -> Option<String> {
    let owner = Owner::Administrators;
    match call::<GetInfo>(at, owner, &InfoRequest {}, ANSWER_OF_REGISTRATION) {
        Ok(Ok(info)) if info.name == driver_name => None,
        Ok(Ok(info)) => Some(format!("{} is registered there", info.name)),
        Ok(Err(error)) => Some(error.to_string()),
        Err(CallError::Connect { .. }) => None,
        Err(error) => Some(error.to_string()),
    }
}

/// Calls a driver of this node.
pub(crate) fn call<R: Rpc>(
    at: &Endpoint,
    owner: Owner,
    request: &R::Request,
    wait: Duration,
) -> Result<Result<R::Response, DecodeError>, CallError> {
    let mut options = ChannelOptions::default();
    options.owner = match at {
        // The system reports no owner of a tcp port, which is for tests.
        Endpoint::Tcp(_) => Owner::Any,
        _ => owner,
    };
    let channel = Channel::connect(at.clone(), options)?;
    let deadline = Instant::now() + wait;
    let answer = channel.call(R::PATH, &request.encode_to_vec(), deadline)?;
    Ok(R::Response::decode(answer.as_slice()))
}
