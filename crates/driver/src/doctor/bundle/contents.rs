//! The files of a bundle, field by field: what is not written here is in none.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read as _, Seek as _, SeekFrom};
use std::path::Path;
use std::time::SystemTime;

use serde::Serialize;
use serde_json::{Value, json};
use transport::Endpoint;
use wincsi::filesystem::LinkTarget;
use wincsi::volumes::VolumeId;
use wincsi::{Condition, Feature, ResultExt as _, WinPath};

use super::metrics;
use super::names::{Names, SERVER, VOLUME};
use crate::doctor::notes::{Doubt, Provider};
use crate::doctor::report::Report;
use crate::doctor::subject::Subject;
use crate::doctor::table::CHECKS;
use crate::flags::Config;
use crate::kinds::block::{Disk, Spec};
use crate::kinds::disk::Attached;
use crate::kinds::iscsi::Target;
use crate::kinds::share::Share;
use crate::record::Record;

/// The file of the findings.
pub(super) const REPORT: &str = "report.json";

/// How much of the log's end, in bytes.
const TAIL: u64 = 2 << 20;

/// What a bundle has, in its order, and what it lacks and why.
#[derive(Default)]
pub(super) struct Contents {
    pub(super) present: Vec<(&'static str, String)>,
    pub(super) missing: BTreeMap<&'static str, String>,
}

/// What the node has, how this driver is set, and what it counted.
pub(super) struct Gathering<'a> {
    pub(super) subject: &'a Subject<'a>,
    pub(super) report: &'a Report,
    pub(super) metrics: Result<&'a str, String>,
    pub(super) config: &'a Config,
    pub(super) names: Names,
}

impl Gathering<'_> {
    pub(super) fn contents(&self) -> Contents {
        let mut contents = Contents::default();
        contents.missing.insert(
            "audit.log",
            "wincsi node has none; that of csi-proxy is where its -audit-log says".to_owned(),
        );
        for (file, content) in [
            ("flags.json", Ok(self.flags())),
            ("sockets.json", self.sockets()),
            ("records.json", self.records()),
            ("links.json", self.links()),
            ("mappings.json", self.mappings()),
            ("sessions.json", self.sessions()),
            ("volumes.json", self.volumes()),
            ("disks.json", self.disks()),
        ] {
            self.add(&mut contents, file, content.map(|value| value.to_string()));
        }
        let metrics = self.metrics.clone().map_err(Doubt::Unasked);
        let metrics = metrics.map(|page| metrics::lines(page, &self.names));
        self.add(&mut contents, "metrics.txt", metrics);
        self.add(&mut contents, "log.txt", self.log());
        // First in the bundle, made last: the files have given each name its other, by what it is of (`server-1`)
        // where a finding knows only that it has an object.
        contents.present.insert(0, (REPORT, self.shown().to_json()));
        contents.present.insert(0, ("bundle.json", self.about()));
        contents
    }

    fn add(&self, contents: &mut Contents, file: &'static str, content: Result<String, Doubt>) {
        match content {
            Ok(content) => contents.present.push((file, content)),
            Err(doubt) => {
                contents.missing.insert(file, self.names.of_doubt(doubt));
            }
        }
    }

    fn about(&self) -> String {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        json!({
            "version": 1,
            "program": concat!("wincsi ", env!("CARGO_PKG_VERSION")),
            "isAnonymous": self.names.are_others(),
            "unixTime": now.unwrap_or_default().as_secs(),
        })
        .to_string()
    }

    /// The report; with others for names which check found something, and of which object.
    fn shown(&self) -> Report {
        let mut report = self.report.clone();
        if !self.names.are_others() {
            return report;
        }
        for finding in &mut report.findings {
            // Its object is a part of Windows.
            if !["node-hangs", "iscsi-stopped"].contains(&finding.check.as_str()) {
                finding.object = self.names.of("object", &finding.object);
            }
            let row = CHECKS.iter().find(|row| row.id == finding.check);
            let (looks_at, advice) = row.map_or(("", ""), |row| (row.looks_at, row.advice));
            finding.advice = advice.to_owned();
            finding.text = match &*finding.object {
                "" => looks_at.to_owned(),
                object => format!("{looks_at}: {object}"),
            };
        }
        for unseen in &mut report.unseen {
            unseen.reason = self.names.of_text(&unseen.reason);
        }
        report
    }

    fn flags(&self) -> Value {
        let config = self.config;
        json!({
            "driverName": self.names.of("driver", &config.driver_name),
            "hasClusterDns": config.kinds.shares.rules.cluster_dns.is_some(),
            "hasController": config.has_controller,
            "host": format!("{:?}", config.host),
            "kubeletPath": self.names.of_path(&config.kubelet_path.to_string_lossy()),
            "maxVolumes": config.max_volumes,
            "registers": config.registers,
            "requirePrivacy": config.require_privacy,
            "verbosity": config.log.verbosity,
        })
    }

    fn records(&self) -> Result<Value, Doubt> {
        let records = self.subject.peeked()?.records.iter();
        Ok(records.map(|record| self.of_record(record)).collect())
    }

    fn of_record(&self, record: &Record) -> Value {
        let names = &self.names;
        let share = record.clone().of::<Share>().map(|record| {
            let Share {
                remote,
                server,
                user,
                options,
                taken_over,
            } = record.content;
            json!({
                "server": names.of(SERVER, &server),
                "remote": names.of_path(&remote.path().to_string()),
                "user": user.map(|user| names.of("user", &user)),
                "options": options,
                "takenOver": taken_over,
            })
        });
        let lun = self.disk_of(record, |target: Target| {
            let portals = target
                .portals
                .iter()
                .map(|one| names.of("address", &one.to_string()));
            json!({
                "target": names.of("target", &target.iqn.to_string()),
                "portals": Vec::from_iter(portals),
                "lun": target.lun,
                "page83": target.page83.map(|id| names.of("serial", &id.to_string())),
                "hasChap": target.has_chap,
                "mutualChap": target.mutual_chap,
            })
        });
        let disk = self.disk_of(record, |attached: Attached| {
            names.of("disk", &attached.disk.to_record()).into()
        });
        json!({
            "volume": names.of(VOLUME, record.volume.as_str()),
            "kind": record.kind,
            "state": record.state,
            "targets": record.targets,
            "lifetime": record.lifetime,
            "boot": record.boot.as_ref().map(|boot| names.of("boot", boot)),
            "isOfThisBoot": record.boot.as_ref().map(|_| self.is_of_this_boot(record)),
            "content": share.or(lun).or(disk),
        })
    }

    /// Only of a record that has one: the first question for a boot has Windows make a key of its registry.
    fn is_of_this_boot(&self, record: &Record) -> Value {
        let boot = self.subject.boot();
        self.value(boot.map(|boot| record.is_of_boot(Some(&boot))))
    }

    fn disk_of<P: Spec>(&self, record: &Record, source: impl Fn(P) -> Value) -> Option<Value> {
        let disk = record.clone().of::<Disk<P>>()?.content;
        let mounted = disk
            .mounted
            .map(|id| self.names.of("volume-id", &id.to_string()));
        Some(json!({
            "source": source(disk.source),
            "access": disk.wanted.access,
            "broughtOnline": disk.brought_online,
            "mounted": mounted,
            "identity": disk.identity.map(|id| self.names.of("serial", &id)),
            "bytes": disk.size,
            "bytesOfDisk": disk.disk_bytes,
        }))
    }

    /// What is where kubelet has staged and published. No link is followed.
    fn links(&self) -> Result<Value, Doubt> {
        self.subject.require(Feature::EntryLooks)?;
        let records = self.subject.peeked()?.records.iter();
        let paths =
            records.flat_map(|record| [&record.staging].into_iter().chain(&record.published));
        Ok(paths.map(|path| self.link(path)).collect())
    }

    fn link(&self, path: &WinPath) -> Value {
        let read = self.subject.ask(Provider::Files, |node, until| {
            node.filesystem()
                .read_link(path, until)
                .none_if(Condition::NotFound)
        });
        let entry = read.map(|entry| match entry {
            None => json!("nothing"),
            Some(None) => json!("no link"),
            Some(Some(LinkTarget::Path(to))) => self.names.of_path(&to.to_string()).into(),
            Some(Some(LinkTarget::Volume(id))) => {
                self.names.of("volume-id", &id.to_string()).into()
            }
            Some(Some(_)) => json!("another link"),
        });
        json!({ "path": self.names.of_path(&path.to_string()), "leadsTo": self.value(entry) })
    }

    fn mappings(&self) -> Result<Value, Doubt> {
        let mappings = self.subject.mappings()?.all().iter().map(|mapping| {
            json!({
                "remote": self.names.of_path(&mapping.remote),
                "isLetter": mapping.local.is_some(),
                "status": mapping.status.map(|status| format!("{status:?}")),
                "integrity": mapping.integrity,
                "privacy": mapping.privacy,
                "writeThrough": mapping.write_through,
            })
        });
        Ok(mappings.collect())
    }

    fn sessions(&self) -> Result<Value, Doubt> {
        let sessions = self.subject.sessions()?.iter().map(|session| {
            json!({
                "target": self.names.of("target", &session.target),
                "connections": session.connections,
                "isConnected": session.is_connected,
                "isPersistent": session.is_persistent,
            })
        });
        Ok(sessions.collect())
    }

    fn disks(&self) -> Result<Value, Doubt> {
        let ask = self.subject;
        let disks = ask.ask(Provider::Disks, |node, until| node.disks().ids(until))?;
        let disks = disks.into_iter().map(|(disk, ids)| {
            let size = ask.ask(Provider::Disks, |node, until| {
                node.disks().size(disk, until)
            });
            let is_online = ask.ask(Provider::Disks, |node, until| {
                node.disks().is_online(disk, until)
            });
            let is_read_only = ask.ask(Provider::Disks, |node, until| {
                node.disks().is_read_only(disk, until)
            });
            json!({
                "number": disk.0,
                "page83": self.names.of("serial", &ids.page83),
                "serial": self.names.of("serial", &ids.serial),
                "bytes": self.value(size),
                "isOnline": self.value(is_online),
                "isReadOnly": self.value(is_read_only),
            })
        });
        Ok(disks.collect())
    }

    /// Those that records have mounted.
    fn volumes(&self) -> Result<Value, Doubt> {
        let records = self.subject.peeked()?.records.iter().cloned();
        let ids = records.filter_map(|record| {
            let lun = || record.clone().of::<Disk<Target>>()?.content.mounted;
            lun().or_else(|| record.clone().of::<Disk<Attached>>()?.content.mounted)
        });
        Ok(ids.map(|id| self.volume(id)).collect())
    }

    fn volume(&self, id: VolumeId) -> Value {
        let space = self.subject.ask(Provider::Volumes, |node, until| {
            node.volumes().stats(id, until)
        });
        let space = space.map(|space| json!({ "total": space.total, "free": space.free }));
        json!({
            "id": self.names.of("volume-id", &id.to_string()),
            "bytes": self.value(space),
        })
    }

    fn sockets(&self) -> Result<Value, Doubt> {
        let all = [
            ("csi", Some(self.config.csi_endpoint())),
            ("registration", self.config.own_registry()),
        ];
        let sockets = all
            .into_iter()
            .filter_map(|(what, endpoint)| match endpoint? {
                Endpoint::Socket(path) => Some((what, path)),
                _ => None,
            });
        let sockets = sockets.map(|(what, path)| {
            let name = self.names.of_path(&path.to_string_lossy());
            let found = self.subject.ask_aside(move || fs::symlink_metadata(path))?;
            let seconds = match found.and_then(|found| found.modified()) {
                Ok(made) => Ok(Some(made.elapsed().unwrap_or_default().as_secs())),
                Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
                Err(error) => Err(Doubt::Unasked(error.to_string())),
            };
            Ok(json!({ "socket": what, "path": name, "ageSeconds": self.value(seconds) }))
        });
        sockets.collect()
    }

    fn log(&self) -> Result<String, Doubt> {
        let lacking = |why: &str| Err(Doubt::Lacking(why.to_owned()));
        if self.names.are_others() {
            return lacking("names may be in it");
        }
        match (self.config.log.to_stderr, self.config.log.file.clone()) {
            (true, _) => lacking("it goes to standard error: kubectl logs has it"),
            (false, None) => lacking("it is in several files, where -log_dir says"),
            (false, Some(file)) => {
                let tail = self.subject.ask_aside(move || tail(&file))?;
                tail.map_err(|error| Doubt::Unasked(error.to_string()))
            }
        }
    }

    /// An answer, or why there is none.
    fn value(&self, answer: Result<impl Serialize, Doubt>) -> Value {
        match answer {
            Ok(answer) => json!(answer),
            Err(doubt) => json!({ "notKnown": self.names.of_doubt(doubt) }),
        }
    }
}

/// The last whole lines of a file.
fn tail(file: &Path) -> io::Result<String> {
    let mut file = File::open(file)?;
    let from = file.metadata()?.len().saturating_sub(TAIL);
    file.seek(SeekFrom::Start(from))?;
    let mut tail = Vec::new();
    file.take(TAIL).read_to_end(&mut tail)?;
    let tail = String::from_utf8_lossy(&tail);
    let whole = match from {
        0 => Some(&*tail),
        _ => tail.split_once('\n').map(|(_, whole)| whole),
    };
    Ok(whole.unwrap_or_default().to_owned())
}
