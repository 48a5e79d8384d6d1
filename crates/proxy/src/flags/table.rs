use std::path::PathBuf;
use std::time::Duration;

use os::WinPath;
use program::flags::{Apply, Flag, Instead, Klog, Section, Value, optional, set};
use program::http::{BarePort, BindAddress};
use program::log::Format;

use super::Config;
use crate::paths::Confinement;

/// Every flag, csi-proxy's first.
pub(super) const SECTIONS: &[Section<Config>] = &[
    Section {
        title: "csi-proxy's flags",
        about: "Names, values and defaults are csi-proxy's.",
        flags: FLAGS,
    },
    Section {
        title: "klog's flags",
        about: "csi-proxy has them from klog; names, values and defaults are klog's.",
        flags: Klog::FLAGS,
    },
    Section {
        title: "wincsi's flags",
        about: "csi-proxy does not have these.",
        flags: OURS,
    },
];

/// Whether csi-proxy has no flag of this name, and we have.
pub(super) fn is_ours(name: &str) -> bool {
    OURS.iter().any(|flag| flag.name == name)
}

/// csi-proxy's own flags, and the one of Go's `flag` package.
const FLAGS: &[Flag<Config>] = &[
    Flag {
        name: "help",
        value: Value::Bool,
        default: "",
        help: "Print the usage, and end; so does -h.",
        apply: Apply::Instead(Instead::Help),
    },
    Flag {
        name: "kubelet-path",
        value: Value::Of("path"),
        default: r"C:\var\lib\kubelet",
        help: "The kubelet's folder; always an allowed root. One without a drive is ignored with a warning: no path of a client lies in it, nor does one in csi-proxy.",
        apply: Apply::Text(|config, text| set(&mut config.kubelet_path, root(text)?)),
    },
    Flag {
        name: "working-dir",
        value: Value::Of("path"),
        default: "",
        help: "A further allowed root; may be given several times. One without a drive is ignored, as with -kubelet-path. An empty one is rejected: in csi-proxy it allows every path.",
        apply: Apply::Text(working_dir),
    },
    Flag {
        name: "windows-service",
        value: Value::Bool,
        default: "false",
        help: "Run under the service control manager.",
        apply: Apply::Bool(|config, on| config.windows_service = on),
    },
    Flag {
        name: "require-privacy",
        value: Value::Bool,
        default: "true",
        help: "Require encryption in new SMB global mappings.",
        apply: Apply::Bool(|config, on| config.require_privacy = on),
    },
    Flag {
        name: "metrics-bind-address",
        value: Value::Of("address"),
        default: "",
        help: "Serve /metrics, /healthz, /livez and /readyz on this TCP address; without a host, on every address of this machine. If the address is taken, csi-proxy retries until it is free. Empty is off.",
        apply: Apply::Text(|config, text| {
            address(text, BarePort::EveryAddress).map(|address| config.metrics_address = address)
        }),
    },
];

/// Our own flags, in csi-proxy's style.
const OURS: &[Flag<Config>] = &[
    Flag {
        name: "audit-log",
        value: Value::Of("path"),
        default: "",
        help: "Append a JSON line to this file for each call that changes the node.",
        apply: Apply::Text(|config, text| {
            set(&mut config.audit_log, optional(text).map(PathBuf::from))
        }),
    },
    Flag {
        name: "call-timeout",
        value: Value::Of("seconds"),
        default: "600",
        help: "Answer a call that takes longer with DeadlineExceeded; its work goes on to its end.",
        apply: Apply::Text(|config, text| seconds(text).map(|time| config.call_timeout = time)),
    },
    Flag {
        name: "confine-paths",
        value: Value::Bool,
        default: "true",
        help: "Keep the paths of every call that changes something, and of PathExists, within the allowed roots, links resolved; keep the paths of look-ups (IsSymlink, the volume of a path) on this node's own drives. False is csi-proxy's reach: a call follows links on the way wherever they lead, so a process that may write in a folder there decides where the call acts.",
        apply: Apply::Bool(|config, on| config.confinement = confinement(on)),
    },
    Flag {
        name: "disk-guard",
        value: Value::Of("refuse|warn"),
        default: "refuse",
        help: "Applies when Windows does not report where all page files and crash dumps are, so that any disk may hold one. refuse: no disk is taken offline, no volume grows or is wiped. warn: these go on with a warning. Overwriting what is proved blank and bringing a disk online go on in both modes; the other guards of a disk refuse in both.",
        apply: Apply::Text(disk_guard),
    },
    Flag {
        name: "drain-timeout",
        value: Value::Of("seconds"),
        default: "20",
        help: "The longest time that a stop waits for calls in flight.",
        apply: Apply::Text(|config, text| seconds(text).map(|time| config.drain_timeout = time)),
    },
    Flag {
        name: "format-guard",
        value: Value::Of("strict|signatures|off"),
        default: "signatures",
        help: "Which content refuses a format and a new partition. strict: any non-zero byte, and another system's partition. signatures: a known signature, except a filesystem whose volume is mounted outside of the allowed roots only, holds nothing of theirs or of this program's, and is not in use. off: none, as in csi-proxy. Every mode refuses the disks that Windows runs from.",
        apply: Apply::Text(format_guard),
    },
    Flag {
        name: "healthz-bind-address",
        value: Value::Of("address"),
        default: "",
        help: "Serve only /healthz, /livez and /readyz on this TCP address; without a host, on loopback only. If the address is taken, csi-proxy retries until it is free. Empty is off.",
        apply: Apply::Text(|config, text| {
            address(text, BarePort::Loopback).map(|address| config.healthz_address = address)
        }),
    },
    Flag {
        name: "listen",
        value: Value::Of("folder"),
        default: "csi-proxy",
        help: "The folder for the sockets on systems without named pipes.",
        apply: Apply::Text(|config, text| set(&mut config.listen, PathBuf::from(text))),
    },
    Flag {
        name: "log-file-backups",
        value: Value::Of("number"),
        default: "1",
        help: "The number of full files of the log, and of the audit log, that are kept beside the current one.",
        apply: Apply::Text(|config, text| backups(text).map(|count| config.log.backups = count)),
    },
    Flag {
        name: "log-format",
        value: Value::Of("text|json"),
        default: "text",
        help: "Write log lines in klog's text form, or as JSON objects.",
        apply: Apply::Text(log_format),
    },
    Flag {
        name: "max-connection-idle",
        value: Value::Of("seconds"),
        default: "1800",
        help: "End a connection on which no call has run for this long. Its client loses no call, and reconnects for its next one.",
        apply: Apply::Text(|config, text| {
            seconds(text).map(|time| config.max_connection_idle = time)
        }),
    },
    Flag {
        name: "max-held-memory",
        value: Value::Of("MiB"),
        default: "64",
        help: "The most that all clients together may make the server hold: requests that are incomplete, wait or run, responses that no client has read, and the buffers that connections keep since they were larger. Beyond it, the server refuses a call of the client that holds the most, or closes its connection. From 16 to 65536.",
        apply: Apply::Text(|config, text| {
            held_memory(text).map(|bytes| config.max_held_bytes = bytes)
        }),
    },
    Flag {
        name: "pipe-security",
        value: Value::Of("SDDL"),
        default: transport::DEFAULT_SECURITY,
        help: "Who may open the pipes, and who owns them. Clients of wincsi call only pipes that SYSTEM or Administrators own, so begin it with O:BA. GA, GW and every right with 0x4 let other accounts serve the pipes too, and so receive what drivers send; 0x12019b lets them only call: O:BAD:P(A;;GA;;;SY)(A;;GA;;;BA)(A;;0x12019b;;;LS).",
        apply: Apply::Text(|config, text| {
            set(&mut config.pipe_security, optional(text).map(str::to_owned))
        }),
    },
    Flag {
        name: "policy-file",
        value: Value::Of("path"),
        default: "",
        help: "The policy file: which operations may be called. csi-proxy reads it again when it changes. Without it all operations may be called.",
        apply: Apply::Text(|config, text| {
            set(&mut config.policy_file, optional(text).map(PathBuf::from))
        }),
    },
    Flag {
        name: "simulate",
        value: Value::Of("folder"),
        default: "",
        help: "Serve a simulated node, not this machine. The node lives in this folder; csi-proxy creates it if it is not there. Never for production.",
        apply: Apply::Text(|config, text| {
            set(&mut config.simulate, optional(text).map(PathBuf::from))
        }),
    },
    Flag {
        name: "native",
        value: Value::Of("facility,..."),
        default: "",
        help: "Beside -simulate, on Windows: the facilities that Windows itself serves: afunix, clock, event-log, files, firmware, services, volumes. An error without -simulate, where Windows serves all.",
        apply: Apply::Text(native),
    },
    Flag {
        name: "state-dir",
        value: Value::Of("path"),
        default: r"C:\Program Files\wincsi",
        help: "A folder on the node for notes of links that are being made: if csi-proxy dies meanwhile, the next start removes the leftovers by these notes. csi-proxy creates the folder for SYSTEM and Administrators only; let nobody else write in the folder above. Empty is off.",
        apply: Apply::Text(|config, text| set(&mut config.state_dir, path(text)?)),
    },
    Flag {
        name: "volume-dir",
        value: Value::Of("path"),
        default: "",
        help: "A further folder in which MountVolume and UnmountVolume may act, but no other call that changes something; may be given several times. For -format-guard it lies outside of the allowed roots.",
        apply: Apply::Text(volume_dir),
    },
    Flag::VERSION,
];

fn seconds(text: &str) -> Result<Duration, &'static str> {
    match text.parse::<u32>() {
        Ok(seconds) if seconds > 0 => Ok(Duration::from_secs(u64::from(seconds))),
        _ => Err("a positive number of seconds"),
    }
}

fn working_dir(config: &mut Config, text: &str) -> Result<(), &'static str> {
    config.working_dirs.push(root(text)?);
    Ok(())
}

/// csi-proxy takes an empty prefix for "everywhere"; this is hardly meant.
fn root(text: &str) -> Result<String, &'static str> {
    let text = optional(text).ok_or("a folder; an empty one would allow every path")?;
    Ok(text.to_owned())
}

fn volume_dir(config: &mut Config, text: &str) -> Result<(), &'static str> {
    let text = optional(text).ok_or("a folder")?;
    config.volume_dirs.push(text.to_owned());
    Ok(())
}

fn path(text: &str) -> Result<Option<WinPath>, &'static str> {
    let path = optional(text).map(str::parse).transpose();
    path.map_err(|_| "an absolute path")
}

fn address(text: &str, bare: BarePort) -> Result<Option<BindAddress>, &'static str> {
    let address = optional(text).map(|text| BindAddress::parse(text, bare));
    address.transpose()
}

fn backups(text: &str) -> Result<u32, &'static str> {
    match text.parse() {
        Ok(count @ 1..=100) => Ok(count),
        _ => Err("a number from 1 to 100"),
    }
}

/// In bytes. The least is one connection's limit with requests of the largest size.
fn held_memory(text: &str) -> Result<usize, &'static str> {
    const UNIT: usize = 1 << 20;
    let bytes = match text.parse::<usize>() {
        Ok(units @ 16..=65536) => units.checked_mul(UNIT),
        _ => None,
    };
    bytes.ok_or("a number of MiB from 16 to 65536")
}

fn log_format(config: &mut Config, text: &str) -> Result<(), &'static str> {
    config.log.format = match text {
        "json" => Format::Json,
        "text" => Format::Text,
        _ => return Err("text or json"),
    };
    Ok(())
}

fn confinement(confined: bool) -> Confinement {
    match confined {
        true => Confinement::WorkingDirs,
        false => Confinement::Anywhere,
    }
}

fn disk_guard(config: &mut Config, text: &str) -> Result<(), &'static str> {
    config.disk_guard = match text {
        "refuse" => node::DiskGuard::Refuse,
        "warn" => node::DiskGuard::Warn,
        _ => return Err("refuse or warn"),
    };
    Ok(())
}

fn format_guard(config: &mut Config, text: &str) -> Result<(), &'static str> {
    config.format_guard = match text {
        "off" => node::FormatGuard::Off,
        "signatures" => node::FormatGuard::Signatures,
        "strict" => node::FormatGuard::Strict,
        _ => return Err("strict, signatures or off"),
    };
    Ok(())
}

fn native(config: &mut Config, text: &str) -> Result<(), &'static str> {
    for name in text.split(',').filter(|name| !name.is_empty()) {
        let facility = name.parse().map_err(|_| "names of facilities")?;
        config.native.push(facility);
    }
    Ok(())
}
