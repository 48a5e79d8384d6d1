use std::sync::Arc;
use std::time::Instant;

use driver::kubelet::value;
use program::hidden;
use prost_types::Timestamp;
use smb::Name;
use transport::{Code, Status};
use wire::csi::v1::list_snapshots_response::Entry;
use wire::csi::v1::{
    CreateSnapshotRequest, CreateSnapshotResponse, DeleteSnapshotRequest, DeleteSnapshotResponse,
    ListSnapshotsRequest, ListSnapshotsResponse, Snapshot as Answer,
};

use super::delete::Target;
use super::{Controller, base};
use crate::code;
use crate::requests::{Handle, Place, RequestError, Secret, SnapshotId, place, snapshot};
use crate::volumes::{Asked, Snapshot, Take, WholeSnapshot};

/// The most that are listed at a time, so that an answer is no longer than gRPC takes.
const MOST_LISTED: usize = 5_000;
/// From 1601, where the server's clock begins, to 1970, in seconds; and its units a second.
const EPOCH: i64 = 11_644_473_600;
const SECOND: u64 = 10_000_000;

const OF_SNAPSHOTS: &str = "csi.storage.k8s.io/snapshotter-secret-name";
const OF_LISTS: &str = "csi.storage.k8s.io/snapshotter-list-secret-name";
/// The key of the list Secret with base folders, one a line.
const SOURCE: &str = "source";

/// What a list is asked of: base folders in their order, from one on.
struct Listing {
    places: Vec<Place>,
    /// The id that was asked for.
    id: Option<SnapshotId>,
    /// Whether it was asked by an id, be it a volume's.
    has_id: bool,
    asked: Asked,
}

impl Controller {
    pub(super) fn create_snapshot(
        &self,
        request: &CreateSnapshotRequest,
        by: Instant,
    ) -> Result<CreateSnapshotResponse, Status> {
        let taken = self.take(request, by);
        let snapshot = taken.map_err(|status| {
            // csi-snapshotter forgets a deleted VolumeSnapshot after a final code, too.
            let name = Name::new(&request.name);
            match name.is_ok_and(|name| self.volumes.may_have_left_snapshot(&name)) {
                true => code::with_leftover(status),
                false => status,
            }
        })?;
        Ok(CreateSnapshotResponse {
            snapshot: Some(snapshot),
        })
    }

    fn take(&self, request: &CreateSnapshotRequest, by: Instant) -> Result<Answer, Status> {
        let name = place::volume_name(&request.name)?;
        let source_id = request.source_volume_id.as_str();
        if source_id.is_empty() {
            return Err(RequestError::Missing("source volume id").into());
        }
        let consistency = snapshot::consistency(&request.parameters)?;
        let secret = Secret::read(&request.secrets)?;
        let secret = secret.ok_or(RequestError::NoSnapshotSecret(OF_SNAPSHOTS))?;
        let target = Target::read(source_id)
            .map_err(|why| RequestError::NoSource(source_id.to_owned(), Box::new(why)))?;
        let id = SnapshotId::of(&target.source, &request.name)?;
        let take = Take {
            snapshot: Snapshot {
                name,
                base: base(&target.place, &secret),
            },
            source_id: source_id.to_owned(),
            volume: target.name,
            folder: target.folder,
            consistency,
        };
        let connections = self.connections(&take.snapshot.base, &secret);
        let whole = self
            .volumes
            .take_snapshot(Arc::new(connections), take, by)?;
        Ok(answer(&id, whole))
    }

    pub(super) fn delete_snapshot(
        &self,
        request: &DeleteSnapshotRequest,
        by: Instant,
    ) -> Result<DeleteSnapshotResponse, Status> {
        let id = request.snapshot_id.as_str();
        if id.is_empty() {
            return Err(RequestError::Missing("snapshot id").into());
        }
        let read = match SnapshotId::read(id) {
            Ok(read) => read,
            Err(why) => {
                tracing::warn!("nothing is deleted for snapshot {id:?}: {why}");
                return Ok(DeleteSnapshotResponse {});
            }
        };
        let secret = Secret::read(&request.secrets)?.ok_or_else(|| no_secret(OF_SNAPSHOTS))?;
        let snapshot = Snapshot {
            base: base(&read.place, &secret),
            name: read.name,
        };
        let connections = self.connections(&snapshot.base, &secret);
        self.volumes
            .delete_snapshot(Arc::new(connections), snapshot, by)?;
        Ok(DeleteSnapshotResponse {})
    }

    pub(super) fn list_snapshots(
        &self,
        request: &ListSnapshotsRequest,
        by: Instant,
    ) -> Result<ListSnapshotsResponse, Status> {
        let most = usize::try_from(request.max_entries).map_err(|_| RequestError::Negative)?;
        let most = if most == 0 {
            MOST_LISTED
        } else {
            most.min(MOST_LISTED)
        };
        let Some(listing) = Listing::read(request)? else {
            return Ok(ListSnapshotsResponse::default());
        };
        let secret = Secret::read(&request.secrets)?.ok_or_else(|| no_secret(OF_LISTS))?;
        let (first, after) = listing.start(&request.starting_token)?;
        let mut answer = ListSnapshotsResponse::default();
        let mut asked = Asked {
            after,
            ..listing.asked
        };
        for (number, place) in listing.places.iter().enumerate().skip(first) {
            asked.most = most - answer.entries.len();
            let base = base(place, &secret);
            let connections = self.connections(&base, &secret);
            let (whole, has_more) = match self.volumes.snapshots(&connections, &base, &asked, by) {
                // Its share or base folder is gone.
                Err(error) if listing.has_id && error.code() == Code::InvalidArgument => {
                    (Vec::new(), false)
                }
                found => found?,
            };
            for whole in whole {
                answer.next_token = format!("{number}#{}", whole.key);
                answer.entries.extend(entry(listing.id.as_ref(), whole));
            }
            if has_more {
                return Ok(answer);
            }
            asked.after = None;
        }
        answer.next_token.clear();
        Ok(answer)
    }
}

impl Listing {
    /// None if the id is not ours: nothing has it.
    fn read(request: &ListSnapshotsRequest) -> Result<Option<Self>, Status> {
        let (id, source_id) = (&request.snapshot_id, &request.source_volume_id);
        let mut listing = Self {
            places: Vec::new(),
            id: None,
            has_id: !id.is_empty() || !source_id.is_empty(),
            asked: Asked::default(),
        };
        if !source_id.is_empty() {
            let Ok(target) = Target::read(source_id) else {
                return Ok(None);
            };
            listing.places.push(Place {
                folder: smb::SharePath::root(),
                ..target.place
            });
            listing.asked.source_id = Some(source_id.clone());
        }
        if !id.is_empty() {
            let Ok(id) = SnapshotId::read(id) else {
                return Ok(None);
            };
            listing.places = vec![id.place.clone()];
            listing.asked.name = Some(id.name.clone());
            listing.id = Some(id);
        }
        if listing.places.is_empty() {
            let sources = value(&request.secrets, SOURCE).ok_or_else(|| {
                let text = "a list without id needs base folders, one a line, in the key";
                refused(&format!("{text} {SOURCE} of the Secret of {OF_LISTS}"))
            })?;
            let lines = sources.lines().map(str::trim).zip(1..);
            for (line, number) in lines.filter(|(line, _)| !line.is_empty()) {
                let place = Place::read(line, "");
                let place = place.map_err(|_| RequestError::ListSource(number))?;
                listing.places.push(place);
            }
        }
        Ok(Some(listing))
    }

    /// The number of the first base folder of a page, and the key after which it begins there.
    fn start(&self, token: &str) -> Result<(usize, Option<String>), Status> {
        if token.is_empty() {
            return Ok((0, None));
        }
        let is_key = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-');
        let fields = token.split_once('#').and_then(|(number, key)| {
            let number = number.parse().ok().filter(|it| *it < self.places.len())?;
            let is_key = !key.is_empty() && key.bytes().all(is_key);
            is_key.then(|| (number, Some(key.to_owned())))
        });
        let text = "starting_token is none that this list gave";
        fields.ok_or_else(|| Status::new(Code::Aborted, text))
    }
}

/// An entry of a list, under the id by which it was asked for, or that it got when it was made.
fn entry(asked: Option<&SnapshotId>, whole: WholeSnapshot) -> Option<Entry> {
    let id = match asked {
        Some(id) => Some(id.clone()),
        None => Handle::read(&whole.source_id)
            .and_then(|handle| SnapshotId::of(&handle.source, &smb_text(&whole.name)).ok()),
    };
    Some(Entry {
        snapshot: Some(answer(&id?, whole)),
    })
}

fn smb_text(name: &Name) -> String {
    String::from_utf16_lossy(name.units())
}

fn answer(id: &SnapshotId, whole: WholeSnapshot) -> Answer {
    let seconds = i64::try_from(whole.begun / SECOND).unwrap_or(i64::MAX);
    Answer {
        size_bytes: i64::try_from(whole.size).unwrap_or(i64::MAX),
        snapshot_id: id.to_string(),
        source_volume_id: whole.source_id,
        creation_time: Some(Timestamp {
            seconds: seconds.saturating_sub(EPOCH),
            nanos: i32::try_from(whole.begun % SECOND * 100).unwrap_or(0),
        }),
        ready_to_use: true,
        ..Default::default()
    }
}

fn no_secret(parameter: &'static str) -> Status {
    refused(&RequestError::NoSnapshotSecret(parameter).to_string())
}

fn refused(text: &str) -> Status {
    Status::new(Code::FailedPrecondition, hidden::shown(text))
}
