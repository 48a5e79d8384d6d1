//! The small facilities: firmware, boot, event log, `afunix`, clock.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use os::{
    BootId, Cause, Clock, Deadline, Error, Event, EventLevel, Facility, Moment, Paging, Result,
    Win32,
};

use crate::gate::Op;
use crate::machine::Machine;
use crate::shared_node::SharedNode;
use crate::{iscsi, smb, smbios};

/// One type for all of them: each is a method or two.
pub(crate) struct System {
    pub(crate) shared: Arc<SharedNode>,
    /// Where events go; `None` for a node in memory, which drops them.
    pub(crate) event_log: Option<PathBuf>,
}

impl System {
    fn run<T>(
        &self,
        facility: Facility,
        operation: &'static str,
        object: &str,
        act: impl FnOnce(&mut Machine) -> std::result::Result<T, Cause>,
    ) -> Result<T> {
        self.shared.run(&Op::new(facility, operation, object), act)
    }
}

impl os::Firmware for System {
    fn smbios(&self) -> Result<Vec<u8>> {
        let operation = "GetSystemFirmwareTable";
        self.run(Facility::Firmware, operation, "RSMB", |machine| {
            Ok(smbios::table(&machine.spec))
        })
    }
}

impl os::Boot for System {
    fn boot_id(&self) -> Result<BootId> {
        let operation = "NtQuerySystemInformation";
        self.run(Facility::Boot, operation, "boot", |machine| {
            Ok(BootId(machine.state.boot.to_string()))
        })
    }

    fn computer_name(&self) -> Result<String> {
        self.run(Facility::Boot, "GetComputerNameExW", "name", |machine| {
            Ok(machine.spec.name.clone())
        })
    }

    fn paging(&self) -> Result<Paging> {
        self.run(Facility::Boot, "RegGetValueW", "PagingFiles", |machine| {
            let parse = |text: &String| {
                text.parse()
                    .map_err(|error| Cause::Malformed(format!("{text}: {error}")))
            };
            let spec = &machine.spec;
            let page_files: std::result::Result<_, Cause> =
                spec.page_files.iter().map(parse).collect();
            Ok(Paging {
                page_files: page_files?,
                crash_dump: spec.crash_dump.as_ref().map(parse).transpose()?,
                unknown: spec.page_files_unknown.then(an_entry_is_unread),
            })
        })
    }
}

impl os::EventLog for System {
    fn report(&self, event: &Event) -> Result<()> {
        let id = event.id.to_string();
        let op = Op::new(Facility::EventLog, "ReportEventW", id);
        let wall = self.shared.clock.wall();
        self.shared.gate.pass(&op, || {
            let Some(path) = &self.event_log else {
                return Ok(());
            };
            let file = OpenOptions::new().create(true).append(true).open(path);
            file.and_then(|mut file| file.write_all(line(event, wall).as_bytes()))
                .map_err(|_| Win32::DISK_FULL.into())
        })
    }
}

impl os::AfUnix for System {
    fn is_available(&self) -> Result<bool> {
        self.run(Facility::AfUnix, "WSASocketW", "AF_UNIX", |machine| {
            Ok(machine.spec.afunix)
        })
    }

    fn connect(&self, host: &str, port: u16, within: Duration) -> Result<()> {
        let op = Op::new(Facility::AfUnix, "connect", format!("{host}:{port}"));
        let deadline = Deadline::within(&*self.shared.clock, within);
        self.shared.gate.pass_within(&op, deadline, || {
            self.shared.with(|machine| {
                let of_iscsi = iscsi::listens(machine, host, port);
                of_iscsi.unwrap_or_else(|| smb::listens(machine, host, port))
            })
        })
    }
}

/// Looking at the clock is no operation: nothing can go wrong with it, and a trace of it would drown
/// the rest. Sleeping is one.
impl Clock for System {
    fn now(&self) -> Moment {
        self.shared.clock.now()
    }

    fn wall(&self) -> Duration {
        self.shared.clock.wall()
    }

    fn sleep(&self, duration: Duration) {
        let op = Op::new(Facility::Clock, "Sleep", format!("{duration:?}"));
        // A sleep cannot fail: of a fault there is left that the process was killed.
        let _ = self.shared.gate.pass(&op, || {
            // Disks were plugged in before the time that passes now, not when the machine is next used.
            self.shared.with(|_| Ok(()))?;
            self.shared.clock.sleep(duration);
            Ok(())
        });
    }
}

fn an_entry_is_unread() -> Error {
    let cause = Cause::Malformed("a page file without a name".to_owned());
    Error::new("EnumPageFilesW", "the page files", cause)
}

/// One event a line.
fn line(event: &Event, wall: Duration) -> String {
    let level = match event.level {
        EventLevel::Error => "error",
        EventLevel::Information => "information",
        EventLevel::Warning => "warning",
    };
    let message = event.message.replace(char::is_control, " ");
    format!("{} {level} {} {message}\n", wall.as_secs(), event.id)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use os::{Event, EventLevel};
    use tempfile::TempDir;

    use crate::{ClockMode, NodeSpec, SimNode};

    fn node(spec: &NodeSpec) -> (TempDir, SimNode) {
        let folder = tempfile::tempdir().unwrap();
        let node = SimNode::create(folder.path(), spec, ClockMode::Virtual).unwrap();
        (folder, node)
    }

    #[test]
    fn each_boot_has_an_id_of_its_own_and_each_process_sees_the_same() {
        let (folder, node) = node(&NodeSpec::default());
        let first = node.os().boot.boot_id().unwrap();
        assert_eq!(node.os().boot.boot_id().unwrap(), first);
        node.kill();
        drop(node);
        let node = SimNode::open(folder.path(), ClockMode::Virtual).unwrap();
        assert_eq!(node.os().boot.boot_id().unwrap(), first);
        node.reboot().unwrap();
        assert_ne!(node.os().boot.boot_id().unwrap(), first);
    }

    #[test]
    fn the_node_says_where_it_writes_its_memory_and_whether_sockets_work() {
        let spec = NodeSpec {
            page_files: vec![r"D:\pagefile.sys".to_owned()],
            crash_dump: None,
            afunix: false,
            ..NodeSpec::default()
        };
        let (_folder, node) = node(&spec);
        let paging = node.os().boot.paging().unwrap();
        assert_eq!(paging.page_files, [r"D:\pagefile.sys".parse().unwrap()]);
        assert_eq!((paging.crash_dump, paging.unknown), (None, None));
        assert_eq!(node.os().afunix.is_available(), Ok(false));
    }

    #[test]
    fn an_event_is_a_line_whatever_is_in_it() {
        let (folder, node) = node(&NodeSpec::default());
        let os = node.os();
        os.clock.sleep(Duration::from_secs(1));
        for (level, message) in [
            (EventLevel::Warning, "one\r\n2 error 7 forged"),
            (EventLevel::Error, "two"),
        ] {
            let message = message.to_owned();
            let event = Event {
                level,
                id: 7,
                message,
            };
            os.event_log.report(&event).unwrap();
        }
        let log = std::fs::read_to_string(folder.path().join("events.log")).unwrap();
        let lines: Vec<_> = log.lines().collect();
        let second = os.clock.wall().as_secs();
        assert_eq!(
            lines,
            [
                format!("{second} warning 7 one  2 error 7 forged"),
                format!("{second} error 7 two"),
            ]
        );
    }
}
