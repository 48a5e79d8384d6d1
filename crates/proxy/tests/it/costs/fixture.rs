//! The services of csi-proxy in this process, on a node whose operations are counted.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use node::{Node, Options};
use os_meter::{Counts, Meter, Tally};
use os_sim::iscsi::TargetSpec;
use os_sim::{ClockMode, Inventory, NodeSpec, SimNode, demo};
use prost::Message as _;
use prost_reflect::{DescriptorPool, DynamicMessage, Kind, ReflectMessage as _, Value};
use tempfile::TempDir;
use transport::{Call, Service, Status};
use wincsi_proxy::paths::WorkingDirs;
use wincsi_proxy::{Middleware, PipeOperations, groups};
use wire::volume::v2alpha1::ListVolumesOnDiskResponse;
use wire::{Group, Method};

use super::backend::Crossings;
use super::hand;

const KUBELET: &str = r"C:\var\lib\kubelet";
const LIMIT: Duration = Duration::from_secs(600);

/// What the lines of calls.txt abbreviate, and those abbreviations that others have after these.
const ABBREVIATIONS: [(&str, &str); 6] = [
    ("~", KUBELET),
    (
        "$share",
        r"remote_path=\\fileserver\share username=DOMAIN\user password=password",
    ),
    (
        "$new",
        r"remote_path=\\fileserver\share username=DOMAIN\user password=new",
    ),
    ("$target", "$portal iqn=iqn.2026-01.com.example:open"),
    ("$unknown", "$portal iqn=iqn.2026-01.com.example:unknown"),
    ("$portal", "target_portal.target_address=10.0.0.9"),
];

pub(super) struct CostFixture {
    pub(super) sim: SimNode,
    services: BTreeMap<String, Arc<dyn Service>>,
    tally: Arc<Tally>,
    crossings: Crossings,
    /// The first volume of each disk as `$1`, as last listed.
    volumes: BTreeMap<String, String>,
    /// The targets of the iSCSI server that were taken away.
    pub(super) away: Vec<TargetSpec>,
    pub(super) folder: TempDir,
}

impl CostFixture {
    /// The demo's node, after these lines.
    pub(super) fn after(lines: &str) -> Self {
        let folder = TempDir::new().expect("a folder");
        let sim = demo::create(&folder.path().join("node"), ClockMode::Virtual).expect("a node");
        let mut fixture = Self::on(sim, folder);
        let lines = lines.lines().filter(|line| !line.starts_with('#'));
        lines.for_each(|line| fixture.prepare(line));
        fixture
    }

    /// A node in memory with so many disks of one formatted volume each, of which one is mounted.
    pub(super) fn of_volumes(volumes: u32) -> Self {
        let folder = TempDir::new().expect("a folder");
        let (spec, inventory) = (NodeSpec::named("many"), Inventory::of(volumes));
        let clock = ClockMode::Virtual;
        let sim = SimNode::in_memory_with_files(&spec, inventory, clock, folder.path());
        let mut fixture = Self::on(sim.expect("a node"), folder);
        let kubelet: os::WinPath = KUBELET.parse().expect("a path");
        for depth in 1..=kubelet.components().len() {
            let made = fixture
                .sim
                .os()
                .files
                .create_directory(&kubelet.prefix(depth));
            made.expect("a folder");
        }
        for line in [
            "volume.ListVolumesOnDisk disk_number=1",
            r"filesystem.Mkdir path=~\mounted",
            r"volume.MountVolume volume_id=$1 target_path=~\mounted",
        ] {
            fixture.prepare(line);
        }
        fixture
    }

    fn on(sim: SimNode, folder: TempDir) -> Self {
        let (os, crossings) = Crossings::of(sim.os());
        let tally = Arc::<Tally>::default();
        let meter: Arc<dyn Meter> = Arc::clone(&tally) as _;
        let node = Node::new(os_meter::metered(os, &meter), Options::default());
        let dirs = WorkingDirs::parse(vec![KUBELET.to_owned()]).expect("a path");
        let operations = Arc::new(PipeOperations::new(node, dirs));
        let services = groups::registry().into_services(&operations, &Middleware::default());
        let services = services.into_iter();
        Self {
            services: services
                .map(|(group, service)| (group.to_string(), service))
                .collect(),
            sim,
            tally,
            crossings,
            volumes: BTreeMap::new(),
            away: Vec::new(),
            folder,
        }
    }

    /// Makes a call that succeeds, or after `!` fails, or does what is done past csi-proxy.
    pub(super) fn prepare(&mut self, line: &str) {
        match line.strip_prefix('!') {
            Some(call) => assert!(self.call(call).0.is_err(), "{line} succeeds"),
            None if !line.contains('.') => hand::act(self, line),
            None => assert!(self.call(line).0.is_ok(), "{line}: {:?}", self.call(line).0),
        }
    }

    /// The answer to a call, and what it cost.
    pub(super) fn call(&mut self, step: &str) -> (Result<Vec<u8>, Status>, Counts) {
        let (name, fields) = step.split_once(' ').unwrap_or((step, ""));
        let (group, method) = newest(name);
        let message = self.request(group, method, fields).encode_to_vec().into();
        let call = Call::in_process(method.path, message, Instant::now() + LIMIT);
        let service = &self.services[&group.to_string()];
        let call = call.expect("a method's path");
        let (answer, counts) = self.tally.during(|| service.call(&call));
        self.crossings.assert_as_counted(step, &counts);
        if let (Ok(answer), Some(disk)) = (&answer, fields.strip_prefix("disk_number="))
            && method.name == "ListVolumesOnDisk"
        {
            let listed = ListVolumesOnDiskResponse::decode(answer.as_slice()).expect("a list");
            let id = listed.volume_ids.into_iter().next();
            self.volumes.extend(id.map(|id| (format!("${disk}"), id)));
        }
        (answer, counts)
    }

    fn request(&self, group: &Group, method: &Method, fields: &str) -> DynamicMessage {
        let pool = DescriptorPool::decode(group.descriptor_set).expect("descriptors");
        let name = format!("{}.{}", group.package, method.request);
        let mut request = DynamicMessage::new(pool.get_message_by_name(&name).expect("a request"));
        let abbreviations = ABBREVIATIONS.iter();
        let fields = abbreviations.fold(fields.to_owned(), |fields, (short, long)| {
            fields.replace(short, long)
        });
        for field in fields.split_whitespace() {
            let (name, text) = field.split_once('=').expect("a field and its value");
            let volume = self.volumes.get(text);
            set(&mut request, name, volume.map_or(text, String::as_str));
        }
        request
    }
}

/// The method of this name in the newest version that has it.
fn newest(name: &str) -> (&'static Group, &'static Method) {
    let (group, method) = name.split_once('.').expect("group and method");
    let versions = wire::GROUPS
        .iter()
        .rev()
        .filter(|version| version.name == group);
    let mut methods = versions.filter_map(|version| Some((version, version.method(method)?)));
    methods.next().expect(name)
}

fn set(message: &mut DynamicMessage, name: &str, text: &str) {
    if let Some((outer, inner)) = name.split_once('.') {
        let outer = message.get_field_by_name_mut(outer).expect(outer);
        return set(outer.as_message_mut().expect(name), inner, text);
    }
    let field = message.descriptor().get_field_by_name(name).expect(name);
    let value = match field.kind() {
        Kind::String => Value::String(text.to_owned()),
        Kind::Uint32 => Value::U32(text.parse().expect(name)),
        Kind::Int64 => Value::I64(text.parse().expect(name)),
        Kind::Bool => Value::Bool(text.parse().expect(name)),
        other => panic!("{name} is a {other:?}"),
    };
    message.set_field(&field, value);
}
