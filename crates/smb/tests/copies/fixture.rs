//! A source with each kind of entry, its copies, and whether both are equal.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::ops::ControlFlow;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use wincsi_smb::{Basic, Copied, CopyOrder, CopyProgress, Error, Failure, Kind, Name};
use wincsi_smb::{Privacy, RemoteShare, Share, SharePath, Unsteady};

use crate::proxy::{Attack, From, Instead, between, one, unchanged};
use crate::server::{PASSWORD, Samba, open, soon, user};

/// Attributes are bits of the mode, so that a test sets and sees them without the client.
const MODES: &str = "create mask = 0777\nmap archive = yes\nmap hidden = yes\nmap system = yes\n";

/// How many messages of each side come before: the logon, and that which opens the share.
const FIRST: usize = 4;

pub(crate) const MIB: usize = 1024 * 1024;

/// The path and each attribute of an entry of a tree; its content too.
type Tree = BTreeMap<String, (Kind, u64, Basic, Vec<u8>)>;

/// The command of each message of a client, in the clear.
pub(crate) type Commands = Arc<Mutex<Vec<u8>>>;

pub(crate) struct Fixture {
    pub(crate) samba: Samba,
}

impl Fixture {
    /// With an empty source `v`, a folder for copies, and a victim.
    pub(crate) fn new(lines: &str) -> Self {
        let samba = Samba::with(&format!("{MODES}{lines}"));
        for folder in ["v", "copies/c", "victim/sub"] {
            fs::create_dir_all(samba.root().join(folder)).unwrap();
        }
        for file in ["victim/precious", "victim/sub/more"] {
            fs::write(samba.root().join(file), b"data").unwrap();
        }
        Self { samba }
    }

    /// With some of each kind of entry in the source.
    pub(crate) fn with_each_kind() -> Self {
        let fixture = Self::new("");
        fixture.fill();
        fixture
    }

    /// Makes the source once more.
    pub(crate) fn fill(&self) {
        fs::remove_dir_all(self.source()).unwrap();
        self.folder("");
        self.folder("empty");
        self.folder("nested/deeper/d\u{e9}epest");
        self.file("nested/f", 10);
        self.file("nested/deeper/d\u{e9}epest/f", 10);
        for size in [0, 1, 65_536, 65_537] {
            self.file(&format!("size-{size}"), size);
        }
        for (name, mode) in [
            ("read-only", 0o444),
            ("hidden", 0o645),
            ("system", 0o654),
            ("archive", 0o744),
            ("read-only-hidden-large", 0o445),
        ] {
            let size = if name.ends_with("large") { 140_000 } else { 9 };
            let mode = PermissionsExt::from_mode(mode);
            fs::set_permissions(self.file(name, size), mode).unwrap();
        }
        for name in ["a b", "a\u{f028}b", "\u{e4}\u{1f600}", &"x".repeat(200)] {
            let file = self.file("aside", name.len());
            fs::rename(file, self.source().join(name)).unwrap();
        }
        symlink("../victim/precious", self.source().join("link")).unwrap();
    }

    pub(crate) fn source(&self) -> PathBuf {
        self.samba.root().join("v")
    }

    pub(crate) fn target(&self) -> PathBuf {
        self.samba.root().join("copies/c")
    }

    pub(crate) fn folder(&self, path: &str) {
        fs::create_dir_all(self.source().join(path)).unwrap();
    }

    /// A file of the source, whose content is that of no other place and file, written some time ago.
    pub(crate) fn file(&self, path: &str, size: usize) -> PathBuf {
        let place = self.source().join(path);
        write(&place, path, size, 0);
        place
    }

    /// An empty folder for the next copy.
    pub(crate) fn clear(&self) {
        let _ = fs::remove_dir_all(self.samba.root().join("copies"));
        fs::create_dir_all(self.target()).unwrap();
    }

    pub(crate) fn open(&self) -> RemoteShare {
        self.samba.open("plain", Privacy::Offered)
    }

    /// A share behind a man in the middle.
    pub(crate) fn attacked(&self, attack: Attack) -> RemoteShare {
        let (port, _) = between(self.samba.port(), attack);
        let opened = open(port, "plain", &user(), PASSWORD, Privacy::Offered, soon());
        opened.unwrap()
    }

    /// A share whose messages are recorded.
    pub(crate) fn recorded(&self) -> (RemoteShare, Commands) {
        let commands = Commands::default();
        let seen = Arc::clone(&commands);
        let share = self.attacked(Box::new(move |from, _, frame| {
            if from == From::Client {
                seen.lock().unwrap().extend(sent(frame));
            }
            unchanged(frame)
        }));
        (share, commands)
    }

    pub(crate) fn assert_equal(&self, what: &str) {
        let mut share = self.open();
        let [source, target] = ["v", "copies/c"].map(|folder| {
            let mut found = Tree::new();
            tree(&mut share, &self.samba.root(), folder, &mut found, folder);
            found
        });
        let names = |tree: &Tree| tree.keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(&source), names(&target), "{what}");
        for (path, entry) in source {
            let (kind, size, basic, content) = &target[&path];
            let found = (*kind, *size, *basic);
            assert_eq!(found, (entry.0, entry.1, entry.2), "{what}: {path}");
            assert!(*content == entry.3, "{what}: bytes of {path}");
        }
    }

    /// Whether the victim's files are as they were, and none has content beside them.
    pub(crate) fn is_victim_whole(&self) -> bool {
        let victim = self.samba.root().join("victim");
        let is_there = |file| fs::read(victim.join(file)).is_ok_and(|found| found == b"data");
        let others = [&victim, &victim.join("sub")].map(|folder| {
            let entries = fs::read_dir(folder).unwrap();
            let lens = entries.map(|entry| entry.unwrap().metadata().unwrap());
            lens.filter(fs::Metadata::is_file)
                .map(|file| file.len())
                .sum::<u64>()
        });
        is_there("precious") && is_there("sub/more") && others == [4, 4]
    }
}

/// Copies `v` to `copies/c`.
pub(crate) fn copy(share: &mut RemoteShare) -> wincsi_smb::Result<Copied> {
    copy_watched(share, |_| ControlFlow::Continue(()))
}

pub(crate) fn copy_watched(
    share: &mut RemoteShare,
    mut watch: impl FnMut(&CopyProgress) -> ControlFlow<()>,
) -> wincsi_smb::Result<Copied> {
    let order = order(share)?;
    share.copy(&order, &mut watch)
}

pub(crate) fn order(share: &mut RemoteShare) -> wincsi_smb::Result<CopyOrder> {
    let [source, target] = ["v", "copies/c"].map(at);
    Ok(CopyOrder {
        source_share: Name::new("plain").unwrap(),
        source_id: share.stat(&source, soon())?,
        target_id: share.stat(&target, soon())?,
        source,
        target,
        depth: 20,
        patience: Duration::from_secs(30),
        trusts: true,
        unsteady: Unsteady::Refuse,
    })
}

/// Writes a file, with a time of its own for each version.
pub(crate) fn write(place: &Path, name: &str, size: usize, version: u8) {
    rewrite(place, &content(name, size, version), version);
}

/// It is never empty meanwhile: who lists it then would take it for a small one.
pub(crate) fn rewrite(place: &Path, content: &[u8], version: u8) {
    let mut options = fs::File::options();
    let options = options.write(true).create(true).truncate(false);
    let mut file = options.open(place).unwrap();
    file.write_all(content).unwrap();
    file.set_len(u64::try_from(content.len()).unwrap()).unwrap();
    let age = Duration::new(1_000_000_000 + u64::from(version), 123_456_700);
    let times = fs::FileTimes::new().set_modified(SystemTime::UNIX_EPOCH + age);
    file.set_times(times.set_accessed(SystemTime::UNIX_EPOCH + age))
        .unwrap();
}

pub(crate) fn content(name: &str, size: usize, version: u8) -> Vec<u8> {
    let seed = name.bytes().fold(version, u8::wrapping_add);
    let blocks = (0..size.div_ceil(4_096)).map(|n| n.to_le_bytes()[0] ^ seed);
    blocks.flat_map(|block| [block; 4_096]).take(size).collect()
}

pub(crate) fn at(path: &str) -> SharePath {
    SharePath::new(path).unwrap()
}

pub(crate) fn failure<T>(done: Result<T, Error>) -> Failure {
    match done {
        Ok(_) => panic!("it succeeded"),
        Err(error) => error.failure,
    }
}

/// Stands for a WRITE with the flag of that name.
pub(crate) const WRITE_THROUGH: u8 = 0x89;

/// The commands of a frame in the clear.
pub(crate) fn sent(mut frame: &[u8]) -> Vec<u8> {
    let mut commands = Vec::new();
    loop {
        commands.push(match (frame[12], frame.get(108)) {
            (9, Some(1)) => WRITE_THROUGH,
            (command, _) => command,
        });
        let next = u32::from_le_bytes(frame[20..24].try_into().unwrap());
        if next == 0 {
            return commands;
        }
        frame = &frame[usize::try_from(next).unwrap()..];
    }
}

/// Does something before the n-th message of a client, after the share is open; tells whether it did.
pub(crate) fn once(
    number: usize,
    mut act: impl FnMut() + Send + 'static,
) -> (Attack, Arc<AtomicBool>) {
    told(From::Client, number, move |message| {
        act();
        unchanged(message)
    })
}

/// Ends the connection at the n-th message of a side, after the share is open; tells whether it did.
pub(crate) fn cut(side: From, number: usize) -> (Attack, Arc<AtomicBool>) {
    told(side, number, |_| Instead::End)
}

fn told(
    side: From,
    number: usize,
    mut instead: impl FnMut(&[u8]) -> Instead + Send + 'static,
) -> (Attack, Arc<AtomicBool>) {
    let is_done = Arc::new(AtomicBool::new(false));
    let done = Arc::clone(&is_done);
    let attack = one((side, FIRST + number), move |message| {
        done.store(true, Ordering::SeqCst);
        instead(message)
    });
    (attack, is_done)
}

/// The entries of a folder and all below it, as the server lists them; the content as it is on its disk.
fn tree(share: &mut RemoteShare, root: &Path, folder: &str, tree: &mut Tree, top: &str) {
    for entry in share.list(&at(folder), 10_000, soon()).unwrap().entries {
        let name = String::from_utf16(entry.name.units()).unwrap();
        let path = format!("{folder}/{name}");
        let mut basic = entry.basic;
        // Who reads a file or lists a folder accesses it; here the server makes up when a file was created.
        (basic.accessed, basic.created) = (0, 0);
        let (size, content) = match entry.kind {
            Kind::Folder => {
                self::tree(share, root, &path, tree, top);
                (0, Vec::new())
            }
            Kind::File | Kind::Link => (entry.size, fs::read(root.join(&path)).unwrap()),
        };
        tree.insert(
            path[top.len()..].to_owned(),
            (entry.kind, size, basic, content),
        );
    }
}
