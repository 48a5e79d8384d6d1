//! The storage provider's disks, partitions and volumes, read into types.

use os::schema::{self, disk, disk_to_partition, partition, volume};
use os::{
    Arguments, Deadline, DiskNumber, Instance, ObjectPath, PartitionNumber, Query, Value, VolumeId,
};
use uuid::Uuid;

use crate::provider::{ProviderError, WmiObject, sole};
use crate::{Node, local_rows};

/// An `MSFT_Disk`.
#[derive(Clone, Debug)]
pub(crate) struct Disk {
    pub(crate) number: DiskNumber,
    pub(crate) style: Style,
    /// An error if one of them is null: such a disk is never written, and others are found beside it.
    pub(crate) marks: os::Result<Marks>,
    /// By which the kernel opens the device behind this object, wherever that has gone since.
    pub(crate) device_path: Option<String>,
    /// As the device gave it, blanks included.
    pub(crate) serial: Option<String>,
    /// In bytes.
    pub(crate) size: u64,
    /// The provider's form of a page 0x83 identifier, if it used one.
    pub(crate) unique_id: Option<String>,
    path: ObjectPath,
}

/// Windows's use of a disk.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Marks {
    pub(crate) is_boot: bool,
    pub(crate) is_clustered: bool,
    pub(crate) is_system: bool,
}

impl Marks {
    fn read(row: &Instance) -> os::Result<Self> {
        Ok(Self {
            is_boot: row.bool(disk::IS_BOOT.name)?,
            is_clustered: row.bool(disk::IS_CLUSTERED.name)?,
            is_system: row.bool(disk::IS_SYSTEM.name)?,
        })
    }
}

/// `MSFT_Disk.PartitionStyle`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    Gpt,
    Mbr,
    Raw,
    Other(u32),
}

impl Disk {
    /// The properties that [`Disk::read`] reads.
    pub(crate) const SELECT: &'static [&'static str] = &[
        disk::IS_BOOT.name,
        disk::IS_CLUSTERED.name,
        disk::IS_SYSTEM.name,
        disk::NUMBER.name,
        disk::PARTITION_STYLE.name,
        disk::PATH.name,
        disk::SERIAL_NUMBER.name,
        disk::SIZE.name,
        disk::UNIQUE_ID.name,
        disk::UNIQUE_ID_FORMAT.name,
    ];

    /// The disk of this number.
    pub(crate) fn find(
        node: &Node,
        number: DiskNumber,
        deadline: Deadline,
    ) -> Result<Self, ProviderError> {
        let query = Query::all(disk::CLASS.name, Self::SELECT)
            .with(disk::NUMBER.name, Value::uint32(number.0));
        let found = local_rows::query(node, &query, deadline)?;
        let row = sole(&format_args!("disk {number}"), found)?;
        Self::read(number, row)
    }

    /// The disk of this number, from its row.
    pub(crate) fn read(number: DiskNumber, row: Instance) -> Result<Self, ProviderError> {
        let text =
            |property| Ok::<_, ProviderError>(row.text_or_null(property)?.map(str::to_owned));
        // The provider makes the others of its own findings, not of the kernel's.
        let is_of_page83 = row
            .u32_or_null(disk::UNIQUE_ID_FORMAT.name)?
            .is_some_and(|format| format != disk::unique_id_format::VENDOR_SPECIFIC.value);
        Ok(Self {
            number,
            style: Style::from(row.u32(disk::PARTITION_STYLE.name)?),
            marks: Marks::read(&row),
            device_path: text(disk::PATH.name)?.filter(|path| !path.is_empty()),
            serial: text(disk::SERIAL_NUMBER.name)?,
            size: row.u64(disk::SIZE.name)?,
            unique_id: text(disk::UNIQUE_ID.name)?.filter(|_| is_of_page83),
            path: row.path,
        })
    }

    /// Whether both are the same object of the provider, whatever has changed about it.
    pub(crate) fn is_same_object(&self, other: &Self) -> bool {
        self.path == other.path
    }

    pub(crate) fn wmi_object<'a>(&'a self, node: &'a Node) -> WmiObject<'a> {
        let name = format!("disk {}", self.number);
        WmiObject::instance(&*node.os().storage, &disk::CLASS, &self.path, name)
    }

    /// Makes the provider read the disk anew. A failure is logged: a caller that needs the new
    /// state looks for it.
    pub(crate) fn refresh(&self, node: &Node) {
        let refreshed =
            self.wmi_object(node)
                .invoke_unverified(&disk::REFRESH, &Arguments::none(), &[]);
        if let Err(error) = refreshed {
            tracing::warn!(disk = self.number.0, %error, "the storage provider did not refresh a disk");
        }
    }
}

impl From<u32> for Style {
    fn from(style: u32) -> Self {
        match style {
            _ if style == disk::partition_style::UNKNOWN.value => Self::Raw,
            _ if style == disk::partition_style::MBR.value => Self::Mbr,
            _ if style == disk::partition_style::GPT.value => Self::Gpt,
            other => Self::Other(other),
        }
    }
}

/// An `MSFT_Partition`.
pub(crate) struct Partition {
    pub(crate) disk: DiskNumber,
    pub(crate) number: PartitionNumber,
    /// Of a GPT disk, the type in braces.
    pub(crate) gpt_type: Option<String>,
    pub(crate) offset: u64,
    /// Of a GPT disk.
    pub(crate) guid: Option<Uuid>,
    path: ObjectPath,
}

impl Partition {
    /// The partitions of a disk. The provider was seen to leave their disk's number unsaid, on a node of a cluster
    /// (<https://github.com/dsccommunity/StorageDsc/issues/224>): then they are those that it associates with the disk.
    pub(crate) fn list(
        node: &Node,
        disk: &Disk,
        deadline: Deadline,
    ) -> Result<Vec<Self>, ProviderError> {
        const SELECT: &[&str] = &[
            partition::DISK_NUMBER.name,
            partition::GPT_TYPE.name,
            partition::GUID.name,
            partition::OFFSET.name,
            partition::PARTITION_NUMBER.name,
        ];
        let query = Query::all(partition::CLASS.name, SELECT)
            .with(partition::DISK_NUMBER.name, Value::uint32(disk.number.0));
        let mut found = local_rows::query(node, &query, deadline)?;
        if found.is_empty() {
            let (by, class) = (disk_to_partition::CLASS.name, partition::CLASS.name);
            found = local_rows::associated(node, &disk.path, by, class, deadline)?;
        }
        found
            .into_iter()
            .map(|row| Self::read(disk.number, row))
            .collect()
    }

    fn read(disk: DiskNumber, row: Instance) -> Result<Self, ProviderError> {
        Ok(Self {
            disk,
            number: PartitionNumber(row.u32(partition::PARTITION_NUMBER.name)?),
            gpt_type: row
                .text_or_null(partition::GPT_TYPE.name)?
                .map(str::to_owned),
            offset: row.u64(partition::OFFSET.name)?,
            guid: row
                .text_or_null(partition::GUID.name)?
                .and_then(|guid| Uuid::try_parse(guid).ok()),
            path: row.path,
        })
    }

    pub(crate) fn is_basic_data(&self) -> bool {
        let basic_data = partition::gpt_type::BASIC_DATA.value;
        let gpt_type = self.gpt_type.as_deref();
        gpt_type.is_some_and(|gpt_type| gpt_type.eq_ignore_ascii_case(basic_data))
    }

    pub(crate) fn wmi_object<'a>(&'a self, node: &'a Node) -> WmiObject<'a> {
        let name = format!("partition {} of disk {}", self.number, self.disk);
        WmiObject::instance(&*node.os().storage, &partition::CLASS, &self.path, name)
    }
}

/// An `MSFT_Volume`.
pub(crate) struct Volume {
    id: VolumeId,
    path: ObjectPath,
}

impl Volume {
    /// The volume of this id.
    pub(crate) fn find(
        node: &Node,
        id: VolumeId,
        deadline: Deadline,
    ) -> Result<Self, ProviderError> {
        let query = Query::all(volume::CLASS.name, &[volume::UNIQUE_ID.name])
            .with(volume::UNIQUE_ID.name, Value::text(id.to_string()));
        let found = local_rows::query(node, &query, deadline)?;
        let row = sole(&format_args!("volume {id}"), found)?;
        Ok(Self { id, path: row.path })
    }

    pub(crate) fn wmi_object<'a>(&'a self, node: &'a Node) -> WmiObject<'a> {
        let name = format!("volume {}", self.id);
        WmiObject::instance(&*node.os().storage, &volume::CLASS, &self.path, name)
    }
}

/// Makes the provider look for disks that came, went or grew.
pub(crate) fn rescan(node: &Node) -> Result<(), ProviderError> {
    use schema::storage_setting::{CLASS, UPDATE_HOST_STORAGE_CACHE};
    let settings = WmiObject::class(&*node.os().storage, &CLASS, "the host's storage");
    settings.invoke_unverified(&UPDATE_HOST_STORAGE_CACHE, &Arguments::none(), &[])
}
