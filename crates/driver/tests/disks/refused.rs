//! Disks that are refused for what is on them: it is read before their state changes, and they stay as they were.

use transport::Code;
use wincsi::sim::{Arrives, Bus, DiskSpec};
use wincsi_driver::record::Access;

use crate::fixture::{DISK, Fixture, STAGING};

const LENGTH: u64 = 64 << 20;
const MIB: u64 = 1 << 20;

/// From sector 2048 on for 16 MiB, of Linux's type, and the same of Windows's.
const OF_LINUX: [u8; 16] = [0, 0, 2, 0, 0x83, 0, 0, 0, 0, 8, 0, 0, 0, 0x80, 0, 0];
const OURS: [u8; 16] = [0, 0, 2, 0, 7, 0, 0, 0, 0, 8, 0, 0, 0, 0x80, 0, 0];
/// Behind those.
const SECOND: [u8; 16] = [0, 0, 2, 0, 7, 0, 0, 0, 0, 0x90, 0, 0, 0, 0x10, 0, 0];

const EXT4: (u64, &[u8]) = (1080, &[0x53, 0xef]);
const BITLOCKER: (u64, &[u8]) = (3, b"-FVE-FS-");

const CHANGES: [&str; 4] = [
    ONLINE,
    "MSFT_Disk.Offline",
    "MSFT_Disk.SetAttributes",
    "IOCTL_DISK_SET_DISK_ATTRIBUTES",
];
const ONLINE: &str = "MSFT_Disk.Online";

/// What is on a disk, its readers or writers, and what the refusal names.
type Case = (fn() -> Fixture, &'static str);

const REFUSED: [Case; 14] = [
    (|| raw(EXT4), "disk 1 is not overwritten: it holds ext2"),
    (|| raw((3, b"NTFS    ")), "it holds NTFS"),
    (|| raw((0, b"LUKS\xba\xbe\0\x02")), "LUKS2"),
    (|| raw((LENGTH - 512, &[1])), "data at offset 67108352"),
    (|| mbr(&[OF_LINUX]), "its partition has the MBR type 0x83"),
    (|| twin(with(mbr(&[OURS]), MIB, EXT4)), "from byte 1048576"),
    (
        || twin(mbr(&[OURS, SECOND])),
        "not one volume but partitions 1, 2",
    ),
    (|| holding(EXT4), "it holds ext2, ext3 or ext4"),
    (|| holding((3, b"EXFAT   ")), "it holds exFAT"),
    (|| holding((7168, &[1])), "unknown data at offset 7168"),
    (|| read(online(blank())), "not one volume but none"),
    (|| read(blank()), "not one volume but none"),
    (|| read(raw(EXT4)), "not one volume but none"),
    (|| read(mbr(&[OURS, SECOND])), "but partitions 1, 2"),
];

#[test]
fn a_refused_disk_stays_as_it_was() {
    let mut wrong = Vec::new();
    for (prepare, named) in REFUSED {
        let fixture = prepare();
        fixture.rescan();
        let look = || (fixture.content_of(DISK), fixture.disk_states());
        let before = look();
        fixture.take_trace();
        let error = fixture.stage().unwrap_err();
        let trace = fixture.take_trace();
        let is_final = matches!(error.code(), Code::FailedPrecondition | Code::NotFound);
        let mut names = trace.iter().map(|op| op.operation);
        let change = names.find(|name| CHANGES.contains(name));
        let is_same = look() == before && !fixture.exists(STAGING) && fixture.records() == 0;
        if !is_final || !is_same || change.is_some() || !error.to_string().contains(named) {
            wrong.push(format!(
                "{named}: {is_same}, {change:?}, {:?}: {error}",
                error.code()
            ));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Content that only Windows can judge is left to it.
#[test]
fn what_windows_may_mount_is_not_refused_early() {
    let usable: [fn() -> Fixture; 5] = [
        blank,
        formatted,
        || mbr(&[OURS]),
        || twin(formatted()),
        written_by_another_node,
    ];
    for (at, prepare) in usable.into_iter().enumerate() {
        let fixture = prepare();
        let staged = fixture.stage();
        assert!(staged.is_ok(), "{at}: {staged:?}");
        assert!(fixture.is_online());
    }
    // The kernel may not report the partitions of an offline disk.
    let of_a_table = raw((510, &[0x55, 0xaa]));
    let at_last = [
        (holding(BITLOCKER), "BitLocker"),
        (of_a_table, "no GUID partition table"),
    ];
    for (fixture, named) in at_last {
        fixture.take_trace();
        let text = fixture.stage().unwrap_err().to_string();
        assert!(text.contains(named), "{text}");
        let trace = fixture.take_trace();
        assert!(trace.iter().any(|op| op.operation == ONLINE), "{named}");
        assert!(!fixture.is_online(), "{named}");
    }
}

/// A failed read shows nothing of the disk, so Windows's word counts as before.
#[test]
fn a_disk_that_cannot_be_read_is_left_to_the_proof() {
    let fixture = formatted();
    fixture.fail("ReadFile", wincsi::Win32::IO_DEVICE);
    fixture.stage().unwrap();
}

/// Windows' own tools zero the first and the last MiB alone. Where a new partition begins with an old filesystem, that is
/// mounted.
#[test]
fn a_cleared_disk_is_partitioned_and_not_formatted() {
    let zeros = vec![0; usize::try_from(MIB).unwrap()];
    let cleared = with(formatted(), 0, (0, &zeros));
    let cleared = replugged(with(cleared, LENGTH - MIB, (0, &zeros)));
    cleared.sim.take_trace();
    cleared.stage().unwrap();
    let trace = cleared.sim.take_trace();
    let has = |name: &str| trace.iter().any(|op| op.operation == name);
    assert!(has("MSFT_Disk.CreatePartition"));
    assert!(!has("MSFT_Volume.Format"));
}

fn blank() -> Fixture {
    Fixture::of_length(LENGTH)
}

fn read(fixture: Fixture) -> Fixture {
    fixture.for_readers(Access::ReadOnly)
}

fn online(fixture: Fixture) -> Fixture {
    fixture.bring_online();
    fixture
}

fn raw(mark: (u64, &[u8])) -> Fixture {
    with(blank(), 0, mark)
}

fn with(fixture: Fixture, start: u64, (at, bytes): (u64, &[u8])) -> Fixture {
    let hardware = fixture.hardware();
    hardware.write_disk(DISK, start + at, bytes).unwrap();
    fixture
}

fn mbr(partitions: &[[u8; 16]]) -> Fixture {
    let entries = partitions.concat();
    let fixture = with(blank(), 440, (0, &[1, 2, 3, 4]));
    let fixture = with(with(fixture, 446, (0, &entries)), 510, (0, &[0x55, 0xaa]));
    replugged(fixture)
}

/// Windows reads its table.
fn replugged(fixture: Fixture) -> Fixture {
    fixture.pull_out();
    fixture.plug_in();
    fixture.rescan();
    fixture
}

/// Beside a disk of the same signature that is online.
fn twin(fixture: Fixture) -> Fixture {
    let spec = DiskSpec::on(Bus::Sas).lun(2).arriving(Arrives::Online);
    fixture
        .hardware()
        .clone_disk(DISK, "original", &spec)
        .unwrap();
    fixture.rescan();
    fixture
}

fn formatted() -> Fixture {
    let fixture = blank();
    fixture.stage().unwrap();
    fixture.unstage().unwrap();
    fixture
}

/// With this alone where the volume's filesystem was.
fn holding(mark: (u64, &[u8])) -> Fixture {
    let fixture = formatted();
    let table = fixture.beginning();
    let (entries, _) = table[1024..].as_chunks::<128>();
    let entry = entries
        .iter()
        .find(|entry| entry.starts_with(&[0xa2, 0xa0, 0xd0, 0xeb]))
        .unwrap();
    let number = |at: usize| u64::from_le_bytes(entry[at..at + 8].try_into().unwrap());
    let (start, end) = (number(32) * 512, (number(40) + 1) * 512);
    let zeros = vec![0; usize::try_from(end - start).unwrap()];
    replugged(with(with(fixture, start, (0, &zeros)), start, mark))
}

/// While the kernel of this one knows a blank disk.
fn written_by_another_node() -> Fixture {
    let (fixture, other) = (blank(), formatted());
    fixture.rescan();
    let content = other.bytes(DISK, 0, usize::try_from(LENGTH).unwrap());
    with(fixture, 0, (0, &content))
}
