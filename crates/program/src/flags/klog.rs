use std::marker::PhantomData;
use std::num::IntErrorKind;
use std::path::PathBuf;

use super::{Apply, Configuration, Flag, Value, optional};
use crate::log::{Module, Severity};

/// klog's flags, for a program with this configuration.
pub struct Klog<C>(PhantomData<C>);

impl<C: Configuration> Klog<C> {
    /// Names, values and defaults are those of klog v2's `InitFlags`.
    pub const FLAGS: &'static [Flag<C>] = &[
        Flag {
            name: "add_dir_header",
            value: Value::Bool,
            default: "false",
            help: "Add the source file's folder to the header.",
            apply: Apply::Bool(|config, on| config.log().add_dir_header = on),
        },
        Flag {
            name: "alsologtostderr",
            value: Value::Bool,
            default: "false",
            help: "Log to standard error as well as to files (no effect with -logtostderr=true).",
            apply: Apply::Bool(|config, on| config.log().also_to_stderr = on),
        },
        Flag {
            name: "alsologtostderrthreshold",
            value: Value::Of("severity"),
            default: "0",
            help: "The least severity that -alsologtostderr writes to standard error.",
            apply: Apply::Go(|config, text| {
                severity(text).map(|least| config.log().also_threshold = least)
            }),
        },
        Flag {
            name: "legacy_stderr_threshold_behavior",
            value: Value::Bool,
            default: "true",
            help: "Ignore -stderrthreshold when -logtostderr=true.",
            apply: Apply::Bool(|config, on| config.log().legacy_threshold = on),
        },
        Flag {
            name: "log_backtrace_at",
            value: Value::Of("file:N"),
            default: "",
            help: "Write a stack trace when this line logs: accepted, without effect here.",
            apply: Apply::Nothing,
        },
        Flag {
            name: "log_dir",
            value: Value::Of("folder"),
            default: "",
            help: "Write log files, one for each severity, into this folder (no effect with -logtostderr=true).",
            apply: Apply::Go(|config, text| {
                config.log().folder = optional(text).map(PathBuf::from);
                Ok(())
            }),
        },
        Flag {
            name: "log_file",
            value: Value::Of("path"),
            default: "",
            help: "Append the log to this file (no effect with -logtostderr=true).",
            apply: Apply::Go(|config, text| {
                config.log().file = optional(text).map(PathBuf::from);
                Ok(())
            }),
        },
        Flag {
            name: "log_file_max_size",
            value: Value::Of("MB"),
            default: "1800",
            help: "The size at which a log file, or the audit log, is rotated; 0 is never.",
            apply: Apply::Go(|config, text| {
                megabytes(text).map(|megabytes| config.log().max_megabytes = megabytes)
            }),
        },
        Flag {
            name: "logtostderr",
            value: Value::Bool,
            default: "true",
            help: "Log to standard error instead of files.",
            apply: Apply::Bool(|config, on| config.log().to_stderr = on),
        },
        Flag {
            name: "one_output",
            value: Value::Bool,
            default: "false",
            help: "With -log_dir: write a record only to the file of its own severity.",
            apply: Apply::Bool(|config, on| config.log().one_output = on),
        },
        Flag {
            name: "skip_headers",
            value: Value::Bool,
            default: "false",
            help: "Leave the header out of each record.",
            apply: Apply::Bool(|config, on| config.log().skip_headers = on),
        },
        Flag {
            name: "skip_log_headers",
            value: Value::Bool,
            default: "false",
            help: "Leave out the lines that begin each log file.",
            apply: Apply::Bool(|config, on| config.log().skip_log_headers = on),
        },
        Flag {
            name: "stderrthreshold",
            value: Value::Of("severity"),
            default: "2",
            help: "The least severity that goes to standard error beside the files.",
            apply: Apply::Go(|config, text| {
                severity(text).map(|least| config.log().threshold = least)
            }),
        },
        Flag {
            name: "v",
            value: Value::Of("level"),
            default: "0",
            help: "The verbosity of the log: 2 logs requests, 5 also their fields except secrets.",
            apply: Apply::Go(|config, text| {
                level(text).map(|level| config.log().verbosity = level)
            }),
        },
        Flag {
            name: "vmodule",
            value: Value::Of("pattern=N,..."),
            default: "",
            help: "Verbosity by source file or module path; * and ? are wildcards.",
            apply: Apply::Go(|config, text| {
                Module::parse_list(text)
                    .map(|modules| config.log().modules = modules)
                    .map_err(|error| error.to_string())
            }),
        },
    ];
}

fn severity(text: &str) -> Result<Severity, String> {
    match Severity::by_name(text) {
        Some(severity) => Ok(severity),
        None => level(text).map(Severity::by_number),
    }
}

/// As Go's `strconv.ParseInt` with 32 bits.
fn level(text: &str) -> Result<i32, String> {
    text.parse::<i32>().map_err(|error| {
        let why = match error.kind() {
            IntErrorKind::PosOverflow | IntErrorKind::NegOverflow => "value out of range",
            _ => "invalid syntax",
        };
        format!("strconv.ParseInt: parsing {text:?}: {why}")
    })
}

fn megabytes(text: &str) -> Result<u64, String> {
    text.parse::<u64>().map_err(|error| {
        String::from(match error.kind() {
            IntErrorKind::PosOverflow => "value out of range",
            _ => "parse error",
        })
    })
}
