//! The contracts of the small facilities: firmware, boot, event log, `afunix`.

/// The table of the firmware.
pub(crate) mod firmware {
    use os::Facility;

    use crate::case::declare;
    use crate::failure::{holds, same};
    use crate::{CaseResult, Fixture};

    declare!("firmware", &[Facility::Firmware];
        the_table_is_as_long_as_its_header_says,
        the_table_describes_the_system,
        the_table_is_the_same_every_time,
    );

    /// `RawSMBIOSData`: four bytes, then the length of the rest.
    const HEADER: usize = 8;

    /// The type of the last structure (DMTF DSP0134, end-of-table).
    const END_OF_TABLE: u8 = 127;

    fn the_table_is_as_long_as_its_header_says(fixture: &Fixture) -> CaseResult {
        let table = fixture.firmware().smbios()?;
        let length = table.get(4..HEADER).and_then(|bytes| bytes.try_into().ok());
        let length = length.map(u32::from_le_bytes).map(usize::try_from);
        same(
            "length",
            &length,
            &Some(Ok(table.len().saturating_sub(HEADER))),
        )
    }

    /// Its firmware may have made a table longer, so anything can follow its last structure.
    fn the_table_describes_the_system(fixture: &Fixture) -> CaseResult {
        let table = fixture.firmware().smbios()?;
        let mut rest = table.get(HEADER..).unwrap_or_default();
        let mut kinds = Vec::new();
        while let Some((kind, behind)) = next(rest).filter(|_| kinds.last() != Some(&END_OF_TABLE))
        {
            kinds.push(kind);
            rest = behind;
        }
        holds("there is a structure of type 1", kinds.contains(&1))?;
        same("last structure", &kinds.last(), &Some(&END_OF_TABLE))
    }

    fn the_table_is_the_same_every_time(fixture: &Fixture) -> CaseResult {
        let firmware = fixture.firmware();
        same("table", &firmware.smbios()?, &firmware.smbios()?)
    }

    /// The type of the first structure, and the bytes behind its fields and strings.
    fn next(structures: &[u8]) -> Option<(u8, &[u8])> {
        let kind = *structures.first()?;
        let length = usize::from(*structures.get(1)?);
        let strings = structures.get(length..)?;
        let end = strings.windows(2).position(|pair| pair == [0, 0])?;
        Some((kind, &strings[end + 2..]))
    }
}

/// Facts from one boot to the next.
pub(crate) mod boot {
    use os::{Facility, Root};

    use crate::case::declare;
    use crate::failure::{holds, same};
    use crate::{CaseResult, Fixture};

    declare!("boot", &[Facility::Boot];
        one_boot_has_one_id,
        the_computer_has_one_name,
        memory_is_written_to_drives,
    );

    fn one_boot_has_one_id(fixture: &Fixture) -> CaseResult {
        let boot = fixture.boot();
        let id = boot.boot_id()?;
        holds("it is not empty", !id.0.is_empty())?;
        same("id", &boot.boot_id()?, &id)
    }

    /// A host name, and not that name with a domain.
    fn the_computer_has_one_name(fixture: &Fixture) -> CaseResult {
        let boot = fixture.boot();
        let name = boot.computer_name()?;
        let is_label = !name.is_empty() && !name.contains(['.', '\0', ' ']);
        holds("it is a label", is_label)?;
        same("name", &boot.computer_name()?, &name)
    }

    fn memory_is_written_to_drives(fixture: &Fixture) -> CaseResult {
        let paging = fixture.boot().paging()?;
        if let Some(unknown) = paging.unknown {
            return Err(unknown.into());
        }
        let mut paths = paging.page_files.iter().chain(&paging.crash_dump);
        holds(
            "every path is a file of a drive",
            paths.all(|path| matches!(path.root(), Root::Drive(_)) && path.name().is_some()),
        )
    }
}

/// The programs that run.
pub(crate) mod processes {
    use os::schema::process::{CLASS, COMMAND_LINE, HANDLE, NAME, PROCESS_ID};
    use os::{Deadline, Facility, Query, Value};

    use crate::case::declare;
    use crate::failure::same;
    use crate::{CaseResult, Fixture};

    declare!("processes", &[Facility::Processes];
        the_kernels_process_has_no_command_line,
    );

    fn the_kernels_process_has_no_command_line(fixture: &Fixture) -> CaseResult {
        let select = [COMMAND_LINE.name, HANDLE.name, PROCESS_ID.name];
        let query = Query::all(CLASS.name, &select);
        let query = query.with(NAME.name, Value::text("system"));
        let found = fixture.processes().query(&query, Deadline::NEVER)?;
        same("processes", &found.len(), &1)?;
        for one in &found {
            same("command line", &one.text_or_null(COMMAND_LINE.name)?, &None)?;
            let id = one.u32(PROCESS_ID.name)?.to_string();
            same("handle", &one.text(HANDLE.name)?, &id.as_str())?;
        }
        Ok(())
    }
}

/// The event log.
pub(crate) mod event_log {
    use os::{Event, EventLevel, Facility};

    use crate::case::declare;
    use crate::{CaseResult, Fixture};

    declare!("event-log", &[Facility::EventLog];
        it_takes_events_of_every_level,
    );

    fn it_takes_events_of_every_level(fixture: &Fixture) -> CaseResult {
        let levels = [
            EventLevel::Error,
            EventLevel::Information,
            EventLevel::Warning,
        ];
        for level in levels {
            let event = Event {
                level,
                id: 1,
                message: "A test of the event log.\r\nIt has two lines.".to_owned(),
            };
            fixture.event_log().report(&event)?;
        }
        Ok(())
    }
}

/// Sockets: the `afunix` driver and TCP.
pub(crate) mod afunix {
    use std::time::Duration;

    use os::{Facility, Win32};

    use crate::case::declare;
    use crate::failure::{refused, same};
    use crate::{CaseResult, Failure, Fixture};

    declare!("afunix", &[Facility::AfUnix];
        it_says_the_same_twice,
        a_port_with_a_listener_answers_and_another_does_not,
    );

    /// `WSAECONNREFUSED`.
    const NOBODY_LISTENS: Win32 = Win32(10061);

    /// Longer than Windows tries a local port without a listener: two seconds.
    const WITHIN: Duration = Duration::from_secs(20);

    fn a_port_with_a_listener_answers_and_another_does_not(fixture: &Fixture) -> CaseResult {
        let listener = fixture.control().listener();
        let (host, port) = listener.ok_or(Failure::Unequipped("listener to connect to"))?;
        fixture.afunix().connect(&host, port, WITHIN)?;
        let connected = fixture.afunix().connect(&host, 1, WITHIN);
        refused("connect", connected, NOBODY_LISTENS)
    }

    fn it_says_the_same_twice(fixture: &Fixture) -> CaseResult {
        let afunix = fixture.afunix();
        same("state", &afunix.is_available()?, &afunix.is_available()?)
    }
}
