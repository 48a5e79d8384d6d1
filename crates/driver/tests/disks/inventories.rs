//! Random sets of disks and random requests: what a request does not name, or what is not blank, is never written, and for
//! readers nothing is. No disk that the request does not name changes its state.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write as _};
use std::sync::LazyLock;

use proptest::bool::weighted;
use proptest::prelude::{Just, Strategy, prop_oneof};
use proptest::test_runner::{Config, TestRunner};
use proptest::{collection, option, sample};
use transport::Code;
use wincsi::Feature;
use wincsi::disks::DiskQuery;
use wincsi::sim::{Address, Bus, Content, DiskSpec, IdentifierKind, IdentifierPage};
use wincsi_driver::kinds::disk::{Attributes, Luns};
use wincsi_driver::record::Access;

use crate::deaths::Sparse;
use crate::fixture::{Fixture, Host, STAGING};

const LENGTH: u64 = 32 << 20;

/// Of so many cases that others draw, one is drawn: each is a node of its own, over the pipes with a proxy.
const SHARE: u32 = 2;

/// So few, that disks often have the same.
const SERIALS: [&str; 2] = ["SN-1", "SN-2"];
const NAMES: [&str; 2] = [
    "600224801234567890abcdef00000001",
    "600224801234567890abcdef00000002",
];

#[derive(Clone, Debug)]
struct Disk {
    bus: Bus,
    adapter: u8,
    lun: u8,
    serial: Option<usize>,
    name: Option<usize>,
    page: IdentifierPage,
    content: On,
}

/// What is on a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum On {
    Nothing,
    /// The superblock of ext4.
    Ext4,
    /// A master boot record with a partition.
    Mbr,
    /// A byte that is no zero.
    Byte,
    /// A dynamic disk, with a volume of Windows.
    Dynamic,
    /// What the first disk has, when this is its clone.
    CloneOfFirst,
    /// NTFS, as this driver makes it.
    Ntfs,
}

/// A disk with NTFS.
static FORMATTED: LazyLock<Fixture> = LazyLock::new(|| {
    let fixture = Fixture::of_length(LENGTH);
    fixture.stage().unwrap();
    fixture.unstage().unwrap();
    fixture
});

/// The keys of a request, as a controller writes them.
type Request = BTreeMap<&'static str, String>;

fn disks() -> impl Strategy<Value = Vec<Disk>> {
    let page = prop_oneof![
        6 => Just(IdentifierPage::Answered),
        1 => Just(IdentifierPage::Failing),
        1 => Just(IdentifierPage::Malformed),
        1 => Just(IdentifierPage::Refused),
    ];
    let content = prop_oneof![
        5 => Just(On::Nothing),
        1 => Just(On::Ext4),
        1 => Just(On::Mbr),
        1 => Just(On::Byte),
        1 => Just(On::Dynamic),
        1 => Just(On::CloneOfFirst),
        3 => Just(On::Ntfs),
    ];
    let bus = prop_oneof![3 => Just(Bus::Sas), 1 => Just(Bus::Nvme)];
    let place = (bus, 1..=2_u8, 1..=3_u8);
    let names = (option::of(0..2_usize), option::of(0..2_usize));
    let disk = (place, names, page, content).prop_map(
        |((bus, adapter, lun), (serial, name), page, content)| Disk {
            bus,
            adapter,
            lun,
            serial,
            name,
            page,
            content,
        },
    );
    collection::vec(disk, 1..5).prop_map(at_places_of_their_own)
}

fn at_places_of_their_own(mut disks: Vec<Disk>) -> Vec<Disk> {
    let mut taken = BTreeSet::new();
    disks.retain(|disk| taken.insert((disk.adapter, disk.lun)));
    disks
}

/// The keys of a disk that a request has, and which of them have a value that the disk has not.
#[derive(Clone, Debug)]
struct Drawn {
    disk: usize,
    keys: Vec<&'static str>,
    is_wrong: Vec<bool>,
    luns: Luns,
    access: Access,
}

const KEYS: [&str; 6] = [
    "page83",
    "serialNumber",
    "adapter",
    "lun",
    "LUN",
    "namespace",
];

fn requests() -> impl Strategy<Value = Drawn> {
    let luns = prop_oneof![
        Just(Luns::Unknown),
        Just(Luns::Scsi { adapter: 1 }),
        Just(Luns::Nvme { adapter: 1 }),
    ];
    let keys = sample::subsequence(KEYS.to_vec(), 1..=4);
    let is_wrong = collection::vec(weighted(0.15), KEYS.len());
    let access = prop_oneof![
        2 => Just(Access::ReadWrite),
        1 => Just(Access::ReadOnly),
        1 => Just(Access::SharedReadOnly),
    ];
    let drawn = (0..4_usize, keys, is_wrong, luns, access);
    drawn.prop_map(|(disk, keys, is_wrong, luns, access)| Drawn {
        disk,
        keys,
        is_wrong,
        luns,
        access,
    })
}

impl Drawn {
    fn request(&self, disks: &[Disk]) -> Request {
        let disk = &disks[self.disk % disks.len()];
        let other = disk.other();
        let keys = self.keys.iter().zip(&self.is_wrong);
        let pairs = keys.filter_map(|(key, is_wrong)| {
            let of = if *is_wrong { &other } else { disk };
            Some((*key, of.value(key, self.luns)?))
        });
        pairs.collect()
    }
}

#[derive(Default)]
struct Counted {
    staged: u32,
    staged_for_readers: u32,
    refused: u32,
    not_enough: u32,
}

#[test]
fn no_disk_is_written_that_the_request_does_not_name_or_that_is_not_blank() {
    let mut runner = TestRunner::new(Config {
        cases: Config::default().cases / SHARE,
        failure_persistence: None,
        ..Config::default()
    });
    let counted = RefCell::new(Counted::default());
    let ran = runner.run(&(disks(), requests()), |(disks, drawn)| {
        Case::new(&disks, &drawn).check(&mut counted.borrow_mut());
        Ok(())
    });
    if let Err(error) = ran {
        panic!("{error}");
    }
    let Counted {
        staged,
        staged_for_readers,
        refused,
        not_enough,
    } = counted.into_inner();
    let _ = writeln!(
        io::stderr(),
        "counted: {} cases ({staged} staged, {staged_for_readers} of them for readers, {refused} refused, {not_enough} requests that identify no disk)",
        staged + refused + not_enough
    );
    assert!(
        staged > 0 && refused > 20 / SHARE,
        "{staged} staged, {refused} refused"
    );
}

/// A request to a machine with these disks.
struct Case<'a> {
    disks: &'a [Disk],
    names: Vec<String>,
    request: Request,
    luns: Luns,
    access: Access,
}

impl<'a> Case<'a> {
    fn new(disks: &'a [Disk], drawn: &Drawn) -> Self {
        let names = (0..disks.len()).map(|number| format!("disk{number}"));
        Self {
            disks,
            names: names.collect(),
            request: drawn.request(disks),
            luns: drawn.luns,
            access: drawn.access,
        }
    }

    fn check(&self, counted: &mut Counted) {
        let Some(query) = query(&self.request, self.luns) else {
            counted.not_enough += 1;
            return;
        };
        let fixture = Fixture::without_disk(query).for_readers(self.access);
        let disks = self.disks.iter().zip(&self.names);
        let numbers: Vec<_> = disks
            .map(|(disk, name)| {
                disk.plug_into(&fixture, name);
                fixture.newest_disk()
            })
            .collect();
        let (before, others) = (contents(&fixture, &self.names), fixture.others());
        let mut states = fixture.disk_states();
        let staged = fixture.stage();
        self.check_contents(&before, &contents(&fixture, &self.names));
        assert!(others == fixture.others(), "written: the system's disk");
        let states_after = fixture.disk_states();
        if let Some(sole) = self.sole()
            && let Some(before) = states.get_mut(&numbers[sole])
        {
            let after = states_after[&numbers[sole]];
            // What may come through is no refusal.
            let error = staged.as_ref().err();
            let is_refused = error.is_some_and(|error| error.code() != Code::Unavailable);
            match is_refused && !self.has(sole, On::Ntfs) {
                false => *before = after,
                // There it was online in between.
                true if crate::HOST == Host::Pipes => before.1 = after.1,
                true => {}
            }
        }
        assert_eq!(states, states_after, "{staged:?}");
        match staged {
            Ok(()) => {
                assert!(self.sole().is_some(), "staged, and not the only one");
                counted.staged += 1;
                counted.staged_for_readers += u32::from(self.is_for_readers());
            }
            Err(error) => {
                assert!(!self.is_plain(&fixture), "{error}");
                assert!(!fixture.exists(STAGING), "{error}");
                counted.refused += 1;
            }
        }
    }

    fn check_contents(&self, before: &[Sparse], after: &[Sparse]) {
        for (number, (before, after)) in before.iter().zip(after).enumerate() {
            let is_named = self.sole() == Some(number);
            let may_be_written =
                is_named && !self.is_for_readers() && self.has(number, On::Nothing);
            // Windows gives a copy a new signature when it comes online beside its original.
            let may_be_signed = is_named && !self.is_for_readers() && self.has(number, On::Ntfs);
            let is_unwritten = match may_be_signed && !self.alone_has_ntfs(number) {
                true => before.has_data_of(after),
                false => before == after,
            };
            assert!(may_be_written || is_unwritten, "written: {number}");
        }
    }

    /// The disk that the request names, if it names one. Windows does not list a dynamic disk.
    fn sole(&self) -> Option<usize> {
        let disks = self.disks.iter().enumerate();
        let disks = disks.filter(|(number, _)| !self.has(*number, On::Dynamic));
        let named = disks.filter(|(_, disk)| disk.is_named_by(&self.request, self.luns));
        let mut named = named.map(|(number, _)| number);
        named.next().filter(|_| named.next().is_none())
    }

    /// Whether nothing keeps the volume from being staged.
    fn is_plain(&self, fixture: &Fixture) -> bool {
        let mut disks = self.disks.iter();
        let all_answer = disks.all(|disk| disk.page == IdentifierPage::Answered);
        let has = |key| self.request.contains_key(key);
        let is_by_namespace =
            has("namespace") || has("LUN") && matches!(self.luns, Luns::Nvme { .. });
        let is_carried = fixture.host_supports(Feature::DeviceCriteria) || !is_by_namespace;
        all_answer
            && is_carried
            && self
                .sole()
                .is_some_and(|sole| self.is_usable(sole, fixture))
    }

    fn is_usable(&self, sole: usize, fixture: &Fixture) -> bool {
        let can_be_read =
            || fixture.host_supports(Feature::ReadOnlyDisks) && self.alone_has_ntfs(sole);
        match self.access {
            Access::ReadWrite => self.disks[sole].content == On::Nothing,
            Access::ReadOnly => can_be_read(),
            // An NVMe disk comes online and writable.
            Access::SharedReadOnly => can_be_read() && self.disks[sole].bus == Bus::Sas,
        }
    }

    /// Windows keeps one of several with the same identity offline.
    fn alone_has_ntfs(&self, sole: usize) -> bool {
        let having = (0..self.disks.len()).filter(|number| self.has(*number, On::Ntfs));
        having.eq([sole])
    }

    fn is_for_readers(&self) -> bool {
        self.access != Access::ReadWrite
    }

    fn has(&self, number: usize, content: On) -> bool {
        self.disks[number].content_among(self.disks) == content
    }
}

fn contents(fixture: &Fixture, names: &[String]) -> Vec<Sparse> {
    names.iter().map(|name| fixture.content_of(name)).collect()
}

fn query(request: &Request, luns: Luns) -> Option<DiskQuery> {
    let owned = request.iter();
    let publish = owned
        .map(|(key, value)| ((*key).to_owned(), value.clone()))
        .collect();
    let attributes = Attributes {
        handle: "pv-1",
        publish: &publish,
        volume: &BTreeMap::new(),
    };
    attributes.query(luns).ok()
}

impl Disk {
    /// One that differs in all that identifies it.
    fn other(&self) -> Self {
        Self {
            adapter: 3 - self.adapter,
            lun: self.lun % 3 + 1,
            serial: self.serial.map(|serial| 1 - serial),
            name: self.name.map(|name| 1 - name),
            ..self.clone()
        }
    }

    /// What a controller that means this disk writes.
    fn value(&self, key: &str, luns: Luns) -> Option<String> {
        match key {
            "page83" => self.name.map(|name| NAMES[name].to_owned()),
            "serialNumber" => self.serial.map(|serial| SERIALS[serial].to_owned()),
            "adapter" => Some(self.adapter.to_string()),
            "namespace" => self.namespace(),
            "LUN" => self.azure_lun(luns),
            _ => self.unit(),
        }
    }

    /// Of an NVMe disk the namespace's number less two.
    fn azure_lun(&self, luns: Luns) -> Option<String> {
        match luns {
            Luns::Nvme { .. } => (self.bus == Bus::Nvme).then(|| (self.lun - 1).to_string()),
            Luns::Unknown | Luns::Scsi { .. } => self.unit(),
        }
    }

    fn unit(&self) -> Option<String> {
        (self.bus == Bus::Sas).then(|| self.lun.to_string())
    }

    /// Windows counts logical units from 0, and NVMe its namespaces from 1.
    fn namespace(&self) -> Option<String> {
        (self.bus == Bus::Nvme).then(|| (self.lun + 1).to_string())
    }

    /// The disk's own names count. A disk that refuses its page has no known name, also beside a twin that answers.
    fn is_named_by(&self, request: &Request, luns: Luns) -> bool {
        let is_known = self.page != IdentifierPage::Refused;
        request.iter().all(|(key, value)| match *key {
            "page83" => is_known && self.name.is_some_and(|name| NAMES[name] == value),
            "serialNumber" => self.serial.is_some_and(|serial| SERIALS[serial] == value),
            "adapter" => self.adapter.to_string() == *value,
            "namespace" => self.namespace().as_ref() == Some(value),
            "LUN" if luns != Luns::Unknown => {
                self.adapter == 1 && self.azure_lun(luns).as_ref() == Some(value)
            }
            _ => self.unit().as_ref() == Some(value),
        })
    }

    fn content_among(&self, disks: &[Self]) -> On {
        match (self.content, disks.first()) {
            (On::CloneOfFirst, Some(first)) if first.content != On::CloneOfFirst => first.content,
            (On::CloneOfFirst, _) => On::Nothing,
            (content, _) => content,
        }
    }

    fn spec(&self) -> DiskSpec {
        let mut spec = DiskSpec::on(self.bus).answering(self.page);
        spec.address = Address {
            adapter: self.adapter,
            lun: self.lun,
            ..Address::default()
        };
        if let Some(serial) = self.serial {
            spec = spec.serial(SERIALS[serial]);
        }
        match self.name {
            Some(name) => spec.identified(IdentifierKind::Naa, NAMES[name]),
            None => spec,
        }
    }

    fn plug_into(&self, fixture: &Fixture, name: &str) {
        let hardware = fixture.hardware();
        if self.content == On::CloneOfFirst && name != "disk0" {
            hardware.clone_disk("disk0", name, &self.spec()).unwrap();
            return;
        }
        let content = match self.content {
            On::Ntfs => Content::image(FORMATTED.image()),
            _ => Content::blank(LENGTH),
        };
        hardware.attach_disk(name, &self.spec(), &content).unwrap();
        let write = |at, bytes: &[u8]| hardware.write_disk(name, at, bytes).unwrap();
        match self.content {
            On::Nothing | On::CloneOfFirst | On::Ntfs => {}
            On::Ext4 => write(1080, &[0x53, 0xef]),
            On::Mbr => {
                // A partition of Linux from sector 2048 on.
                write(446, &[0, 0, 2, 0, 0x83, 0, 0, 0, 0, 8, 0, 0, 0, 0x80, 0, 0]);
                write(510, &[0x55, 0xaa]);
            }
            On::Byte => write(3 << 20, &[1]),
            On::Dynamic => drop(hardware.span_disks(&[name]).unwrap()),
        }
    }
}
