//! A simulated node to run operations on, and a way to say what state it is in.

#![allow(dead_code, reason = "each test binary uses a part of it")]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "these are helpers of tests"
)]

mod copy;
pub(crate) mod crash;
pub(crate) mod disk_images;
pub(crate) mod initiator;
pub(crate) mod inject;
pub(crate) mod spanned;
mod stage;
mod state;
pub(crate) mod stuck;
pub(crate) mod swap;
pub(crate) mod warnings;

use std::cell::{Cell, OnceCell};
use std::io::{self, Write};
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use os::schema::{disk, partition};
use os::{
    Arguments, Deadline, DiskAttributes, DiskNumber, DriveLayout, Os, PartitionStyle, Query, Space,
    Target, Value, VolumeId, WinPath,
};
use os_meter::{Counts, Meter, Tally};
use os_sim::smb::ServerSpec;
use os_sim::testing::{TestNode, junction_to};
use os_sim::{Bus, DiskSpec, NodeSpec, Role, SanPolicy};
use uuid::Uuid;
use wincsi_node::{
    AllowedRoots, DiskError, Disks, Filesystem, FormatGuard, Iscsi, Kept, NewSize, Node, Options,
    Replaced, Resized, ResolveError, ResolvedPath, Server, Services, Smb, VolumeError, Volumes,
};

#[allow(unused_imports, reason = "each test binary uses a part of it")]
pub(crate) use os_sim::testing::{assert_says, path};

pub(crate) const GIB: u64 = 1 << 30;

/// The share of the SMB server, with its user.
pub(crate) const SHARE: &str = r"\\files\share";
pub(crate) const USER: &str = r"FILES\alice";
pub(crate) const PASSWORD: &str = "correct horse";

/// The data disk's name, which is its serial number as well.
pub(crate) const DATA: &str = "data1";

/// The folder that csi-proxy confines its clients' paths to.
pub(crate) const KUBELET: &str = r"C:\var\lib\kubelet";

/// Where a driver stages a volume.
pub(crate) const STAGING: &str = r"C:\var\lib\kubelet\plugins\globalmount";

/// A simulated node as one process sees it, and the operations on it.
pub(crate) struct NodeFixture {
    pub(crate) node: Node,
    options: Options,
    known: Cell<Known>,
    reach: Reach,
    allowed: OnceCell<Arc<AllowedRoots>>,
    tally: Arc<Tally>,
    // Dropped last: its folder goes with it, and Windows keeps a folder in which the fields above have a file open.
    pub(crate) sim: TestNode,
}

/// How far the paths of a node's clients may lead, as csi-proxy's `--confine-paths` says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Reach {
    #[default]
    WorkingFolder,
    Everywhere,
}

/// The values that were looked up before faults were injected.
#[derive(Clone, Copy, Default)]
struct Known {
    disk: Option<DiskNumber>,
    volume: Option<VolumeId>,
}

impl NodeFixture {
    /// A node whose disks come up by themselves, and an hour to spare for each operation.
    pub(crate) fn new() -> Self {
        Self::with(Options::default())
    }

    pub(crate) fn with(options: Options) -> Self {
        let spec = NodeSpec::named("node-1").san_policy(SanPolicy::OnlineAll);
        Self::of(&spec, options)
    }

    pub(crate) fn of(spec: &NodeSpec, options: Options) -> Self {
        Self::assembled(TestNode::of(tempfile::tempdir().unwrap(), spec), options)
    }

    /// With a disk that arrives offline and read-only, and that `Initialize` leaves so.
    pub(crate) fn whose_tables_leave_a_disk_offline() -> Self {
        let spec = NodeSpec {
            initialize_brings_online: false,
            ..NodeSpec::named("node-1").san_policy(SanPolicy::OfflineAll)
        };
        let fixture = Self::of(&spec, Options::default());
        fixture.plug(&DiskSpec::on(Bus::Sas).serial(DATA).lun(1), DATA, 2 * GIB);
        fixture
    }

    /// [`NodeFixture::with_mounted_volume`] on such a node, which is set up so only afterwards, and keeps its name.
    pub(crate) fn with_mounted_volume_on(spec: &NodeSpec) -> Self {
        let fixture = Self::with_mounted_volume();
        let name = "node-1".to_owned();
        let spec = NodeSpec {
            name,
            ..spec.clone()
        };
        let text = toml::to_string(&spec).unwrap();
        std::fs::write(fixture.folder().join("node.toml"), text).unwrap();
        fixture.reopened()
    }

    /// A node with one blank disk that the storage provider has seen.
    pub(crate) fn with_data_disk() -> Self {
        let fixture = Self::new();
        fixture.plug(&DiskSpec::on(Bus::Sas).serial(DATA).lun(1), DATA, 4 * GIB);
        fixture
    }

    /// A node with a disk that has one blank MBR partition of this type.
    pub(crate) fn with_mbr_partition(kind: u8, options: Options) -> Self {
        let mut images = formats::fixtures::all().into_iter();
        let image = images
            .find(|image| image.name == "mbr-sfdisk")
            .unwrap()
            .image;
        let fixture = Self::with(options);
        fixture.plug(&DiskSpec::on(Bus::Sas).serial(DATA), DATA, image.length());
        for (at, bytes) in image.runs() {
            fixture.overwrite(DATA, at, bytes);
        }
        fixture.overwrite(DATA, 450, &[kind]);
        fixture.update_properties();
        fixture.rescan();
        fixture
    }

    /// A node with a disk that has one formatted volume.
    pub(crate) fn with_volume() -> Self {
        let fixture = Self::with_data_disk();
        fixture.partition();
        fixture.format();
        fixture
    }

    /// A node where the volume is mounted at [`NodeFixture::staging`] and holds a file.
    pub(crate) fn with_mounted_volume() -> Self {
        let fixture = Self::with_volume();
        fixture.mount_volume(fixture.volume(), STAGING);
        fixture.write(&format!(r"{STAGING}\data.txt"), "precious");
        fixture
    }

    /// A node with the folder `C:\var` and a server that shares [`SHARE`] with [`USER`].
    pub(crate) fn with_server() -> Self {
        Self::with_data_disk().beside_server()
    }

    /// The same on such a node, without a data disk.
    pub(crate) fn with_server_on(spec: &NodeSpec) -> Self {
        Self::of(spec, Options::default()).beside_server()
    }

    fn beside_server(self) -> Self {
        let fixture = self;
        let server = ServerSpec::sharing("share", USER, PASSWORD);
        fixture.servers().add_server("files", &server).unwrap();
        fixture.make_directory(r"C:\var");
        fixture
    }

    /// Gives the server's user another password: its sessions end, and mappings do not answer.
    pub(crate) fn change_password(&self, password: &str) {
        let user = ServerSpec::sharing("share", USER, password).user;
        self.servers()
            .change_server("files", |server| server.user = user)
            .unwrap();
    }

    /// The same node after its process died: another process, other locks.
    pub(crate) fn reopened(self) -> Self {
        Self::assembled(self.sim.reopened(), self.options).reaching(self.reach)
    }

    /// The same node once more, in a folder and a process of its own, that looks nothing up any more. Preparing one
    /// takes most of a test's time.
    pub(crate) fn copied(&self) -> Self {
        let home = tempfile::tempdir().unwrap();
        copy::copy_folder(self.home(), home.path()).unwrap();
        let copied = Self::assembled(TestNode::open(home), self.options).reaching(self.reach);
        copied.settle();
        copied
    }

    /// The same node, to whose clients other folders are open.
    pub(crate) fn reaching(self, reach: Reach) -> Self {
        Self { reach, ..self }
    }

    /// The operations of a server with this guard, which may wipe what is mounted outside of the kubelet's folder.
    pub(crate) fn served(&self, guard: FormatGuard) -> Node {
        let kept = Kept {
            working_folders: vec![path(KUBELET)],
            ..Kept::default()
        };
        serve(self.os().clone(), guard, kept)
    }

    fn assembled(sim: TestNode, options: Options) -> Self {
        let tally = Arc::new(Tally::default());
        let meter: Arc<dyn Meter> = Arc::clone(&tally) as _;
        let node = Node::new(os_meter::metered(sim.os(), &meter), options);
        Self {
            node,
            options,
            known: Cell::default(),
            reach: Reach::default(),
            allowed: OnceCell::new(),
            tally,
            sim,
        }
    }

    /// The objects that operations opened and nobody released: held directories, locked volumes.
    pub(crate) fn open(&self) -> Counts {
        self.tally.open()
    }

    /// Plugs a blank disk in and lets the storage provider see it.
    pub(crate) fn plug(&self, spec: &DiskSpec, name: &str, length: u64) {
        self.attach(name, spec, length);
        self.rescan();
    }

    pub(crate) fn os(&self) -> &Os {
        self.node.os()
    }

    pub(crate) fn disks(&self) -> Disks<'_> {
        self.node.operations().disks()
    }

    pub(crate) fn filesystem(&self) -> Filesystem<'_> {
        self.node.operations().filesystem()
    }

    pub(crate) fn iscsi(&self) -> Iscsi<'_> {
        self.node.operations().iscsi()
    }

    pub(crate) fn services(&self) -> Services<'_> {
        self.node.operations().services()
    }

    pub(crate) fn smb(&self) -> Smb<'_> {
        self.node.operations().smb()
    }

    pub(crate) fn volumes(&self) -> Volumes<'_> {
        self.node.operations().volumes()
    }

    pub(crate) fn soon(&self) -> Deadline {
        Deadline::within(&*self.os().clock, Duration::from_secs(3600))
    }

    pub(crate) fn staging(&self) -> WinPath {
        path(STAGING)
    }

    /// A client's path, resolved as csi-proxy does for each call.
    pub(crate) fn resolved(&self, at: &str) -> Result<ResolvedPath, ResolveError> {
        match self.reach {
            Reach::Everywhere => Ok(ResolvedPath::from(&path(at))),
            Reach::WorkingFolder => self.allowed().resolve(self.os(), &path(at)),
        }
    }

    /// Another formatted volume.
    pub(crate) fn other_volume(&self) -> VolumeId {
        const OTHER: &str = "other";
        self.plug(&DiskSpec::on(Bus::Sas).serial(OTHER).lun(9), OTHER, GIB);
        self.formatted(self.disk_of(OTHER))
    }

    /// The new volume of a blank disk.
    pub(crate) fn formatted(&self, disk: DiskNumber) -> VolumeId {
        let (volumes, soon) = (self.volumes(), self.soon());
        self.disks().partition(disk, soon).unwrap();
        let volume = volumes.sole_on_disk(disk, soon).unwrap();
        volumes.format(volume, soon).unwrap();
        volume
    }

    pub(crate) fn rescan(&self) {
        self.disks().rescan(self.soon()).unwrap();
    }

    /// Partitions the data disk.
    pub(crate) fn partition(&self) {
        self.try_partition().unwrap();
    }

    pub(crate) fn try_partition(&self) -> Result<(), DiskError> {
        self.disks().partition(self.disk(), self.soon())
    }

    /// Formats the data disk's volume.
    pub(crate) fn format(&self) {
        self.try_format().unwrap();
    }

    pub(crate) fn try_format(&self) -> Result<Replaced, VolumeError> {
        self.volumes().format(self.volume(), self.soon())
    }

    /// Resizes the data disk's volume.
    pub(crate) fn resize(&self, size: NewSize) -> Result<Resized, VolumeError> {
        self.volumes().resize(self.volume(), size, self.soon())
    }

    /// The space of the data disk's volume.
    pub(crate) fn stats(&self) -> Result<Space, VolumeError> {
        self.volumes().stats(self.volume(), self.soon())
    }

    /// Takes the data disk offline.
    pub(crate) fn set_offline(&self) {
        self.try_set_offline().unwrap();
    }

    pub(crate) fn try_set_offline(&self) -> Result<(), DiskError> {
        self.disks().set_offline(self.disk(), self.soon())
    }

    /// The data disk's attributes, as the kernel has them.
    pub(crate) fn attributes(&self) -> DiskAttributes {
        self.os().disks.attributes(self.disk()).unwrap()
    }

    /// The same of the disk of this name.
    pub(crate) fn attributes_of(&self, name: &str) -> DiskAttributes {
        self.os().disks.attributes(self.disk_of(name)).unwrap()
    }

    /// The table's kind and identifier of the disk of this name.
    pub(crate) fn style_of(&self, name: &str) -> PartitionStyle {
        self.os().disks.layout(self.disk_of(name)).unwrap().style
    }

    /// The data disk's table, as the kernel has it.
    pub(crate) fn layout(&self) -> DriveLayout {
        self.os().disks.layout(self.disk()).unwrap()
    }

    /// Has the kernel read the data disk's table again.
    pub(crate) fn update_properties(&self) {
        self.os().disks.update_properties(self.disk()).unwrap();
    }

    pub(crate) fn make_directory(&self, at: &str) {
        let made = self.filesystem().make_directory(&path(at), self.soon());
        made.unwrap();
    }

    /// Mounts a volume at a new folder.
    pub(crate) fn mount_volume(&self, volume: VolumeId, at: &str) {
        self.make_directory(at);
        let mounted = self.volumes().mount(volume, &path(at), self.soon());
        mounted.unwrap();
    }

    /// The working folder, which csi-proxy resolves once, when it starts.
    fn allowed(&self) -> &Arc<AllowedRoots> {
        let folders = [path(KUBELET)];
        let resolve = || AllowedRoots::resolve_roots(self.os(), &folders);
        self.allowed.get_or_init(resolve)
    }

    /// Looks up working folder, disk and volume, so that the next operation is that of a scenario.
    pub(crate) fn settle(&self) {
        self.allowed();
        let disk = self.disk();
        let volumes = self
            .node
            .operations()
            .volumes()
            .list_on_disk(disk, None, self.soon());
        self.known.set(Known {
            disk: Some(disk),
            volume: volumes.unwrap().first().copied(),
        });
        let _ = self.take_trace();
    }

    /// The number of the data disk.
    pub(crate) fn disk(&self) -> DiskNumber {
        let known = self.known.get().disk;
        known.unwrap_or_else(|| self.disk_of(DATA))
    }

    /// The data disk's volume.
    pub(crate) fn volume(&self) -> VolumeId {
        let known = self.known.get().volume;
        known.unwrap_or_else(|| {
            let volumes = self.node.operations().volumes();
            volumes.sole_on_disk(self.disk(), self.soon()).unwrap()
        })
    }

    /// Makes a junction of an empty directory in place, even of a held one.
    pub(crate) fn become_junction(&self, directory: &WinPath, target: &str) {
        let data = junction_to(target);
        let tree = self.files();
        tree.become_reparse_point(directory, &data).unwrap();
    }

    /// Has the storage provider say that the data disk is for this, as once a cluster took it.
    pub(crate) fn give_role(&self, role: Role) {
        self.change_disk(DATA, |spec| *spec = spec.clone().playing(role));
        self.rescan();
    }

    /// Makes one more partition of this GPT type on the data disk, as an operator might.
    pub(crate) fn add_partition(&self, kind: Uuid, offset: u64, length: u64) {
        use disk::create_partition::{GPT_TYPE, OFFSET, SIZE};
        let partition = Arguments::none()
            .with(OFFSET.name, Value::uint64(offset))
            .with(SIZE.name, Value::uint64(length))
            .with(GPT_TYPE.name, Value::text(kind.braced().to_string()));
        self.call_disk(disk::CREATE_PARTITION.name, &partition);
    }

    /// Takes the data disk offline past all rules of ours.
    pub(crate) fn force_offline(&self) {
        self.call_disk(disk::OFFLINE.name, &Arguments::none());
    }

    /// Sets the data disk's read-only attribute, as an operator might.
    pub(crate) fn make_read_only(&self) {
        let read_only =
            Arguments::none().with(disk::set_attributes::IS_READ_ONLY.name, Value::Bool(true));
        self.call_disk(disk::SET_ATTRIBUTES.name, &read_only);
    }

    fn call_disk(&self, method: &'static str, arguments: &Arguments) {
        let query = Query::all(disk::CLASS.name, &[disk::NUMBER.name])
            .with(disk::NUMBER.name, Value::uint32(self.disk().0));
        self.call(&query, method, arguments);
    }

    /// Takes the data partition offline, and the disk not.
    pub(crate) fn take_partition_offline(&self) {
        let query = Query::all(partition::CLASS.name, &[partition::DISK_NUMBER.name])
            .with(partition::DISK_NUMBER.name, Value::uint32(self.disk().0))
            .with(
                partition::GPT_TYPE.name,
                Value::text(partition::gpt_type::BASIC_DATA.value),
            );
        self.call(&query, partition::OFFLINE.name, &Arguments::none());
    }

    fn call(&self, on: &Query<'_>, method: &'static str, arguments: &Arguments) {
        let found = self.os().storage.query(on, self.soon()).unwrap();
        let target = Target::Instance(&found[0].path);
        let storage = &self.os().storage;
        let outcome = storage.invoke(target, method, arguments, self.soon());
        assert_eq!(outcome.unwrap().code, 0);
    }

    /// The same node once its volume is unmounted, as before its disk goes offline.
    pub(crate) fn unmounted(self) -> Self {
        let (volume, staging) = (self.volume(), self.staging());
        let unmounted = self.volumes().unmount(volume, &staging, self.soon());
        unmounted.unwrap();
        self
    }

    /// The file that [`NodeFixture::with_mounted_volume`] put on the volume, whatever is mounted where.
    pub(crate) fn precious(&self) -> String {
        self.read(&format!("{}data.txt", self.volume()))
    }
}

impl Deref for NodeFixture {
    type Target = TestNode;

    fn deref(&self) -> &TestNode {
        &self.sim
    }
}

/// The operations of a server with this guard, which uses and runs from these paths.
pub(crate) fn serve(os: Os, guard: FormatGuard, kept: Kept) -> Node {
    let mut options = Options::default();
    options.format_guard = guard;
    let server = Server {
        kept: Some(kept),
        ..Server::default()
    };
    Node::in_server(os, options, server)
}

/// Prints a count past the harness, which hides the output of a passing test: `cargo xtask test` adds
/// up such lines of a program.
pub(crate) fn counted(number: usize, what: &str, about: &str) {
    let _ = writeln!(io::stderr(), "counted: {number} {what} ({about})");
}
