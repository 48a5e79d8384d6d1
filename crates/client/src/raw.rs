//! Every RPC of every group and version, typed, as the wire has it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use prost::Message;
use transport::{CallError, Channel, ChannelOptions, Endpoint, EndpointError};
use wire::{Group, Rpc};
use zeroize::Zeroizing;

/// A client of one node's csi-proxy that calls single RPCs, for tests and tools. Connects to a group
/// when it is first called, and anew when the server was restarted.
///
/// ```no_run
/// use std::time::Duration;
///
/// let client = wincsi_client::Client::local("csi-proxy");
/// let request = wire::disk::v1::RescanRequest {};
/// client.call::<wire::disk::v1::rpc::Rescan>(&request, Duration::from_secs(30))?;
/// # Ok::<(), wincsi_client::ClientError>(())
/// ```
pub struct Client {
    sockets: PathBuf,
    channels: Mutex<BTreeMap<String, Arc<Channel>>>,
}

impl Client {
    /// A client of the proxy on this machine: csi-proxy's pipes on Windows; elsewhere the sockets in
    /// the folder that the proxy was given as `-listen`.
    pub fn local(sockets: impl Into<PathBuf>) -> Self {
        Self {
            sockets: sockets.into(),
            channels: Mutex::default(),
        }
    }

    /// Calls one RPC and waits for its answer, at most `timeout`.
    ///
    /// # Errors
    /// The proxy cannot be reached, answers with a status other than OK, or not in time.
    pub fn call<R: Rpc>(
        &self,
        request: &R::Request,
        timeout: Duration,
    ) -> Result<R::Response, ClientError> {
        let failed = |cause| ClientError {
            method: R::PATH,
            cause,
        };
        let deadline = Instant::now() + timeout;
        let channel = self.channel(R::GROUP).map_err(failed)?;
        let message = Zeroizing::new(request.encode_to_vec());
        let answer = channel
            .call(R::PATH, &message, deadline)
            .map_err(|error| failed(error.into()))?;
        R::Response::decode(answer.as_slice()).map_err(|error| failed(error.into()))
    }

    fn channel(&self, group: &'static Group) -> Result<Arc<Channel>, ClientCause> {
        let mut channels = self.channels.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(channel) = channels.get(&group.to_string()) {
            return Ok(Arc::clone(channel));
        }
        let endpoint = Endpoint::local(&self.sockets, &group.pipe_name())?;
        let channel = Arc::new(Channel::connect(endpoint, ChannelOptions::default())?);
        channels.insert(group.to_string(), Arc::clone(&channel));
        Ok(channel)
    }
}

/// A call that failed.
#[derive(Debug, thiserror::Error)]
#[error("{method}: {cause}")]
pub struct ClientError {
    /// The RPC's path.
    pub method: &'static str,
    /// Why it failed.
    pub cause: ClientCause,
}

/// Why a call failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClientCause {
    /// The transport failed, or the proxy answered with a status.
    #[error(transparent)]
    Call(#[from] CallError),
    /// The group has no endpoint here.
    #[error(transparent)]
    Endpoint(#[from] EndpointError),
    /// The answer is no message of the expected type.
    #[error("answer does not decode: {0}")]
    Decode(#[from] prost::DecodeError),
}
