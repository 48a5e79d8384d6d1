//! A volume's life on the machines of clouds, with the disk identified as that cloud's controller names it.

use std::collections::BTreeMap;

use transport::Code;
use wincsi::sim::Profile;
use wincsi_driver::kinds::disk::{Attributes, Luns};

use crate::fixture::{Fixture, GIB, Host, TARGET};

const HANDLE: &str = "pv-1";
const EBS_HANDLE: &str = "vol-0123456789abcdef0";
const NAA: &str = "600224801234567890abcdef00000001";
const VMWARE: &str = "6000c298123456789abcdef012345678";

/// A machine and its disk; what the controller or the author of a PV writes of the disk.
struct Machine {
    profile: Profile,
    unit: u8,
    identity: &'static str,
    handle: &'static str,
    context: &'static [(&'static str, &'static str)],
    luns: Luns,
    /// Over the pipes.
    found: Found,
}

/// How a machine's disk is found where csi-proxy lists one identifier of each disk, the first of page 0x83.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Found {
    AsNamed,
    /// By the identifier that the error has, as the controller writes another one.
    ByTheListed,
}

const MACHINES: [Machine; 6] = [
    // The temporary disk has LUN 1 as well, at another adapter, and the system disk LUN 0.
    Machine {
        profile: Profile::AzureScsi,
        unit: 1,
        identity: NAA,
        handle: HANDLE,
        context: &[("LUN", "1")],
        luns: Luns::Scsi { adapter: 1 },
        found: Found::AsNamed,
    },
    Machine {
        profile: Profile::AzureScsi,
        unit: 0,
        identity: NAA,
        handle: HANDLE,
        context: &[("LUN", "0"), ("adapter", "1")],
        luns: Luns::Unknown,
        found: Found::AsNamed,
    },
    Machine {
        profile: Profile::Ebs,
        unit: 1,
        identity: EBS_HANDLE,
        handle: EBS_HANDLE,
        context: &[("devicePath", "/dev/xvdba")],
        luns: Luns::Unknown,
        found: Found::AsNamed,
    },
    Machine {
        profile: Profile::HyperV,
        unit: 3,
        identity: NAA,
        handle: HANDLE,
        context: &[("page83", NAA)],
        luns: Luns::Unknown,
        found: Found::ByTheListed,
    },
    Machine {
        profile: Profile::HyperV,
        unit: 3,
        identity: NAA,
        handle: HANDLE,
        context: &[("adapter", "2"), ("lun", "3")],
        luns: Luns::Unknown,
        found: Found::AsNamed,
    },
    Machine {
        profile: Profile::Vsphere,
        unit: 1,
        identity: VMWARE,
        handle: HANDLE,
        context: &[("diskUUID", "6000c298-1234-5678-9abc-def012345678")],
        luns: Luns::Unknown,
        found: Found::AsNamed,
    },
];

#[test]
fn a_volume_lives_on_each_machine() {
    for machine in &MACHINES {
        let fixture = machine.fixture();
        let fixture = match (crate::HOST, machine.found) {
            (Host::Pipes, Found::ByTheListed) => fixture.identified_by_the_listed(),
            _ => fixture,
        };
        fixture.live(&machine.name());
    }
}

#[test]
fn azures_lun_without_an_adapter_is_refused_because_other_disks_have_it_too() {
    let [machine, ..] = MACHINES;
    let publish = machine.publish_context();
    let attributes = machine.attributes(&publish);
    let error = attributes.query(Luns::Unknown).unwrap_err();
    assert!(error.to_string().contains("LUN"), "{error}");
}

impl Machine {
    fn name(&self) -> String {
        format!("{} {:?}", self.profile, self.context)
    }

    fn fixture(&self) -> Fixture {
        let publish = self.publish_context();
        let query = self.attributes(&publish).query(self.luns);
        let query = query.unwrap_or_else(|error| panic!("{}: {error}", self.name()));
        let disk = self.profile.disk(self.unit, self.identity);
        Fixture::on_machine(self.profile, &disk, query)
    }

    fn publish_context(&self) -> BTreeMap<String, String> {
        let pairs = self.context.iter();
        pairs
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
            .collect()
    }

    fn attributes<'a>(&self, publish: &'a BTreeMap<String, String>) -> Attributes<'a> {
        static NONE: BTreeMap<String, String> = BTreeMap::new();
        Attributes {
            handle: self.handle,
            publish,
            volume: &NONE,
        }
    }
}

impl Fixture {
    /// What csi-proxy lists of the disk is in the error, and identifies it.
    fn identified_by_the_listed(self) -> Self {
        let error = self.stage().unwrap_err();
        assert_eq!(error.code(), Code::NotFound, "{error}");
        let text = error.to_string();
        let (_, listed) = text.rsplit_once("page 0x83 ").unwrap();
        self.identified_by(&format!("v1 page83={listed}"))
    }

    fn live(mut self, what: &str) {
        let others = self.others();
        let staged = self.stage();
        staged.unwrap_or_else(|error| panic!("{what}: {error}"));
        self.write();
        self.publish(TARGET).unwrap();
        self.grow(3 * GIB);
        assert!(self.expand(TARGET, 3 * GIB).unwrap() > 2 * GIB, "{what}");
        self.reboot();
        self.reconcile();
        self.publish(TARGET).unwrap();
        assert!(self.has_file(TARGET), "{what}");
        assert_eq!(self.stats(TARGET).unwrap().abnormal, None, "{what}");
        self.unpublish(TARGET).unwrap();
        self.unstage().unwrap();
        self.assert_put_away(what);
        assert!(self.others() == others, "{what}: another disk was written");
    }
}
