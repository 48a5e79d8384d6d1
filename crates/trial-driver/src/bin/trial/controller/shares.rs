//! Volumes that are shares have a controller of their own, `wincsi-controller`. The sidecars of a driver's name have one
//! socket, and so its calls come through this program.

use std::time::{Duration, Instant};

use prost::Message as _;
use transport::{CallError, Channel, ChannelOptions, Code, Endpoint, Owner, Status};
use wire::Rpc;

use super::service::invalid;

/// The key of the share in a class's parameters.
pub(crate) const SOURCE: &str = "source";

/// The time of csi-provisioner, as the cluster starts it.
const LIMIT: Duration = Duration::from_secs(120);

/// Whether an id is a share's, as csi-driver-smb writes them.
pub(crate) fn is_share(id: &str) -> bool {
    id.contains('#')
}

/// Makes a call as it came, over a connection of its own: the controller may be another process by now.
pub(crate) fn hand_on<R: Rpc>(
    to: Option<&Endpoint>,
    request: &R::Request,
) -> Result<R::Response, Status> {
    let to = to.ok_or_else(|| invalid("there is no controller of shares"))?;
    let mut options = ChannelOptions::default();
    options.owner = Owner::AdministratorsOrOwnUser;
    let answer = Channel::connect(to.clone(), options).and_then(|channel| {
        channel.call(R::PATH, &request.encode_to_vec(), Instant::now() + LIMIT)
    });
    let answer = answer.map_err(|error| match error {
        CallError::Status(status) => status,
        error => Status::new(Code::Unavailable, error.to_string()),
    })?;
    R::Response::decode(answer.as_slice())
        .map_err(|error| Status::new(Code::Internal, error.to_string()))
}
