//! Cases of Windows alone: its first drive (without a volume under Wine), and its WMI.

use std::sync::Arc;

use os::schema::disk;
use os::{Deadline, DiskNumber, Facility, Provider, Query};
use os_windows::{NativeClock, NativeProvider};
use wincsi_conformance::{Case, CaseResult, Failure, Fixture};

pub(crate) const CASES: &[Case] = &[
    case("drive::the_first_one_is_listed", |fixture| {
        let is_listed = fixture.disks().list()?.contains(&FIRST);
        holds("the first drive is listed", is_listed)
    }),
    case("drive::a_name_of_the_first_one_leads_to_it", |fixture| {
        let number = fixture.disks().number_of(r"\\.\PhysicalDrive0")?;
        holds("it has the number in its name", number == FIRST)
    }),
    case("drive::it_has_sectors", |fixture| {
        let size = fixture.disks().sector_size(FIRST)?;
        holds("a sector is 512 or 4096 bytes", [512, 4096].contains(&size))
    }),
    case("drive::it_has_a_length", |fixture| {
        let length = fixture.disks().length(FIRST)?;
        holds("it has a length", length > 0)
    }),
    case("drive::it_has_a_layout", |fixture| {
        let layout = fixture.disks().layout(FIRST)?;
        holds("it has a partition", !layout.partitions.is_empty())
    }),
    case("drive::it_has_a_descriptor", |fixture| {
        let descriptor = fixture.disks().descriptor(FIRST)?;
        holds("it hangs on a bus", descriptor.bus.0 != 0)
    }),
    case("drive::it_has_a_device_id_page", |fixture| {
        let page = fixture.disks().device_id_page(FIRST)?;
        holds("the page has bytes", !page.is_empty())
    }),
    case("drive::it_has_an_address", |fixture| {
        fixture.disks().scsi_address(FIRST)?;
        Ok(())
    }),
    case("drive::its_facts_are_what_it_answers", |fixture| {
        let disks = fixture.disks();
        let facts = disks.facts(r"\\.\PhysicalDrive0")?;
        let is_it = facts.number == FIRST
            && facts.descriptor == disks.descriptor(FIRST)
            && facts.device_id_page == disks.device_id_page(FIRST)
            && facts.length == disks.length(FIRST)
            && facts.scsi_address == disks.scsi_address(FIRST);
        holds("each answer is the same", is_it)
    }),
    case("drive::it_has_attributes", |fixture| {
        let attributes = fixture.disks().attributes(FIRST)?;
        holds("it is online", !attributes.offline)
    }),
    case("drive::it_takes_writes", |fixture| {
        let is_protected = fixture.disks().is_write_protected(FIRST)?;
        holds("it takes writes", !is_protected)
    }),
    case("drive::its_first_sectors_are_read", first_sectors),
    case("drive::it_is_looked_at_anew", |fixture| {
        Ok(fixture.disks().update_properties(FIRST)?)
    }),
    case("wmi::disks_are_objects", |_| {
        let provider = NativeProvider::new(Arc::new(NativeClock::new()));
        let query = Query::all(disk::CLASS.name, &[disk::NUMBER.name]);
        let found = provider.query(&query, Deadline::NEVER)?;
        holds("there is a disk", !found.is_empty())
    }),
];

const FIRST: DiskNumber = DiskNumber(0);

fn first_sectors(fixture: &Fixture) -> CaseResult {
    let mut sectors = [0; 4096];
    fixture.disks().read(FIRST, 0, &mut sectors)?;
    let signature = sectors.get(510..512) == Some(&[0x55, 0xAA]);
    holds("they end as a boot sector does", signature)
}

const fn case(name: &'static str, run: fn(&Fixture) -> CaseResult) -> Case {
    Case {
        name,
        needs: &[Facility::Disks],
        run,
    }
}

fn holds(statement: &str, is_so: bool) -> CaseResult {
    if is_so {
        return Ok(());
    }
    Err(Failure::Wrong(format!("not so: {statement}")))
}
