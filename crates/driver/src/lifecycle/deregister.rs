use std::time::{Duration, Instant};
use std::{fmt, io};

use prost::Message as _;
use transport::{CallError, Endpoint};
use wire::Rpc as _;
use wire::pluginregistration::v1::registration::GetInfo;
use wire::pluginregistration::v1::{InfoRequest, PluginInfo};

use crate::flags::Config;

/// How long the server of the socket may take to report its name.
const ANSWER: Duration = Duration::from_secs(5);

/// What became of the registration socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Deregistered {
    /// It was removed.
    Removed(Endpoint),
    /// There was none.
    Absent(Endpoint),
}

impl fmt::Display for Deregistered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Removed(at) => write!(f, "removed {at}: kubelet removes the driver from CSINode"),
            Self::Absent(at) => write!(f, "there is no {at}: nothing to do"),
        }
    }
}

/// Why the registration socket was left.
#[derive(Debug, thiserror::Error)]
pub enum DeregisterError {
    /// Another driver, or something else, answers there.
    #[error("{at} was left: {reason}")]
    Foreign { at: Endpoint, reason: String },
    /// It is no socket, another account's, or the system refuses.
    #[error("{at} was left: {source}")]
    Remove { at: Endpoint, source: io::Error },
}

/// Removes the registration socket of this driver. The driver may run.
///
/// # Errors
/// What is there is no socket of this driver, or it cannot be removed.
pub fn deregister(config: &Config) -> Result<Deregistered, DeregisterError> {
    let at = config.registry_endpoint();
    if let Some(reason) = foreign(&at, &config.driver_name) {
        return Err(DeregisterError::Foreign { at, reason });
    }
    match at.remove_socket() {
        Ok(true) => Ok(Deregistered::Removed(at)),
        Ok(false) => Ok(Deregistered::Absent(at)),
        Err(source) => Err(DeregisterError::Remove { at, source }),
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
