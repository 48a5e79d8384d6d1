use program::flags::values::{address, driver_name, endpoint};
use program::flags::{Apply, Flag, Klog, Section, Value, set};

use super::Config;
use crate::volumes::Policy;

pub(super) const SECTIONS: &[Section<Config>] = &[
    Section {
        title: "Flags",
        about: "Where csi-driver-smb has a flag of the same meaning, it has the same name.",
        flags: FLAGS,
    },
    Section {
        title: "klog's flags",
        about: "Names, values and defaults are klog's.",
        flags: Klog::FLAGS,
    },
];

pub(super) const FLAGS: &[Flag<Config>] = &[
    Flag::HELP,
    Flag {
        name: "default-ondelete-policy",
        value: Value::Of("delete|retain|archive"),
        default: "",
        help: "What becomes of a volume's folder if its class has no onDelete; empty is delete. It is part of the volume's handle: a change is for new volumes.",
        apply: Apply::Text(|config, text| {
            let known = text.is_empty() || Policy::by_word(text).is_some();
            match known {
                true => set(&mut config.default_policy, text.to_owned()),
                false => Err("it must be delete, retain or archive"),
            }
        }),
    },
    Flag {
        name: "delete-unrecorded",
        value: Value::Bool,
        default: "false",
        help: "Delete the folder of a volume that no record proves to be its own, as csi-driver-smb does: of its volumes whose class has subDir. Without it such a folder stays, unless its name ends in csi-provisioner's UUID.",
        apply: Apply::Bool(|config, on| config.deletes_unrecorded = on),
    },
    Flag {
        name: "drivername",
        value: Value::Of("name"),
        default: driver::NAME,
        help: "The driver's name, as CSIDriver and StorageClass have it.",
        apply: Apply::Text(|config, text| set(&mut config.driver_name, driver_name(text)?)),
    },
    Flag {
        name: "endpoint",
        value: Value::Of("endpoint"),
        default: "unix:/csi/controller/csi.sock",
        help: "Serve CSI here: unix:PATH, or tcp://127.0.0.1:PORT for tests.",
        apply: Apply::Text(|config, text| set(&mut config.endpoint, endpoint(text)?)),
    },
    Flag {
        name: "metrics-address",
        value: Value::Of("address"),
        default: "",
        help: "Serve /metrics, /healthz and /readyz on this TCP address; without a host, on loopback alone. Empty is off.",
        apply: Apply::Text(|config, text| set(&mut config.metrics_address, address(text)?)),
    },
    Flag {
        name: "require-privacy",
        value: Value::Bool,
        default: "true",
        help: "Require encryption of each connection to a server. Without it the mount option seal requires it of one volume.",
        apply: Apply::Bool(|config, on| config.requires_privacy = on),
    },
    Flag::VERSION,
];
