use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use super::Config;
use crate::paths::Reach;

/// One flag of the command line.
pub struct Flag {
    /// The name, without dashes.
    pub name: &'static str,
    /// What follows it.
    pub value: Value,
    /// The default, as it would be written.
    pub default: &'static str,
    /// What it does, in one sentence.
    pub help: &'static str,
    pub(super) apply: Apply,
}

/// What follows a flag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value {
    /// Nothing, or `=true` and `=false`.
    Bool,
    /// A value, called this in the usage.
    Of(&'static str),
}

/// How a flag changes the configuration; the error says what its value should have been.
pub(super) enum Apply {
    Bool(fn(&mut Config, bool)),
    Nothing(fn(&mut Config)),
    Text(fn(&mut Config, &str) -> Result<(), &'static str>),
}

/// Every flag, csi-proxy's first.
pub const FLAGS: &[Flag] = &[
    Flag {
        name: "kubelet-path",
        value: Value::Of("path"),
        default: r"C:\var\lib\kubelet",
        help: "The kubelet's folder; always an allowed root.",
        apply: Apply::Text(|config, text| set(&mut config.kubelet_path, text.to_owned())),
    },
    Flag {
        name: "working-dir",
        value: Value::Of("path"),
        default: "",
        help: "A further allowed root; may be given several times.",
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
        help: "Ask for encryption in new SMB global mappings.",
        apply: Apply::Bool(|config, on| config.require_privacy = on),
    },
    Flag {
        name: "v",
        value: Value::Of("level"),
        default: "0",
        help: "How talkative the log is: 2 logs requests, 5 details.",
        apply: Apply::Text(|config, text| number(text).map(|level| config.verbosity = level)),
    },
    Flag {
        name: "logtostderr",
        value: Value::Bool,
        default: "true",
        help: "Log to standard error unless log_file is given.",
        apply: Apply::Bool(|_, _| {}),
    },
    Flag {
        name: "log_file",
        value: Value::Of("path"),
        default: "",
        help: "Append the log to this file instead.",
        apply: Apply::Text(|config, text| {
            set(&mut config.log_file, optional(text).map(PathBuf::from))
        }),
    },
    ineffective(
        "metrics-bind-address",
        Value::Of("address"),
        "",
        "TCP address of the metrics endpoint (accepted, no effect yet).",
        |config| {
            config.ineffective.push("metrics-bind-address");
        },
    ),
    ineffective(
        "alsologtostderr",
        Value::Bool,
        "false",
        "Log to standard error as well as to files (accepted, no effect yet).",
        |config| {
            config.ineffective.push("alsologtostderr");
        },
    ),
    ineffective(
        "log_dir",
        Value::Of("folder"),
        "",
        "Write log files into this folder (accepted, no effect yet).",
        |config| {
            config.ineffective.push("log_dir");
        },
    ),
    ineffective(
        "log_file_max_size",
        Value::Of("MB"),
        "1800",
        "The size at which a log file is rotated (accepted, no effect yet).",
        |config| {
            config.ineffective.push("log_file_max_size");
        },
    ),
    ineffective(
        "add_dir_header",
        Value::Bool,
        "false",
        "Add the source file's folder to the header (accepted, no effect yet).",
        |config| {
            config.ineffective.push("add_dir_header");
        },
    ),
    ineffective(
        "skip_headers",
        Value::Bool,
        "false",
        "Leave the headers out of the log (accepted, no effect yet).",
        |config| {
            config.ineffective.push("skip_headers");
        },
    ),
    ineffective(
        "skip_log_headers",
        Value::Bool,
        "false",
        "Leave the headers out of new log files (accepted, no effect yet).",
        |config| {
            config.ineffective.push("skip_log_headers");
        },
    ),
    ineffective(
        "one_output",
        Value::Bool,
        "false",
        "Write each message to its own severity alone (accepted, no effect yet).",
        |config| {
            config.ineffective.push("one_output");
        },
    ),
    ineffective(
        "stderrthreshold",
        Value::Of("severity"),
        "2",
        "The least severity that goes to standard error (accepted, no effect yet).",
        |config| {
            config.ineffective.push("stderrthreshold");
        },
    ),
    ineffective(
        "alsologtostderrthreshold",
        Value::Of("severity"),
        "",
        "The least severity that goes to standard error as well (accepted, no effect yet).",
        |config| {
            config.ineffective.push("alsologtostderrthreshold");
        },
    ),
    ineffective(
        "legacy_stderr_threshold_behavior",
        Value::Bool,
        "true",
        "How stderrthreshold and logtostderr meet (accepted, no effect yet).",
        |config| {
            config.ineffective.push("legacy_stderr_threshold_behavior");
        },
    ),
    ineffective(
        "vmodule",
        Value::Of("pattern=N,..."),
        "",
        "Verbosity by source file (accepted, no effect yet).",
        |config| {
            config.ineffective.push("vmodule");
        },
    ),
    ineffective(
        "log_backtrace_at",
        Value::Of("file:N"),
        "",
        "Write a stack trace when this line logs (accepted, no effect yet).",
        |config| {
            config.ineffective.push("log_backtrace_at");
        },
    ),
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
        help: "Keep every path within the allowed roots, links resolved; false is csi-proxy's reach.",
        apply: Apply::Bool(|config, on| config.reach = reach(on)),
    },
    Flag {
        name: "drain-timeout",
        value: Value::Of("seconds"),
        default: "20",
        help: "How long a stop waits for calls in flight.",
        apply: Apply::Text(|config, text| seconds(text).map(|time| config.drain_timeout = time)),
    },
    Flag {
        name: "format-guard",
        value: Value::Of("strict|signatures"),
        default: "signatures",
        help: "What refuses a format: any non-zero byte, or known signatures only.",
        apply: Apply::Text(format_guard),
    },
    Flag {
        name: "listen",
        value: Value::Of("folder"),
        default: "csi-proxy",
        help: "Where the sockets go on systems without named pipes.",
        apply: Apply::Text(|config, text| set(&mut config.listen, PathBuf::from(text))),
    },
    Flag {
        name: "pipe-security",
        value: Value::Of("SDDL"),
        default: transport::DEFAULT_SECURITY,
        help: "Who may open the pipes.",
        apply: Apply::Text(|config, text| {
            set(&mut config.pipe_security, optional(text).map(str::to_owned))
        }),
    },
    Flag {
        name: "simulate",
        value: Value::Of("folder"),
        default: "",
        help: "Serve a simulated node that lives in this folder, made when it is not there. Never for production.",
        apply: Apply::Text(|config, text| {
            set(&mut config.simulate, optional(text).map(PathBuf::from))
        }),
    },
    Flag {
        name: "native",
        value: Value::Of("facility,..."),
        default: "",
        help: "With -simulate: the facilities that stay native (files, volumes, ...).",
        apply: Apply::Text(native),
    },
];

/// The usage text, rendered from [`FLAGS`].
#[must_use]
pub fn usage() -> String {
    let mut text = String::from("Usage of csi-proxy:\n");
    for flag in FLAGS {
        let value = match flag.value {
            Value::Bool => String::new(),
            Value::Of(name) => format!(" {name}"),
        };
        let default = match flag.default {
            "" => String::new(),
            default => format!(" (default {default})"),
        };
        // Writing to a String cannot fail.
        let _ = writeln!(
            text,
            "  -{}{value}\n    \t{}{default}",
            flag.name, flag.help
        );
    }
    text
}

/// A flag of csi-proxy that existing service definitions may carry, and that does nothing here yet.
const fn ineffective(
    name: &'static str,
    value: Value,
    default: &'static str,
    help: &'static str,
    note: fn(&mut Config),
) -> Flag {
    Flag {
        name,
        value,
        default,
        help,
        apply: Apply::Nothing(note),
    }
}

fn set<T>(place: &mut T, value: T) -> Result<(), &'static str> {
    *place = value;
    Ok(())
}

fn optional(text: &str) -> Option<&str> {
    (!text.is_empty()).then_some(text)
}

fn number(text: &str) -> Result<u8, &'static str> {
    text.parse().map_err(|_| "a number from 0 to 255")
}

fn seconds(text: &str) -> Result<Duration, &'static str> {
    match text.parse::<u32>() {
        Ok(seconds) if seconds > 0 => Ok(Duration::from_secs(u64::from(seconds))),
        _ => Err("a positive number of seconds"),
    }
}

fn working_dir(config: &mut Config, text: &str) -> Result<(), &'static str> {
    if text.is_empty() {
        // csi-proxy takes an empty prefix for "everywhere"; nobody means that.
        return Err("a folder; an empty one would allow every path");
    }
    config.working_dirs.push(text.to_owned());
    Ok(())
}

fn reach(confined: bool) -> Reach {
    match confined {
        true => Reach::WorkingDirs,
        false => Reach::Anywhere,
    }
}

fn format_guard(config: &mut Config, text: &str) -> Result<(), &'static str> {
    config.format_guard = match text {
        "signatures" => node::FormatGuard::Signatures,
        "strict" => node::FormatGuard::Strict,
        _ => return Err("strict or signatures"),
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
