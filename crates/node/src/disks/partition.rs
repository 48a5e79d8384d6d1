//! From a raw disk to a disk with one visible volume.

use formats::blank;
use os::schema::partition::{ONLINE, gpt_type};
use os::schema::{codes, disk};
use os::{Arguments, Deadline, DiskNumber, DriveLayout, PartitionEntry, PartitionStyle, Value};

use super::guard::{self, ChangeScope};
use super::offline_reason::refuse_redundant_path;
use super::{DiskError, Named, identity};
use crate::Node;
use crate::blank::DiskRange;
use crate::poll::{self, VISIBLE_WITHIN};
use crate::provider::ProviderError;
use crate::storage::{self, Style};
use crate::volumes::on_disk;

pub(super) struct Partitioning<'a> {
    pub(super) node: &'a Node,
    pub(super) disk: DiskNumber,
    pub(super) named: Named<'a>,
    pub(super) deadline: Deadline,
}

/// A disk as the storage provider and the kernel report it.
struct DiskViews {
    disk: storage::Disk,
    layout: DriveLayout,
    /// The kernel's, in bytes.
    length: u64,
}

/// Reads what a disk holds and allows or refuses to overwrite it, by the server's setting.
type Rule = fn(&blank::View, blank::BlankRule) -> Result<blank::Clearance, blank::Refusal>;

impl Partitioning<'_> {
    pub(super) fn run(&self) -> Result<(), DiskError> {
        let views = self.read_views()?;
        self.named.require(self.node, self.deadline)?;
        let scope = ChangeScope::Blank;
        guard::refuse(self.node, &views.disk, &views.layout, scope, self.deadline)?;
        if views.layout.partitions.iter().any(|one| !is_reserved(one)) {
            return self.bring_up(&views);
        }
        self.refuse_for_found(&views.disk)?;
        self.create(&views)?;
        self.bring_partition_online(&views)?;
        self.await_volumes()
    }

    /// `Initialize` would make a disk writable that a driver brought online read-only, and may bring an offline one
    /// online. csi-proxy's clients keep that.
    fn refuse_for_found(&self, disk: &storage::Disk) -> Result<(), DiskError> {
        if matches!(self.named, Named::Number(_)) {
            return Ok(());
        }
        if self.node.disk_attributes(self.disk)?.offline {
            return refuse_redundant_path(self.node, disk, self.deadline).map(drop);
        }
        guard::refuse_read_only(self.node, self.disk)
    }

    /// Reads both views of the disk. If the provider lags behind the kernel, it refreshes the disk and reads again; if
    /// the identity or the length differs, a refresh is not enough, so it rescans all disks. It does not compare the
    /// lengths then, as nothing depends on the provider's.
    fn read_views(&self) -> Result<DiskViews, DiskError> {
        let certain = self.named.certain(self.node, self.deadline)?.cloned();
        let views = self.read_views_once(certain)?;
        let is_same = identity::require_same(self.node, &views.disk).is_ok();
        let has_length = views.length == views.disk.size;
        if is_same && has_length && views.agrees() {
            return Ok(views);
        }
        let updated = self.node.os().disks.update_properties(self.disk);
        updated.map_err(DiskError::kernel(self.disk))?;
        match is_same && has_length {
            true => views.disk.refresh(self.node),
            false => storage::rescan(self.node)?,
        }
        let views = self.read_views_once(None)?;
        // What the provider told before the refresh may have been of a disk before.
        self.named.require_by_provider(self.node, self.deadline)?;
        identity::require_same(self.node, &views.disk)?;
        if views.agrees() {
            return Ok(views);
        }
        Err(DiskError::ViewsDiffer {
            disk: self.disk,
            kernel: format!("{:?}", views.layout.style),
            provider: format!("{:?}", views.disk.style),
        })
    }

    fn read_views_once(&self, known: Option<storage::Disk>) -> Result<DiskViews, DiskError> {
        let find = || storage::Disk::find(self.node, self.disk, self.deadline);
        Ok(DiskViews {
            disk: known.map_or_else(find, Ok)?,
            layout: self.node.disk_layout(self.disk)?,
            length: self.node.disk_length(self.disk)?,
        })
    }

    /// Initialises the disk if it is raw, and creates the one partition.
    fn create(&self, views: &DiskViews) -> Result<(), DiskError> {
        match views.layout.style {
            PartitionStyle::Raw => self.initialise(views)?,
            _ => {
                self.prove_blank(views, blank::for_create_partition)?;
                self.recheck_provider_object(views)?;
            }
        }
        let disk = views.disk.wmi_object(self.node);
        let tolerated = [codes::ACCESS_PATH_IN_USE];
        // The new partition is looked up next.
        disk.invoke_unverified(&disk::CREATE_PARTITION, &whole_disk(), &tolerated)?;
        views.disk.refresh(self.node);
        Ok(())
    }

    /// Gives a raw disk its table, and proves the rest of it blank for a partition.
    ///
    /// That proof finds a table where the one before found none, so the call wrote it: the new table
    /// shows that the provider's object is this disk. The kernel reports whether the device of the object's path still
    /// has the number; an object without a path is queried anew.
    fn initialise(&self, views: &DiskViews) -> Result<(), DiskError> {
        self.prove_blank(views, blank::for_initialise)?;
        self.recheck_provider_object(views)?;
        let style = Value::uint32(disk::partition_style::GPT.value);
        let arguments = Arguments::none().with(disk::initialize::PARTITION_STYLE.name, style);
        let disk = views.disk.wmi_object(self.node);
        disk.invoke_and_verify(
            (&disk::INITIALIZE, &arguments),
            (self.node, self.deadline),
            || {
                Ok::<_, DiskError>(matches!(
                    self.node.disk_layout(self.disk)?.style,
                    PartitionStyle::Gpt { .. }
                ))
            },
        )?;
        self.prove_blank(views, blank::for_create_partition)?;
        match views.disk.device_path {
            Some(_) => (self.named).require_same(self.node, &views.disk, self.deadline),
            None => self.recheck_provider_object(views),
        }
    }

    /// Proves that the provider would write to the kernel's disk, and that this disk is blank. The number may go to
    /// another disk meanwhile, so the caller checks the provider's object again afterwards.
    fn prove_blank(&self, views: &DiskViews, rule: Rule) -> Result<(), DiskError> {
        self.node
            .check(self.deadline, "partition disk", &self.disk)?;
        let range = DiskRange {
            disk: self.disk,
            offset: 0,
            length: self.node.disk_length(self.disk)?,
        };
        identity::require_same(self.node, &views.disk)?;
        Ok(range.prove_blank(self.node, rule, self.deadline)?)
    }

    /// Requires that the provider still has the same object under the number, that the object is the kernel's disk,
    /// and that this is the disk that the caller found.
    fn recheck_provider_object(&self, views: &DiskViews) -> Result<(), DiskError> {
        if self
            .named
            .is_certainly(self.node, &views.disk, self.deadline)?
        {
            return Ok(());
        }
        self.named.require(self.node, self.deadline)?;
        let now = storage::Disk::find(self.node, self.disk, self.deadline)?;
        if !now.is_same_object(&views.disk) {
            return Err(DiskError::ViewsDiffer {
                disk: self.disk,
                kernel: "one disk".to_owned(),
                provider: "another than before".to_owned(),
            });
        }
        identity::require_same(self.node, &now)
    }

    /// Brings the new partition online.
    fn bring_partition_online(&self, views: &DiskViews) -> Result<(), DiskError> {
        let clock = &*self.node.os().clock;
        let found = poll::until(clock, self.deadline, VISIBLE_WITHIN, || {
            let rows = self.data_partitions(views)?;
            Ok::<_, ProviderError>((!rows.is_empty()).then_some(rows))
        })?;
        let what = format!("partition of disk {}", views.disk.number);
        match found.unwrap_or_default().as_slice() {
            [] => Err(ProviderError::not_found(&what).into()),
            // Its volume is waited for next.
            [one] => {
                Ok(one
                    .wmi_object(self.node)
                    .invoke_unverified(&ONLINE, &Arguments::none(), &[])?)
            }
            several => Err(ProviderError::several(
                &what,
                several.iter().map(|one| one.wmi_object(self.node).name),
            )
            .into()),
        }
    }

    /// Ensures that the existing partitions have their volumes. An earlier call may have died
    /// before it brought them online.
    fn bring_up(&self, views: &DiskViews) -> Result<(), DiskError> {
        let is_offline = self.node.disk_attributes(self.disk)?.offline;
        if is_offline || self.survey()?.is_complete() {
            return Ok(());
        }
        views.disk.refresh(self.node);
        for partition in self.data_partitions(views)? {
            let onlined =
                partition
                    .wmi_object(self.node)
                    .invoke_unverified(&ONLINE, &Arguments::none(), &[]);
            if let Err(error) = onlined {
                tracing::warn!(%error, "a partition did not come online");
            }
        }
        self.await_volumes()
    }

    fn await_volumes(&self) -> Result<(), DiskError> {
        on_disk::wait::<DiskError>(self.node, self.disk, None, self.deadline).map(drop)
    }

    fn survey(&self) -> Result<on_disk::Survey, DiskError> {
        let layout = self.node.disk_layout(self.disk)?;
        Ok(on_disk::Survey::take(
            self.node,
            self.disk,
            &layout,
            None,
            self.deadline,
        )?)
    }

    fn data_partitions(&self, views: &DiskViews) -> Result<Vec<storage::Partition>, ProviderError> {
        let mut rows = storage::Partition::list(self.node, &views.disk, self.deadline)?;
        rows.retain(storage::Partition::is_basic_data);
        Ok(rows)
    }
}

impl DiskViews {
    fn agrees(&self) -> bool {
        matches!(
            (self.layout.style, self.disk.style),
            (PartitionStyle::Gpt { .. }, Style::Gpt)
                | (PartitionStyle::Mbr { .. }, Style::Mbr)
                | (PartitionStyle::Raw, Style::Raw)
        )
    }
}

/// One basic data partition over the largest free extent, without a drive letter: csi-proxy's
/// arguments.
fn whole_disk() -> Arguments {
    use disk::create_partition as parameter;
    let basic_data = gpt_type::BASIC_DATA.value;
    Arguments::none()
        .with(parameter::USE_MAXIMUM_SIZE.name, Value::Bool(true))
        .with(parameter::ASSIGN_DRIVE_LETTER.name, Value::Bool(false))
        .with(parameter::GPT_TYPE.name, Value::text(basic_data))
        .with(parameter::IS_HIDDEN.name, Value::Bool(false))
        .with(parameter::IS_ACTIVE.name, Value::Bool(false))
}

pub(super) fn is_reserved(partition: &PartitionEntry) -> bool {
    partition.kind == PartitionEntry::RESERVED
}
