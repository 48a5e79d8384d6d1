//! CSI's Controller service.

mod clones;
mod connections;
mod create;
mod delete;
mod left;
mod others;
mod snapshots;

use std::sync::Arc;
use std::time::{Duration, Instant};

use driver::kubelet::{ForVolume, Router};
use program::metrics::Exposition;
use smb::{Login, Privacy, Server};
use transport::Status;
use wire::Rpc;
use wire::csi::v1::controller::{
    ControllerExpandVolume, ControllerGetCapabilities, CreateSnapshot, CreateVolume,
    DeleteSnapshot, DeleteVolume, ListSnapshots, ValidateVolumeCapabilities,
};

use self::connections::{Connections, Idle};
use self::left::LeftFolders;
use crate::flags::Config;
use crate::requests::{Place, Secret};
use crate::volumes::{Base, Volumes};

/// The most that is kept of a call's time for its answer.
const LONGEST_ANSWER: Duration = Duration::from_secs(1);

/// What answers an RPC, told when it has to end.
type Answer<R> =
    fn(&Controller, &<R as Rpc>::Request, Instant) -> Result<<R as Rpc>::Response, Status>;

pub struct Controller {
    default_policy: String,
    deletes_unrecorded: bool,
    requires_privacy: bool,
    volumes: Arc<Volumes>,
    left: Arc<LeftFolders>,
    idle: Arc<Idle>,
}

impl Controller {
    pub fn new(config: &Config) -> Self {
        let left = Arc::<LeftFolders>::default();
        Self {
            default_policy: config.default_policy.clone(),
            deletes_unrecorded: config.deletes_unrecorded,
            requires_privacy: config.requires_privacy,
            volumes: Volumes::new(LeftFolders::watch(&left)),
            left,
            idle: Arc::default(),
        }
    }

    pub fn register(self: &Arc<Self>, router: &mut Router) {
        router.on::<ControllerGetCapabilities>(|_| Ok(others::capabilities()));
        self.on::<CreateVolume>(router, Self::create);
        self.on::<DeleteVolume>(router, Self::delete);
        self.on::<CreateSnapshot>(router, Self::create_snapshot);
        self.on::<DeleteSnapshot>(router, Self::delete_snapshot);
        self.on::<ListSnapshots>(router, Self::list_snapshots);
        self.on::<ControllerExpandVolume>(router, Self::expand);
        self.on::<ValidateVolumeCapabilities>(router, Self::validate);
    }

    pub fn render(&self, page: &mut Exposition) {
        self.left.render(page);
        clones::render(self.volumes.figures(), page);
    }

    fn on<R: Rpc<Request: ForVolume>>(self: &Arc<Self>, router: &mut Router, answer: Answer<R>) {
        let controller = Arc::clone(self);
        router.on_volume::<R>(move |request, left| answer(&controller, &request, deadline(left)));
    }

    fn connections(&self, base: &Base, secret: &Secret) -> Connections {
        let is_private = self.requires_privacy || secret.demands_privacy();
        let login = Login {
            server: base.server.clone(),
            share: base.share.clone(),
            credentials: secret.credentials.clone(),
            privacy: match is_private {
                true => Privacy::Required,
                false => Privacy::Offered,
            },
        };
        Connections {
            login,
            idle: Arc::clone(&self.idle),
        }
    }
}

/// When a call has to end, so that its answer comes before its caller gives up.
fn deadline(left: Duration) -> Instant {
    let for_answer = (left / 10).min(LONGEST_ANSWER);
    Instant::now() + left.saturating_sub(for_answer)
}

fn base(place: &Place, secret: &Secret) -> Base {
    Base {
        server: Server {
            host: place.host.clone(),
            port: secret.port(),
        },
        share: place.share.clone(),
        path: place.base.clone(),
    }
}
