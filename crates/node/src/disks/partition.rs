//! From a raw disk to a disk with one visible volume.

use formats::blank;
use os::schema::partition::{ONLINE, gpt_type};
use os::schema::{codes, disk};
use os::{Arguments, Deadline, DiskNumber, DriveLayout, PartitionEntry, PartitionStyle, Value};

use super::guard::{self, Reach};
use super::{DiskError, Named, identity};
use crate::Node;
use crate::blank::Stretch;
use crate::poll::{self, VISIBLE_WITHIN};
use crate::provider::ProviderError;
use crate::storage::{self, Style};
use crate::volumes::on_disk;

/// One call of `PartitionDisk`, under the disk's lock.
pub(super) struct Partitioning<'a> {
    pub(super) node: &'a Node,
    pub(super) disk: DiskNumber,
    pub(super) named: Named<'a>,
    pub(super) deadline: Deadline,
}

/// A disk of which kernel and provider have the same picture.
struct Seen {
    disk: storage::Disk,
    layout: DriveLayout,
    /// The kernel's, in bytes.
    length: u64,
}

/// What may be overwritten, and the rule that must allow it.
type Rule = fn(&blank::View, blank::Guard) -> Result<blank::Clearance, blank::Refusal>;

impl Partitioning<'_> {
    pub(super) fn run(&self) -> Result<(), DiskError> {
        let seen = self.look()?;
        self.named.require(self.node, self.deadline)?;
        let reach = Reach::Blank;
        guard::refuse(self.node, &seen.disk, &seen.layout, reach, self.deadline)?;
        if seen.layout.partitions.iter().any(|one| !is_reserved(one)) {
            return self.bring_up(&seen);
        }
        self.refuse_read_only()?;
        self.create(&seen)?;
        self.online_the_one(&seen)?;
        self.await_volumes()
    }

    /// `Initialize` makes a disk writable that a driver brought online for readers. csi-proxy's clients have it so.
    fn refuse_read_only(&self) -> Result<(), DiskError> {
        if matches!(self.named, Named::Number(_)) {
            return Ok(());
        }
        guard::refuse_read_only(self.node, self.disk)
    }

    /// Looks at the disk; when the provider lags behind the kernel, once more after a refresh. If
    /// the identity or the length differs, a refresh of one disk is not enough, so it rescans all.
    /// It does not check that the lengths agree then, as nothing is decided by the provider's.
    fn look(&self) -> Result<Seen, DiskError> {
        let seen = self.look_once()?;
        let is_same = identity::require_same(self.node, &seen.disk).is_ok();
        let has_length = seen.length == seen.disk.size;
        if is_same && has_length && seen.agrees() {
            return Ok(seen);
        }
        let updated = self.node.os().disks.update_properties(self.disk);
        updated.map_err(DiskError::kernel(self.disk))?;
        match is_same && has_length {
            true => seen.disk.refresh(self.node),
            false => storage::rescan(self.node)?,
        }
        let seen = self.look_once()?;
        identity::require_same(self.node, &seen.disk)?;
        if seen.agrees() {
            return Ok(seen);
        }
        Err(DiskError::ViewsDiffer {
            disk: self.disk,
            kernel: format!("{:?}", seen.layout.style),
            provider: format!("{:?}", seen.disk.style),
        })
    }

    fn look_once(&self) -> Result<Seen, DiskError> {
        let disk = storage::Disk::find(self.node, self.disk, self.deadline)?;
        Ok(Seen {
            disk,
            layout: self.layout()?,
            length: self.length()?,
        })
    }

    fn length(&self) -> Result<u64, DiskError> {
        let length = self.node.os().disks.length(self.disk);
        length.map_err(DiskError::kernel(self.disk))
    }

    fn layout(&self) -> Result<DriveLayout, DiskError> {
        let layout = self.node.os().disks.layout(self.disk);
        layout.map_err(DiskError::kernel(self.disk))
    }

    /// Initialises the disk if it is raw, and creates the one partition.
    fn create(&self, seen: &Seen) -> Result<(), DiskError> {
        match seen.layout.style {
            PartitionStyle::Raw => self.initialise(seen)?,
            _ => {
                self.prove_blank(seen, blank::for_create_partition)?;
                self.ask_anew(seen)?;
            }
        }
        let disk = seen.disk.callee(self.node);
        let tolerated = [codes::ACCESS_PATH_IN_USE];
        // The one partition is looked for next.
        disk.invoke_unseen(&disk::CREATE_PARTITION, &whole_disk(), &tolerated)?;
        seen.disk.refresh(self.node);
        Ok(())
    }

    /// Gives a raw disk its table, and proves the rest of it blank for a partition.
    ///
    /// That proof finds a table where the one before found none, so the call wrote it: the new table
    /// shows that the provider's object is this disk. The kernel reports whether the device of the object's path still
    /// has the number; an object without a path is queried anew.
    fn initialise(&self, seen: &Seen) -> Result<(), DiskError> {
        self.prove_blank(seen, blank::for_initialise)?;
        self.ask_anew(seen)?;
        let style = Value::uint32(disk::partition_style::GPT.value);
        let arguments = Arguments::none().with(disk::initialize::PARTITION_STYLE.name, style);
        let disk = seen.disk.callee(self.node);
        disk.invoke_seen(
            (&disk::INITIALIZE, &arguments),
            (self.node, self.deadline),
            || Ok::<_, DiskError>(matches!(self.layout()?.style, PartitionStyle::Gpt { .. })),
        )?;
        self.prove_blank(seen, blank::for_create_partition)?;
        match seen.disk.device_path {
            Some(_) => {
                self.named.require(self.node, self.deadline)?;
                identity::require_same(self.node, &seen.disk)
            }
            None => self.ask_anew(seen),
        }
    }

    /// Proves the kernel's disk blank, and before that it is the one that the provider would write to.
    /// To be asked again after: its number may have gone to another meanwhile.
    fn prove_blank(&self, seen: &Seen, rule: Rule) -> Result<(), DiskError> {
        self.node
            .check(self.deadline, "partition disk", &self.disk)?;
        let stretch = Stretch {
            disk: self.disk,
            offset: 0,
            length: self.length()?,
        };
        identity::require_same(self.node, &seen.disk)?;
        Ok(stretch.prove_blank(self.node, rule, self.deadline)?)
    }

    /// Whether the provider still has the same object under the number, and means the kernel's disk, which
    /// is the one that the caller found.
    fn ask_anew(&self, seen: &Seen) -> Result<(), DiskError> {
        self.named.require(self.node, self.deadline)?;
        let now = storage::Disk::find(self.node, self.disk, self.deadline)?;
        if !now.is_same_object(&seen.disk) {
            return Err(DiskError::ViewsDiffer {
                disk: self.disk,
                kernel: "one disk".to_owned(),
                provider: "another than before".to_owned(),
            });
        }
        identity::require_same(self.node, &now)
    }

    /// Brings the partition online that was just created.
    fn online_the_one(&self, seen: &Seen) -> Result<(), DiskError> {
        let clock = &*self.node.os().clock;
        let found = poll::until(clock, self.deadline, VISIBLE_WITHIN, || {
            let rows = self.data_partitions(seen)?;
            Ok::<_, ProviderError>((!rows.is_empty()).then_some(rows))
        })?;
        let what = format!("partition of disk {}", seen.disk.number);
        match found.unwrap_or_default().as_slice() {
            [] => Err(ProviderError::not_found(&what).into()),
            // Its volume is waited for next.
            [one] => Ok(one
                .callee(self.node)
                .invoke_unseen(&ONLINE, &Arguments::none(), &[])?),
            several => Err(ProviderError::several(
                &what,
                several.iter().map(|one| one.callee(self.node).name),
            )
            .into()),
        }
    }

    /// Sees to it that the partitions that were there have their volumes. An earlier call may have
    /// died before it brought them online.
    fn bring_up(&self, seen: &Seen) -> Result<(), DiskError> {
        if self.is_offline()? || self.survey()?.is_complete() {
            return Ok(());
        }
        seen.disk.refresh(self.node);
        for partition in self.data_partitions(seen)? {
            let onlined =
                partition
                    .callee(self.node)
                    .invoke_unseen(&ONLINE, &Arguments::none(), &[]);
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
        let layout = self.layout()?;
        Ok(on_disk::Survey::take(
            self.node,
            self.disk,
            &layout,
            None,
            self.deadline,
        )?)
    }

    fn data_partitions(&self, seen: &Seen) -> Result<Vec<storage::Partition>, ProviderError> {
        let mut rows = storage::Partition::list(self.node, &seen.disk, self.deadline)?;
        rows.retain(storage::Partition::is_basic_data);
        Ok(rows)
    }

    fn is_offline(&self) -> Result<bool, DiskError> {
        let attributes = self.node.os().disks.attributes(self.disk);
        Ok(attributes.map_err(DiskError::kernel(self.disk))?.offline)
    }
}

impl Seen {
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

fn is_reserved(partition: &PartitionEntry) -> bool {
    partition.kind == PartitionEntry::RESERVED
}
