use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use driver::kinds::share::attributes::{MountOptions, User};
use driver::record::VolumeHandle;
use program::hidden;
use smb::Name;
use transport::{Code, Status};
use wire::csi::v1::volume_capability::AccessType;
use wire::csi::v1::volume_content_source::Type as ContentSource;
use wire::csi::v1::{
    CapacityRange, CreateVolumeRequest, CreateVolumeResponse, Volume, VolumeCapability,
};

use super::delete::Target;
use super::{Controller, base};
use crate::code;
use crate::requests::{
    Class, Handle, Place, RequestError, Secret, SnapshotId, class, place, secret,
};
use crate::volumes::{Create, Created, Folder, FolderError, Origin, Source};

/// A volume of a request: its handle and context, and what is to be made for it.
struct Wanted<'a> {
    class: Class,
    secret: Option<Secret>,
    options: MountOptions,
    name: Name,
    source: Option<Content<'a>>,
    request: &'a CreateVolumeRequest,
}

/// What a volume is a copy of, by its handle or id.
#[derive(Clone, Copy)]
enum Content<'a> {
    Volume(&'a str),
    Snapshot(&'a str),
}

impl Controller {
    pub(super) fn create(
        &self,
        request: &CreateVolumeRequest,
        by: Instant,
    ) -> Result<CreateVolumeResponse, Status> {
        let wanted = Wanted::read(request, &self.default_policy);
        let made = wanted.and_then(|wanted| self.make(&wanted, by));
        made.map_err(|status| {
            // This call, or an earlier one, may have left something.
            let name = Name::new(&request.name);
            match name.is_ok_and(|name| self.volumes.may_have_left(&name)) {
                true => code::with_leftover(status),
                false => status,
            }
        })
    }

    fn make(&self, wanted: &Wanted<'_>, by: Instant) -> Result<CreateVolumeResponse, Status> {
        let Some(secret) = &wanted.secret else {
            wanted.expect_only_source()?;
            return wanted.response(wanted.request.parameters.clone());
        };
        secret.check(&wanted.options, self.requires_privacy)?;
        let size = size(wanted.request.capacity_range)?;
        let place = Place::read(&wanted.class.source, wanted.folder())?;
        let response =
            wanted.response(class::context(&wanted.request.parameters, wanted.folder()))?;
        let volume = Create {
            name: wanted.name.clone(),
            base: base(&place, secret),
            source: wanted.source(&place, secret)?,
            folder: Folder::new(place.folder).map_err(RequestError::from)?,
            size,
            parameters: wanted.class.parameters.clone(),
        };
        let connections = self.connections(&volume.base, secret);
        if let Some(source) = volume.source.clone() {
            let connections = Arc::new(connections);
            self.volumes
                .clone_volume(connections, (volume, source), by)?;
            return Ok(response);
        }
        if self.volumes.create(&connections, &volume, by)? == Created::Found {
            let (name, base, folder) = (&wanted.request.name, &volume.base, volume.folder.path());
            let was_there = "which was there before: a delete leaves it";
            tracing::warn!("volume {name} has the folder {base}{folder}, {was_there}");
        }
        Ok(response)
    }
}

impl<'a> Wanted<'a> {
    fn read(request: &'a CreateVolumeRequest, default_policy: &str) -> Result<Self, Status> {
        let name = place::volume_name(&request.name)?;
        let flags = mount_flags(&request.volume_capabilities)?;
        if let Some(key) = request.mutable_parameters.keys().next() {
            return Err(RequestError::Parameter(key.clone()).into());
        }
        size(request.capacity_range)?;
        Ok(Self {
            class: Class::read(&request.parameters, default_policy)?,
            secret: Secret::read(&request.secrets)?,
            options: secret::options("the class", flags)?,
            name,
            source: content_source(request)?,
            request,
        })
    }

    fn folder(&self) -> &str {
        self.class.folder.as_deref().unwrap_or(&self.request.name)
    }

    /// Without a Secret nothing can be made: the volume is the source itself.
    fn expect_only_source(&self) -> Result<(), RequestError> {
        if self.source.is_some() {
            return Err(RequestError::NoSecret("a clone"));
        }
        if self.class.folder.is_some() {
            return Err(RequestError::NoSecret("subDir"));
        }
        if self.options.user == User::Guest {
            return Err(RequestError::NoSecret("the mount option guest"));
        }
        Place::read(&self.class.source, "")?;
        Ok(())
    }

    /// What is copied: on the class's server, as its password goes to no other.
    fn source(&self, place: &Place, secret: &Secret) -> Result<Option<Source>, Status> {
        let Some(content) = self.source else {
            return Ok(None);
        };
        let (id, source, origin) = content.read()?;
        let (source_host, host) = (source.host.clone(), place.host.clone());
        if !source_host.eq_ignore_ascii_case(&host) {
            return Err(RequestError::OtherServer { source_host, host }.into());
        }
        Ok(Some(Source {
            id: id.to_owned(),
            base: base(&source, secret),
            origin,
        }))
    }

    fn response(&self, context: BTreeMap<String, String>) -> Result<CreateVolumeResponse, Status> {
        let name = match &self.class.folder {
            Some(_) => self.request.name.as_str(),
            None => "",
        };
        let handle = Handle::of(&self.class.source, self.folder(), name, &self.class.policy);
        let id = handle.to_string();
        VolumeHandle::parse(&id).map_err(RequestError::from)?;
        Ok(CreateVolumeResponse {
            volume: Some(Volume {
                // The provisioner then takes the claim's size.
                capacity_bytes: 0,
                volume_id: id,
                volume_context: context,
                content_source: self.request.volume_content_source.clone(),
                ..Default::default()
            }),
        })
    }
}

impl<'a> Content<'a> {
    fn read(self) -> Result<(&'a str, Place, Origin), Status> {
        let (id, read) = match self {
            Self::Volume(id) => (
                id,
                Target::read(id).map(|target| {
                    let (name, folder) = (target.name, target.folder);
                    (target.place, Origin::Volume { name, folder })
                }),
            ),
            Self::Snapshot(id) => (
                id,
                SnapshotId::read(id).map(|read| (read.place, Origin::Snapshot(read.name))),
            ),
        };
        let (place, origin) = read.map_err(|why| match why {
            RequestError::Folder(FolderError::Empty) => RequestError::WholeShare(id.into()).into(),
            why => {
                let text = format!("there is no source {id:?}: {why}");
                Status::new(Code::NotFound, hidden::shown(&text))
            }
        })?;
        Ok((id, place, origin))
    }
}

fn content_source(request: &CreateVolumeRequest) -> Result<Option<Content<'_>>, RequestError> {
    let Some(source) = &request.volume_content_source else {
        return Ok(None);
    };
    match &source.r#type {
        Some(ContentSource::Volume(volume)) => Ok(Some(Content::Volume(&volume.volume_id))),
        Some(ContentSource::Snapshot(snapshot)) => {
            Ok(Some(Content::Snapshot(&snapshot.snapshot_id)))
        }
        None => Err(RequestError::Missing("volume of the content source")),
    }
}

/// The mount options of all capabilities, none of which may be of a block volume.
pub(super) fn mount_flags(capabilities: &[VolumeCapability]) -> Result<Vec<&str>, RequestError> {
    if capabilities.is_empty() {
        return Err(RequestError::Missing("volume capability"));
    }
    let mut flags = Vec::new();
    for capability in capabilities {
        match &capability.access_type {
            Some(AccessType::Mount(mount)) => {
                flags.extend(mount.mount_flags.iter().map(String::as_str));
            }
            Some(AccessType::Block(_)) => return Err(RequestError::Block),
            None => return Err(RequestError::Missing("access type of a volume capability")),
        }
    }
    Ok(flags)
}

pub(super) fn size(range: Option<CapacityRange>) -> Result<u64, Status> {
    let range = range.unwrap_or_default();
    let bytes = |value| u64::try_from(value).map_err(|_| RequestError::Negative);
    let (required, limit) = (bytes(range.required_bytes)?, bytes(range.limit_bytes)?);
    // CSI has 0 for no limit.
    if limit != 0 && limit < required {
        let text = "the size's limit is below what is required";
        return Err(Status::new(Code::OutOfRange, text));
    }
    Ok(required)
}
