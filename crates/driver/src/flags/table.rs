use std::path::PathBuf;
use std::time::Duration;

use program::flags::values::{address, driver_name, endpoint, seconds};
use program::flags::{Apply, Flag, Klog, Section, Value, optional, set};

use super::{Config, Host};
use crate::cluster_dns::ClusterDns;
use crate::kinds::disk::Luns;
use crate::kinds::share;
use crate::kinds::share::attributes::Strictness;

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
        name: "azure-luns",
        value: Value::Of("scsi:ADAPTER|nvme:ADAPTER"),
        default: "",
        help: "What the key LUN of azuredisk's publish context counts on this node: LUNs of this SCSI adapter, or namespaces of the NVMe controller at this adapter. Empty: the volume's attributes name the adapter.",
        apply: Apply::Text(|config, text| set(&mut config.kinds.disks.luns, azure_luns(text)?)),
    },
    Flag {
        name: "cluster-dns",
        value: Value::Of("address[:port]"),
        default: "",
        help: "Resolve servers whose names end in .svc.cluster.local with this DNS server: the cluster's, which a node does not use itself. Empty: Windows gets each name as it is.",
        apply: Apply::Text(|config, text| {
            let server = optional(text).map(ClusterDns::parse).transpose()?;
            set(&mut config.kinds.shares.rules.cluster_dns, server)
        }),
    },
    Flag {
        name: "controller",
        value: Value::Bool,
        default: "false",
        help: "A controller of this driver runs in the cluster: report the capability CONTROLLER_SERVICE, as CSI has every instance of a driver report what all of them can.",
        apply: Apply::Bool(|config, is_there| config.has_controller = is_there),
    },
    Flag {
        name: "drain-timeout",
        value: Value::Of("seconds"),
        default: "3",
        help: "How long a stop waits for calls in flight. A HostProcess container has five seconds for all of it.",
        apply: Apply::Text(|config, text| seconds(text).map(|time| config.drain_timeout = time)),
    },
    Flag {
        name: "drivername",
        value: Value::Of("name"),
        default: crate::NAME,
        help: "The driver's name, as CSIDriver and StorageClass have it.",
        apply: Apply::Text(|config, text| set(&mut config.driver_name, driver_name(text)?)),
    },
    Flag {
        name: "endpoint",
        value: Value::Of("endpoint"),
        default: "",
        help: "Serve CSI here: unix:PATH, or tcp://127.0.0.1:PORT for tests. Empty is plugins\\NAME\\csi.sock below -kubelet-path.",
        apply: Apply::Text(|config, text| set(&mut config.endpoint, endpoint(text)?)),
    },
    Flag {
        name: "health-address",
        value: Value::Of("address"),
        default: "",
        help: "Serve the same pages on this TCP address too, for probes and people on the node while -metrics-address is the pod's; without a host, on loopback alone. Empty is off.",
        apply: Apply::Text(|config, text| set(&mut config.health_address, address(text)?)),
    },
    Flag {
        name: "host",
        value: Value::Of("auto|native|proxy|sim"),
        default: "auto",
        help: "Who does the work on the node. auto: this process in a HostProcess container or on the machine; an ordinary container is refused. native: this process anyhow, which needs an administrator. proxy: csi-proxy, over its pipes. sim: a simulated node, for tests.",
        apply: Apply::Text(|config, text| host(text).map(|host| config.host = host)),
    },
    Flag {
        name: "iscsi-mutual-secret",
        value: Value::Bool,
        default: "false",
        help: "Set the secret by which iSCSI targets prove themselves, of which Windows has one for all targets, from a volume's Secret (password_in). Without it such a volume is refused.",
        apply: Apply::Bool(|config, sets| config.kinds.iscsi.sets_mutual_secret = sets),
    },
    Flag {
        name: "kubelet-endpoint",
        value: Value::Of("endpoint"),
        default: "",
        help: "How kubelet dials -endpoint, where it sees another path. Empty is -endpoint's.",
        apply: Apply::Text(|config, text| {
            let dialled = optional(text).map(str::to_owned);
            set(&mut config.kubelet_endpoint, dialled)
        }),
    },
    Flag {
        name: "kubelet-path",
        value: Value::Of("path"),
        default: r"C:\var\lib\kubelet",
        help: "The kubelet's folder.",
        apply: Apply::Text(|config, text| set(&mut config.kubelet_path, PathBuf::from(text))),
    },
    Flag {
        name: "max-volumes",
        value: Value::Of("number"),
        default: "0",
        help: "How many volumes of this driver the scheduler puts on the node. 0 leaves it to Kubernetes.",
        apply: Apply::Text(|config, text| volumes(text).map(|most| config.max_volumes = most)),
    },
    Flag {
        name: "metrics-address",
        value: Value::Of("address"),
        default: "",
        help: "Serve /metrics, /healthz and /readyz on this TCP address; without a host, on loopback alone. Empty is off.",
        apply: Apply::Text(|config, text| set(&mut config.metrics_address, address(text)?)),
    },
    Flag {
        name: "mount-options",
        value: Value::Of("lenient|strict"),
        default: "lenient",
        help: "Mount options of shares that are unknown, ask for Kerberos or hold a credential: lenient ignores them with a warning, strict refuses the volume.",
        apply: Apply::Text(|config, text| {
            set(&mut config.kinds.shares.rules.options, strictness(text)?)
        }),
    },
    Flag {
        name: "nodeid",
        value: Value::Of("id"),
        default: "",
        help: "The node's id, for the controller. Empty is the UUID of the machine's firmware.",
        apply: Apply::Text(|config, text| set(&mut config.node_id, text.to_owned())),
    },
    Flag {
        name: "pre-stop-timeout",
        value: Value::Of("seconds"),
        default: "20",
        help: "How long `wincsi node drain` waits for calls in flight. The pod's grace period has to be longer.",
        apply: Apply::Text(|config, text| seconds(text).map(|time| config.pre_stop_timeout = time)),
    },
    Flag {
        name: "proxy-sockets",
        value: Value::Of("path"),
        default: "",
        help: "With -host=proxy: the folder of csi-proxy's sockets, where there are no named pipes.",
        apply: Apply::Text(|config, text| set(&mut config.proxy_sockets, path(text))),
    },
    Flag {
        name: "readonly",
        value: Value::Of("lenient|strict"),
        default: "lenient",
        help: "Shares that are read-only, which nothing on a Windows node enforces: lenient takes them with a warning, strict refuses them.",
        apply: Apply::Text(|config, text| {
            set(&mut config.kinds.shares.rules.readers, strictness(text)?)
        }),
    },
    Flag {
        name: "registration",
        value: Value::Of("on|off"),
        default: "on",
        help: "Register with kubelet. off leaves it to the sidecar node-driver-registrar.",
        apply: Apply::Text(|config, text| registers(text).map(|own| config.registers = own)),
    },
    Flag {
        name: "registration-endpoint",
        value: Value::Of("endpoint"),
        default: "",
        help: "Serve registration here. Empty is plugins_registry\\NAME-reg.sock below -kubelet-path.",
        apply: Apply::Text(|config, text| set(&mut config.registration_endpoint, endpoint(text)?)),
    },
    Flag {
        name: "registration-timeout",
        value: Value::Of("seconds"),
        default: "60",
        help: "Make the registration socket anew if kubelet has not called for so long and has not registered the driver. 0 is never.",
        apply: Apply::Text(|config, text| {
            let patience = Some(seconds(text)?).filter(|time| !time.is_zero());
            set(&mut config.registration_timeout, patience)
        }),
    },
    Flag {
        name: "require-privacy",
        value: Value::Bool,
        default: "true",
        help: "Require encryption of SMB mappings. Without it the mount option seal requires it of one volume. With -host=proxy csi-proxy's own flag decides.",
        apply: Apply::Bool(|config, on| config.require_privacy = on),
    },
    Flag {
        name: "simulate",
        value: Value::Of("path"),
        default: "",
        help: "With -host=sim: the folder of the simulated node, which is made where it is missing.",
        apply: Apply::Text(|config, text| set(&mut config.simulate, path(text))),
    },
    Flag {
        name: "state-dir",
        value: Value::Of("path"),
        default: "",
        help: "The folder of the records of volumes. Empty is volumes beside the socket of -endpoint, whose folder is closed to all but administrators.",
        apply: Apply::Text(|config, text| set(&mut config.state_dir, path(text))),
    },
    Flag {
        name: "topology",
        value: Value::Of("key=value,..."),
        default: "",
        help: "Where the node is, for the scheduler: one pair or several, as kubectl takes labels. May be given several times.",
        apply: Apply::Text(|config, text| config.topology.add(text)),
    },
    Flag::VERSION,
    Flag {
        name: "vol-stats-cache-expire-in-minutes",
        value: Value::Of("minutes"),
        default: "10",
        help: "How long size and free space of a share are answered again before the share is asked anew. 0 or less is 10.",
        apply: Apply::Text(|config, text| {
            set(&mut config.kinds.shares.figures, stats_cache(text)?)
        }),
    },
];

fn azure_luns(text: &str) -> Result<Luns, &'static str> {
    const FORM: &str = "it must be scsi:ADAPTER or nvme:ADAPTER";
    let Some(text) = optional(text) else {
        return Ok(Luns::Unknown);
    };
    let (kind, adapter) = text.split_once(':').ok_or(FORM)?;
    let adapter = adapter.parse().map_err(|_| FORM)?;
    match kind {
        "scsi" => Ok(Luns::Scsi { adapter }),
        "nvme" => Ok(Luns::Nvme { adapter }),
        _ => Err(FORM),
    }
}

fn path(text: &str) -> Option<PathBuf> {
    optional(text).map(PathBuf::from)
}

fn strictness(text: &str) -> Result<Strictness, &'static str> {
    match text {
        "lenient" => Ok(Strictness::Lenient),
        "strict" => Ok(Strictness::Strict),
        _ => Err("it must be lenient or strict"),
    }
}

fn stats_cache(text: &str) -> Result<Duration, &'static str> {
    let minutes: i32 = text.parse().map_err(|_| "it must be a number of minutes")?;
    Ok(match u64::try_from(minutes) {
        Ok(minutes @ 1..) => Duration::from_secs(minutes * 60),
        _ => share::Settings::default().figures,
    })
}

fn host(text: &str) -> Result<Host, &'static str> {
    match text {
        "auto" => Ok(Host::Auto),
        "native" => Ok(Host::Native),
        "proxy" => Ok(Host::Proxy),
        "sim" => Ok(Host::Simulated),
        _ => Err("it must be auto, native, proxy or sim"),
    }
}

fn registers(text: &str) -> Result<bool, &'static str> {
    match text {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err("it must be on or off"),
    }
}

fn volumes(text: &str) -> Result<i64, &'static str> {
    let most = text.parse().ok().filter(|most| *most >= 0);
    most.ok_or("it must be a number from 0 on")
}
