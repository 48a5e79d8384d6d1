//! The Controller service, for tests alone: it plugs simulated disks in, and makes LUNs. Calls for shares it hands on.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use driver::kubelet::Router;
use transport::{Code, Endpoint, Status};
use wincsi::sim::iscsi::IscsiControl;
use wincsi::sim::{
    Arrives, Bus, Content, DiskSpec, HardwareControl, HardwareError, IdentifierKind,
};
use wire::csi::v1::controller::{
    ControllerExpandVolume, ControllerGetCapabilities, ControllerPublishVolume,
    ControllerUnpublishVolume, CreateSnapshot, CreateVolume, DeleteSnapshot, DeleteVolume,
    ListSnapshots, ValidateVolumeCapabilities,
};
use wire::csi::v1::controller_service_capability::rpc::Type as Operation;
use wire::csi::v1::controller_service_capability::{self as capability, Rpc};
use wire::csi::v1::validate_volume_capabilities_response::Confirmed;
use wire::csi::v1::volume_capability::AccessType;
use wire::csi::v1::{
    CapacityRange, ControllerExpandVolumeRequest, ControllerExpandVolumeResponse,
    ControllerGetCapabilitiesResponse, ControllerPublishVolumeRequest,
    ControllerPublishVolumeResponse, ControllerServiceCapability, ControllerUnpublishVolumeRequest,
    ControllerUnpublishVolumeResponse, CreateVolumeRequest, CreateVolumeResponse,
    DeleteVolumeRequest, DeleteVolumeResponse, ValidateVolumeCapabilitiesRequest,
    ValidateVolumeCapabilitiesResponse, Volume, VolumeCapability,
};

use super::luns::{DRIVER, Luns};
use super::shares::{self, SOURCE, is_share};
use super::volume::{PAGE83, VolumeName, check_given, named, not_found};

/// A volume's default size, in bytes.
const USUAL: u64 = 1 << 30;

const OPERATIONS: [Operation; 3] = [
    Operation::CreateDeleteVolume,
    Operation::PublishUnpublishVolume,
    Operation::ExpandVolume,
];

/// For shares alone.
const OF_SHARES: [Operation; 3] = [
    Operation::CloneVolume,
    Operation::CreateDeleteSnapshot,
    Operation::ListSnapshots,
];

/// The storage of one simulated node.
#[derive(Clone)]
pub(crate) struct Controller {
    hardware: HardwareControl,
    node_id: Arc<str>,
    luns: Luns,
    /// Held by each call: no other process uses the files behind hardware and LUNs.
    turn: Arc<Mutex<()>>,
    /// The controller of shares.
    shares: Option<Endpoint>,
}

/// The handler of an RPC.
type Answer<R> =
    fn(&Controller, <R as wire::Rpc>::Request) -> Result<<R as wire::Rpc>::Response, Status>;

impl Controller {
    /// The controller of the node in a folder, beside that of shares.
    pub(crate) fn new(node: &Path, node_id: &str, shares: Option<Endpoint>) -> Self {
        Self {
            hardware: HardwareControl::at(node),
            node_id: node_id.into(),
            luns: Luns::new(IscsiControl::at(node)),
            turn: Arc::default(),
            shares,
        }
    }

    pub(crate) fn register(&self, router: &mut Router) {
        let has_shares = self.shares.is_some();
        router.on::<ControllerGetCapabilities>(move |_| Ok(capabilities(has_shares)));
        self.on_volume::<CreateVolume>(
            router,
            |it| it.parameters.contains_key(SOURCE),
            Self::create,
        );
        self.on_volume::<DeleteVolume>(router, |it| is_share(&it.volume_id), Self::delete);
        self.on::<ControllerPublishVolume>(router, Self::publish);
        self.on::<ControllerUnpublishVolume>(router, Self::unpublish);
        self.on_volume::<ValidateVolumeCapabilities>(
            router,
            |it| is_share(&it.volume_id),
            Self::validate,
        );
        self.on_volume::<ControllerExpandVolume>(
            router,
            |it| is_share(&it.volume_id),
            Self::expand,
        );
        self.on_share::<CreateSnapshot>(router);
        self.on_share::<DeleteSnapshot>(router);
        self.on_share::<ListSnapshots>(router);
    }

    fn on_share<R: wire::Rpc>(&self, router: &mut Router) {
        let to = self.shares.clone();
        router.on::<R>(move |request| shares::hand_on::<R>(to.as_ref(), &request));
    }

    /// An RPC of a volume that may be a share.
    fn on_volume<R: wire::Rpc>(
        &self,
        router: &mut Router,
        is_for_share: fn(&R::Request) -> bool,
        answer: Answer<R>,
    ) {
        let controller = self.clone();
        router.on::<R>(move |request| match is_for_share(&request) {
            true => shares::hand_on::<R>(controller.shares.as_ref(), &request),
            false => controller.answer::<R>(answer, request),
        });
    }

    fn on<R: wire::Rpc>(&self, router: &mut Router, answer: Answer<R>) {
        let controller = self.clone();
        router.on::<R>(move |request| controller.answer::<R>(answer, request));
    }

    fn answer<R: wire::Rpc>(
        &self,
        answer: Answer<R>,
        request: R::Request,
    ) -> Result<R::Response, Status> {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        answer(self, request)
    }

    fn create(&self, request: CreateVolumeRequest) -> Result<CreateVolumeResponse, Status> {
        check_given("name", &request.name)?;
        check_capabilities(&request.volume_capabilities)?;
        let wanted = Wanted::of(request.capacity_range)?;
        let volume = match request.parameters.contains_key(DRIVER) {
            true => self.luns.create(&request, &wanted)?,
            false => self.create_disk(&request.name, &wanted)?,
        };
        Ok(CreateVolumeResponse {
            volume: Some(volume),
        })
    }

    fn create_disk(&self, name: &str, wanted: &Wanted) -> Result<Volume, Status> {
        let name = VolumeName::of_wish(name);
        let length = match self.length(&name) {
            Some(length) => wanted.check(length)?,
            None => self.make(&name, wanted.least)?,
        };
        Ok(Volume {
            capacity_bytes: signed(length)?,
            volume_id: name.as_str().to_owned(),
            ..Default::default()
        })
    }

    fn make(&self, name: &VolumeName, length: u64) -> Result<u64, Status> {
        let disk = DiskSpec::on(Bus::Sas)
            .serial(&name.as_str()[16..])
            .identified(IdentifierKind::Naa, name.as_str())
            .arriving(Arrives::ByPolicy);
        let shelf = self.hardware.shelf();
        shelf
            .attach_disk(name.as_str(), &disk, &Content::blank(length))
            .map_err(failed)?;
        Ok(length)
    }

    fn delete(&self, request: DeleteVolumeRequest) -> Result<DeleteVolumeResponse, Status> {
        check_given("volume id", &request.volume_id)?;
        let done = DeleteVolumeResponse {};
        if self.luns.delete(&request.volume_id)? {
            return Ok(done);
        }
        let name = match named(&request.volume_id) {
            Err(status) if status.code == Code::NotFound => return Ok(done),
            name => name?,
        };
        if self.hardware.disk_length(name.as_str()).is_ok() {
            let text = "the volume is attached to the node";
            return Err(Status::new(Code::FailedPrecondition, text));
        }
        match self.hardware.shelf().detach_disk(name.as_str()) {
            Ok(()) | Err(HardwareError::Missing(_)) => Ok(done),
            Err(error) => Err(failed(error)),
        }
    }

    fn publish(
        &self,
        request: ControllerPublishVolumeRequest,
    ) -> Result<ControllerPublishVolumeResponse, Status> {
        check_given("volume id", &request.volume_id)?;
        check_given("node id", &request.node_id)?;
        check_capabilities(request.volume_capability.as_slice())?;
        if *request.node_id != *self.node_id {
            let text = format!("there is no node {:?}", request.node_id);
            return Err(Status::new(Code::NotFound, text));
        }
        if is_share(&request.volume_id) || self.luns.length(&request.volume_id).is_some() {
            // Every node reaches it.
            return Ok(ControllerPublishVolumeResponse::default());
        }
        self.existing(&request.volume_id)?;
        let name = named(&request.volume_id)?;
        match self.hardware.plug_disk(name.as_str()) {
            Ok(()) | Err(HardwareError::Missing(_)) => {}
            Err(error) => return Err(failed(error)),
        }
        let context = [(PAGE83.to_owned(), name.as_str().to_owned())];
        Ok(ControllerPublishVolumeResponse {
            publish_context: context.into(),
        })
    }

    fn unpublish(
        &self,
        request: ControllerUnpublishVolumeRequest,
    ) -> Result<ControllerUnpublishVolumeResponse, Status> {
        check_given("volume id", &request.volume_id)?;
        let done = ControllerUnpublishVolumeResponse {};
        let name = match named(&request.volume_id) {
            Err(status) if status.code == Code::NotFound => return Ok(done),
            name => name?,
        };
        match self.hardware.unplug_disk(name.as_str()) {
            Ok(()) | Err(HardwareError::Missing(_)) => Ok(done),
            Err(error) => Err(failed(error)),
        }
    }

    fn validate(
        &self,
        request: ValidateVolumeCapabilitiesRequest,
    ) -> Result<ValidateVolumeCapabilitiesResponse, Status> {
        check_given("volume id", &request.volume_id)?;
        if request.volume_capabilities.is_empty() {
            return Err(invalid("no capability is given"));
        }
        self.existing(&request.volume_id)?;
        let checked = check_capabilities(&request.volume_capabilities);
        let confirmed = checked.is_ok().then(|| Confirmed {
            volume_capabilities: request.volume_capabilities.clone(),
            ..Default::default()
        });
        Ok(ValidateVolumeCapabilitiesResponse {
            confirmed,
            ..Default::default()
        })
    }

    fn expand(
        &self,
        request: ControllerExpandVolumeRequest,
    ) -> Result<ControllerExpandVolumeResponse, Status> {
        check_given("volume id", &request.volume_id)?;
        let length = self.existing(&request.volume_id)?;
        let range = request.capacity_range;
        let wanted = Wanted::of(Some(range.ok_or_else(|| invalid("no size is given"))?))?;
        let size = wanted.least.max(length);
        match self.luns.length(&request.volume_id) {
            Some(_) => self.luns.grow(&request.volume_id, size)?,
            None => self.grow_disk(&named(&request.volume_id)?, size)?,
        }
        Ok(ControllerExpandVolumeResponse {
            capacity_bytes: signed(size)?,
            node_expansion_required: true,
        })
    }

    fn grow_disk(&self, name: &VolumeName, size: u64) -> Result<(), Status> {
        if self.length(name).is_some_and(|length| size > length) {
            let place = match self.hardware.disk_length(name.as_str()) {
                Ok(_) => self.hardware.clone(),
                Err(_) => self.hardware.shelf(),
            };
            let grown = place.grow_disk(name.as_str(), size);
            grown.map_err(failed)?;
        }
        Ok(())
    }

    /// An existing volume's size, in bytes.
    fn existing(&self, id: &str) -> Result<u64, Status> {
        match self.luns.length(id) {
            Some(length) => Ok(length),
            None => self.length(&named(id)?).ok_or_else(|| not_found(id)),
        }
    }

    fn length(&self, name: &VolumeName) -> Option<u64> {
        let places = [self.hardware.clone(), self.hardware.shelf()];
        places
            .iter()
            .find_map(|place| place.disk_length(name.as_str()).ok())
    }
}

/// A request's allowed sizes, in bytes.
pub(crate) struct Wanted {
    pub(crate) least: u64,
    most: u64,
}

impl Wanted {
    pub(crate) fn of(range: Option<CapacityRange>) -> Result<Self, Status> {
        let range = range.unwrap_or_default();
        let bytes = |value: i64| u64::try_from(value).map_err(|_| invalid("a size is negative"));
        let (least, most) = (bytes(range.required_bytes)?, bytes(range.limit_bytes)?);
        let most = if most == 0 { u64::MAX } else { most };
        let least = match least {
            0 => USUAL.min(most),
            least => least.next_multiple_of(1 << 20),
        };
        if least > most {
            let text = "no size is at least the one and at most the other";
            return Err(Status::new(Code::OutOfRange, text));
        }
        Ok(Self { least, most })
    }

    /// The size of the volume that is there, unless it is another one than the wanted.
    pub(crate) fn check(&self, length: u64) -> Result<u64, Status> {
        if (self.least..=self.most).contains(&length) {
            return Ok(length);
        }
        let text = format!("the volume is there with {length} bytes");
        Err(Status::new(Code::AlreadyExists, text))
    }
}

fn capabilities(has_shares: bool) -> ControllerGetCapabilitiesResponse {
    let capability = |operation: Operation| ControllerServiceCapability {
        r#type: Some(capability::Type::Rpc(Rpc {
            r#type: operation.into(),
        })),
    };
    let of_shares = OF_SHARES.into_iter().filter(|_| has_shares);
    ControllerGetCapabilitiesResponse {
        capabilities: OPERATIONS
            .into_iter()
            .chain(of_shares)
            .map(capability)
            .collect(),
    }
}

fn check_capabilities(capabilities: &[VolumeCapability]) -> Result<(), Status> {
    if capabilities.is_empty() {
        return Err(invalid("no capability is given"));
    }
    capabilities.iter().try_for_each(check_capability)
}

/// Refuses all but a directory on a formatted volume.
fn check_capability(capability: &VolumeCapability) -> Result<(), Status> {
    match &capability.access_type {
        Some(AccessType::Mount(_)) => Ok(()),
        Some(AccessType::Block(_)) => Err(invalid("Windows has no block volumes")),
        None => Err(invalid("the capability has no access type")),
    }
}

pub(crate) fn signed(length: u64) -> Result<i64, Status> {
    i64::try_from(length).map_err(|_| Status::new(Code::OutOfRange, "the size is too large"))
}

pub(crate) fn invalid(text: &str) -> Status {
    Status::new(Code::InvalidArgument, text)
}

pub(crate) fn failed(error: HardwareError) -> Status {
    Status::new(Code::Unavailable, error.to_string())
}
