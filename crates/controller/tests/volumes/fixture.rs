//! A controller before a Samba of its own.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Instant, SystemTime};

use rustix::fs::{XattrFlags, setxattr};
use smb::{Basic, Name, Privacy, Share, SharePath};
use transport::Code;
use wincsi_controller::volumes::{
    Asked, Base, Connected, Connector, Create, Created, Delete, Deleted, Error, Folder, Left,
    Origin, Policy, Snapshot, Source, Take, Unrecorded, Volumes, WholeSnapshot,
};

use crate::server::{PASSWORD, Samba, open, soon, user};

/// A process: what it knows, and how it reaches the server.
pub(crate) struct Controller {
    pub(crate) volumes: Arc<Volumes>,
    pub(crate) left: Arc<Mutex<Vec<Left>>>,
    connector: Arc<dyn Connector>,
}

/// Connects to a port, of the server or of a man in the middle, to a share with a password.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Port(
    pub(crate) u16,
    pub(crate) &'static str,
    pub(crate) &'static str,
);

/// Connections that came back: a new one takes the most time of a test.
static IDLE: Mutex<BTreeMap<Port, Vec<Box<dyn Share + Send>>>> = Mutex::new(BTreeMap::new());

impl Port {
    pub(crate) fn plain(port: u16) -> Self {
        Self(port, "plain", PASSWORD)
    }

    fn idle(&self) -> Option<Box<dyn Share + Send>> {
        IDLE.lock().unwrap().get_mut(self)?.pop()
    }
}

impl Connector for Port {
    fn open(&self, folders: &[SharePath], by: Instant) -> smb::Result<Connected> {
        while let Some(mut share) = self.idle() {
            if let Ok(looked) = share.look(folders, by) {
                return Ok((share, looked));
            }
        }
        let Self(port, share, password) = *self;
        let mut share = open(port, share, &user(), password, Privacy::Offered, by)?;
        let looked = share.look(folders, by)?;
        Ok((Box::new(share), looked))
    }

    fn give_back(&self, connection: Box<dyn Share + Send>) {
        let mut idle = IDLE.lock().unwrap();
        idle.entry(*self).or_default().push(connection);
    }
}

/// Connects to a server's port, and lets it copy nothing by itself.
pub(crate) struct ByHand(pub(crate) u16);

impl Connector for ByHand {
    fn open(&self, folders: &[SharePath], by: Instant) -> smb::Result<Connected> {
        let mut share = open(self.0, "plain", &user(), PASSWORD, Privacy::Offered, by)?;
        share.without_server_copies();
        let looked = share.look(folders, by)?;
        Ok((Box::new(share), looked))
    }
}

impl Controller {
    pub(crate) fn new(port: u16) -> Self {
        let left = Arc::new(Mutex::new(Vec::new()));
        let counted = Arc::clone(&left);
        let on_left = move |_: &Delete, reason| counted.lock().unwrap().push(reason);
        Self {
            volumes: Volumes::new(Box::new(on_left)),
            left,
            connector: Arc::new(Port::plain(port)),
        }
    }

    /// The same process, which reaches the server in another way.
    pub(crate) fn with(&self, connector: impl Connector) -> Self {
        Self {
            volumes: Arc::clone(&self.volumes),
            left: Arc::clone(&self.left),
            connector: Arc::new(connector),
        }
    }

    pub(crate) fn create(&self, volume: &Create) -> Result<Created, Error> {
        self.create_by(volume, soon())
    }

    pub(crate) fn create_by(&self, volume: &Create, by: Instant) -> Result<Created, Error> {
        self.volumes.create(&*self.connector, volume, by)
    }

    pub(crate) fn clone_by(&self, volume: &Create, by: Instant) -> Result<(), Error> {
        let connector = Arc::clone(&self.connector);
        let source = volume.source.clone().unwrap();
        self.volumes
            .clone_volume(connector, (volume.clone(), source), by)
    }

    pub(crate) fn take(&self, take: &Take) -> Result<WholeSnapshot, Error> {
        let connector = Arc::clone(&self.connector);
        self.volumes.take_snapshot(connector, take.clone(), soon())
    }

    pub(crate) fn delete_snapshot(&self, snapshot: &Snapshot) -> Result<(), Error> {
        let connector = Arc::clone(&self.connector);
        self.volumes
            .delete_snapshot(connector, snapshot.clone(), soon())
    }

    pub(crate) fn snapshots(
        &self,
        base: &Base,
        asked: &Asked,
    ) -> Result<(Vec<WholeSnapshot>, bool), Error> {
        self.volumes
            .snapshots(&*self.connector, base, asked, soon())
    }

    pub(crate) fn exists(&self, volume: &Create) -> Result<bool, Error> {
        let (base, folder) = (&volume.base, &volume.folder);
        self.volumes.has(&*self.connector, base, folder, soon())
    }

    pub(crate) fn delete(&self, volume: &Delete) -> Result<Deleted, Error> {
        self.delete_by(volume, soon())
    }

    pub(crate) fn delete_by(&self, volume: &Delete, by: Instant) -> Result<Deleted, Error> {
        let connector = Arc::clone(&self.connector);
        self.volumes.delete(connector, volume.clone(), by)
    }
}

pub(crate) fn create(controller: &Controller, volume: &Create) -> Result<Created, Error> {
    until_free(|| controller.create(volume))
}

pub(crate) fn clone(controller: &Controller, volume: &Create) -> Result<(), Error> {
    until_free(|| controller.clone_by(volume, soon()))
}

pub(crate) fn delete(controller: &Controller, volume: &Delete) -> Result<Deleted, Error> {
    until_free(|| controller.delete(volume))
}

/// Deletes, and expects that the folder stays.
#[track_caller]
pub(crate) fn stays(controller: &Controller, deletion: &Delete, reason: Left) {
    let deleted = delete(controller, deletion).unwrap();
    assert_eq!(deleted, Deleted::Left(reason), "{deletion:?}");
}

/// Expects that a create fails with nothing left, or a delete, in this way.
#[track_caller]
pub(crate) fn refused(controller: &Controller, volume: &Create, code: Code) {
    let failed = controller.create(volume).unwrap_err();
    assert_eq!(failed.code(), code, "{volume:?}: {failed:?}");
    let may_have_left = controller.volumes.may_have_left(&volume.name);
    assert!(!may_have_left, "{failed:?}");
}

#[track_caller]
pub(crate) fn blocked(controller: &Controller, deletion: &Delete) -> String {
    let error = delete(controller, deletion).unwrap_err();
    let is_blocked = error.code() == Code::FailedPrecondition;
    assert!(is_blocked, "{deletion:?}: {error}");
    error.to_string()
}

/// A volume with a file in a folder.
pub(crate) fn fill(samba: &Samba, volume: &Create) {
    let controller = Controller::new(samba.port());
    create(&controller, volume).unwrap();
    let (base, folder) = (&volume.base.path, volume.folder.path());
    let path = format!("{base}{folder}").replace('\\', "/");
    let path = path.trim_start_matches('/');
    assert!(at(samba, path).is_dir());
    put(samba, path);
}

/// A file in a folder of a folder, by other ways than ours.
pub(crate) fn put(samba: &Samba, path: &str) {
    let sub = at(samba, path).join("sub");
    fs::create_dir_all(&sub).unwrap();
    fs::write(sub.join("file"), b"x").unwrap();
}

/// Repeats a call while the server has not noticed yet that the last one's connection is cut.
pub(crate) fn until_free<T>(mut call: impl FnMut() -> Result<T, Error>) -> Result<T, Error> {
    let until = soon();
    loop {
        match call() {
            Err(Error::Busy(text)) => assert!(Instant::now() < until, "{text}"),
            done => return done,
        }
        thread::yield_now();
    }
}

pub(crate) fn base(path: &str) -> Base {
    Base {
        server: smb::Server {
            host: "127.0.0.1".to_owned(),
            port: 445,
        },
        share: Name::new("plain").unwrap(),
        path: SharePath::new(path).unwrap(),
    }
}

/// An empty share, and a controller of it.
pub(crate) fn start() -> (Samba, Controller) {
    let samba = Samba::start();
    let controller = Controller::new(samba.port());
    (samba, controller)
}

/// A volume to make in the share's own folder.
pub(crate) fn volume(name: &str, folder: &str) -> Create {
    Create {
        name: Name::new(name).unwrap(),
        base: base(""),
        folder: self::folder(folder),
        size: 1 << 30,
        parameters: BTreeMap::from([("source".to_owned(), "//127.0.0.1/plain".to_owned())]),
        source: None,
    }
}

/// The same as a copy of another volume.
pub(crate) fn clone_of(source: &Create, volume: Create) -> Create {
    let source = Source {
        id: format!("127.0.0.1/plain#{}#", source.name),
        base: source.base.clone(),
        origin: Origin::Volume {
            name: Some(source.name.clone()),
            folder: source.folder.clone(),
        },
    };
    Create {
        source: Some(source),
        ..volume
    }
}

/// The delete of that volume, by a handle with its name.
pub(crate) fn gone(volume: &Create) -> Delete {
    Delete {
        name: Some(volume.name.clone()),
        base: volume.base.clone(),
        folder: volume.folder.clone(),
        policy: Policy::Delete,
        unrecorded: Unrecorded::Keep,
    }
}

/// The same with the policy `archive`.
pub(crate) fn archive(volume: &Create) -> Delete {
    Delete {
        policy: Policy::Archive,
        ..gone(volume)
    }
}

/// The same, by a rule for folders without a record.
pub(crate) fn by_rule(volume: &Create, unrecorded: Unrecorded) -> Delete {
    Delete {
        unrecorded,
        ..gone(volume)
    }
}

pub(crate) fn nameless(volume: &Create, path: &str) -> Delete {
    Delete {
        name: None,
        folder: folder(path),
        ..by_rule(volume, Unrecorded::Delete)
    }
}

/// The same with a policy that keeps the folder.
pub(crate) fn keep(volume: &Create, reason: Left) -> Delete {
    Delete {
        policy: Policy::Keep(reason),
        ..gone(volume)
    }
}

pub(crate) fn folder(path: &str) -> Folder {
    Folder::new(SharePath::new(path).unwrap()).unwrap()
}

/// A volume with a file in its folder, whose create was cut before the folder's id was in its record.
pub(crate) fn begin(samba: &Samba, volume: &Create) {
    fill(samba, volume);
    let record = at(samba, &format!(".wincsi/{}.volume", volume.name));
    fs::write(&record, creating(&fs::read_to_string(&record).unwrap())).unwrap();
}

/// A record as a create leaves it that is cut before the folder's id is in it.
pub(crate) fn creating(record: &str) -> String {
    let (before, _) = record.split_once("\"state\":").unwrap();
    format!("{before}\"state\":\"creating\"}}")
}

/// What is in a folder of the server, sorted; nothing is in one that is missing.
pub(crate) fn entries(samba: &Samba, path: &str) -> Vec<String> {
    let entries = fs::read_dir(samba.root().join(path)).into_iter().flatten();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    BTreeSet::from_iter(names).into_iter().collect()
}

pub(crate) fn at(samba: &Samba, path: &str) -> PathBuf {
    samba.root().join(path)
}

/// A tree by its paths: of a file its content, and of each entry its times, but that of access, and its attributes.
pub(crate) type Tree = BTreeMap<PathBuf, (Option<Vec<u8>>, Basic)>;

/// What the server has at a place, as it tells its clients.
pub(crate) fn tree_at(samba: &Samba, place: &str) -> Tree {
    let port = Port::plain(samba.port());
    let (mut share, _) = port.open(&[], soon()).unwrap();
    let mut tree = Tree::new();
    let mut folders = vec![Path::new(place).parent().unwrap().to_owned()];
    while let Some(folder) = folders.pop() {
        let of = SharePath::new(folder.to_str().unwrap()).unwrap();
        for entry in share.list(&of, 99, soon()).unwrap().entries {
            let path = folder.join(String::from_utf16(entry.name.units()).unwrap());
            let Ok(below) = path.strip_prefix(place) else {
                continue;
            };
            let basic = Basic {
                accessed: 0,
                ..entry.basic
            };
            let full = samba.root().join(&path);
            let content = full.is_file().then(|| fs::read(&full).unwrap());
            tree.insert(below.to_owned(), (content, basic));
            if full.is_dir() {
                folders.push(path);
            }
        }
    }
    port.give_back(share);
    tree
}

/// Gives an entry its time, and attributes: those that Samba finds as a text in the file system, if it stores any.
pub(crate) fn dress(path: &Path, attributes: u32, time: SystemTime) {
    fs::File::open(path).unwrap().set_modified(time).unwrap();
    let (name, none) = ("user.DOSATTRIB", XattrFlags::empty());
    let set = setxattr(path, name, format!("{attributes:#x}").as_bytes(), none);
    set.expect("a file system with attributes of users: ext4, or tmpfs of Linux 6.6");
}
