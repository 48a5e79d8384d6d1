use std::time::{Duration, Instant};

use prost::Message as _;
use transport::{CallError, Endpoint};
use wire::Rpc as _;
use wire::pluginregistration::v1::registration::GetInfo;
use wire::pluginregistration::v1::{InfoRequest, PluginInfo};

use crate::flags::Config;

/// How long the server of the socket may take to report its name.
const ANSWER: Duration = Duration::from_secs(5);

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
    let info = || {
        let request = InfoRequest {}.encode_to_vec();
        let channel = super::channel(at.clone())?;
        channel.call(GetInfo::PATH, &request, Instant::now() + ANSWER)
    };
    match info() {
        Ok(answer) => match PluginInfo::decode(answer.as_slice()) {
            Ok(info) if info.name == driver_name => None,
            Ok(info) => Some(format!("{} is registered there", info.name)),
            Err(error) => Some(error.to_string()),
        },
        Err(CallError::Connect { .. }) => None,
        Err(error) => Some(error.to_string()),
    }
}
