use std::ffi::OsString;

use super::table::{Apply, Flag, Value, all, is_ours};
use super::{Config, Invocation};

/// A command line as the system gives it, as text.
///
/// # Errors
/// An argument is no valid Unicode.
pub fn unicode(arguments: impl IntoIterator<Item = OsString>) -> Result<Vec<String>, FlagError> {
    arguments
        .into_iter()
        .map(|argument| argument.into_string().map_err(FlagError::NoUnicode))
        .collect()
}

/// Reads a command line in the style of Go's `flag` package, without the program's name.
///
/// One dash or two; `-flag=value` or, for flags that are not boolean, `-flag value`; a repeated
/// flag overrides, or adds where it may be given several times; `--` ends the flags. Arguments behind
/// the flags are ignored, but not when there is a flag of ours among them.
///
/// # Errors
/// An unknown flag, a missing or wrong value, a flag of ours behind an argument that is none, or one that means
/// nothing without another.
pub fn parse(arguments: impl IntoIterator<Item = String>) -> Result<Invocation, FlagError> {
    let mut config = Config::default();
    let mut arguments = arguments.into_iter();
    while let Some(argument) = arguments.next() {
        let Some((name, value)) = split(&argument)? else {
            config.ignored = behind(argument, arguments)?;
            break;
        };
        let flag = find(name)?;
        if let Apply::Instead(invocation) = &flag.apply {
            return Ok(invocation.clone());
        }
        apply(&mut config, flag, value, &mut arguments)?;
    }
    check_together(&config)?;
    Ok(Invocation::Serve(Box::new(config)))
}

/// Whoever names what is to be native may think that the rest is not.
fn check_together(config: &Config) -> Result<(), FlagError> {
    if config.simulate.is_none() && !config.native.is_empty() {
        return Err(FlagError::NativeAlone);
    }
    Ok(())
}

/// A command line that cannot be understood. Texts are those of Go's `flag` package where it has one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FlagError {
    /// The value of a flag that is true or false is neither.
    #[error("invalid boolean value {value:?} for -{name}: parse error")]
    Boolean {
        /// The flag.
        name: &'static str,
        /// What it was given.
        value: String,
    },
    /// Facilities are to be native, of a node that is native as a whole.
    #[error("-native without -simulate: everything is this machine's own already")]
    NativeAlone,
    /// The flag needs a value and is the last argument.
    #[error("flag needs an argument: -{0}")]
    NeedsArgument(&'static str),
    /// An argument is no valid Unicode.
    #[error("argument is no valid Unicode: {0:?}")]
    NoUnicode(OsString),
    /// A flag of ours behind an argument that is none: Go would ignore it.
    #[error("{stray:?} is no flag, and {flag:?} behind it would have no effect")]
    Shadowed {
        /// The argument that is no flag.
        stray: String,
        /// The first flag of ours behind it.
        flag: String,
    },
    /// Three dashes, or no name.
    #[error("bad flag syntax: {0}")]
    Syntax(String),
    /// No flag has this name.
    #[error("flag provided but not defined: -{0}")]
    Undefined(String),
    /// The value is not what the flag takes.
    #[error("invalid value {value:?} for flag -{name}: {reason}")]
    Value {
        /// The flag.
        name: &'static str,
        /// What it was given.
        value: String,
        /// What is wrong with it, or what it takes.
        reason: String,
    },
}

/// The flag's name and the value behind `=`; `None` for what is no flag.
#[allow(
    clippy::type_complexity,
    reason = "a name for this pair would say less"
)]
fn split(argument: &str) -> Result<Option<(&str, Option<&str>)>, FlagError> {
    let body = argument
        .strip_prefix("--")
        .or_else(|| argument.strip_prefix('-'));
    let Some(body) = body.filter(|body| !body.is_empty()) else {
        return Ok(None);
    };
    if body.starts_with(['-', '=']) {
        return Err(FlagError::Syntax(argument.to_owned()));
    }
    Ok(Some(
        body.split_once('=')
            .map_or((body, None), |(name, value)| (name, Some(value))),
    ))
}

/// What follows the flags, which csi-proxy ignores as Go's package does, whatever it is. A flag of ours among it is
/// refused: csi-proxy's command lines have none, and it may be the one that limits what can be called. `--` says that
/// it is meant so.
fn behind(first: String, rest: impl Iterator<Item = String>) -> Result<Vec<String>, FlagError> {
    let rest: Vec<String> = rest.collect();
    if first == "--" {
        return Ok(rest);
    }
    match rest.iter().find(|argument| names_ours(argument)) {
        Some(flag) => Err(FlagError::Shadowed {
            stray: first,
            flag: flag.clone(),
        }),
        None => Ok([vec![first], rest].concat()),
    }
}

fn names_ours(argument: &str) -> bool {
    matches!(split(argument), Ok(Some((name, _))) if is_ours(name))
}

fn find(name: &str) -> Result<&'static Flag, FlagError> {
    let name = if name == "h" { "help" } else { name };
    all()
        .find(|flag| flag.name == name)
        .ok_or_else(|| FlagError::Undefined(name.to_owned()))
}

fn apply(
    config: &mut Config,
    flag: &'static Flag,
    value: Option<&str>,
    rest: &mut impl Iterator<Item = String>,
) -> Result<(), FlagError> {
    let value = match (flag.value, value) {
        (_, Some(value)) => value.to_owned(),
        (Value::Bool, None) => String::from("true"),
        (Value::Of(_), None) => rest.next().ok_or(FlagError::NeedsArgument(flag.name))?,
    };
    let outcome = match flag.apply {
        Apply::Bool(apply) => {
            let on = go_bool(&value).ok_or_else(|| not_boolean(flag, &value))?;
            apply(config, on);
            Ok(())
        }
        Apply::Go(apply) => apply(config, &value),
        // Whoever reads the command line has ended there.
        Apply::Instead(_) => Ok(()),
        Apply::Nothing(note) => {
            note(config);
            Ok(())
        }
        Apply::Text(apply) => apply(config, &value).map_err(|wanted| format!("want {wanted}")),
    };
    outcome.map_err(|reason| FlagError::Value {
        name: flag.name,
        value,
        reason,
    })
}

fn not_boolean(flag: &Flag, value: &str) -> FlagError {
    FlagError::Boolean {
        name: flag.name,
        value: value.to_owned(),
    }
}

/// What Go's `strconv.ParseBool` takes.
fn go_bool(text: &str) -> Option<bool> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Some(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use transport::ServerOptions;

    use super::super::{Invocation, all, usage};
    use super::{FlagError, parse};
    use crate::http::{BarePort, BindAddress};
    use crate::log::Severity;

    fn serve(line: &str) -> super::Config {
        match parse(line.split_whitespace().map(str::to_owned)) {
            Ok(Invocation::Serve(config)) => *config,
            other => panic!("{line:?} gives {other:?}"),
        }
    }

    #[test]
    fn lines_of_the_field_are_understood() {
        let config = serve(
            r"-windows-service -kubelet-path=D:\kubelet --working-dir C:\a -working-dir=C:\b -require-privacy=false -v 5 -logtostderr=false",
        );
        assert!(config.windows_service);
        assert!(!config.require_privacy);
        assert_eq!(config.log.verbosity, 5);
        assert!(!config.log.to_stderr);
        assert_eq!(config.roots(), [r"C:\a", r"C:\b", r"D:\kubelet"]);
    }

    /// csi-proxy asks what is on a disk of nobody, so what it overwrites is refused by known signatures
    /// alone; the library, whose callers are new, refuses whatever is not blank.
    #[test]
    fn what_nothing_explains_is_overwritten_here_and_refused_by_the_library() {
        let ours = super::Config::default().format_guard;
        assert_eq!(ours, node::FormatGuard::Signatures);
        let library = node::Options::default().format_guard;
        assert_eq!(library, node::FormatGuard::Strict);
    }

    #[test]
    fn every_flag_of_csi_proxy_is_taken_with_its_default() {
        // Source: csi-proxy's usage, and klog's for the logging flags.
        const THEIRS: [(&str, &str); 20] = [
            ("kubelet-path", r"C:\var\lib\kubelet"),
            ("working-dir", ""),
            ("windows-service", "false"),
            ("require-privacy", "true"),
            ("metrics-bind-address", ""),
            ("v", "0"),
            ("logtostderr", "true"),
            ("alsologtostderr", "false"),
            ("log_dir", ""),
            ("log_file", ""),
            ("log_file_max_size", "1800"),
            ("add_dir_header", "false"),
            ("skip_headers", "false"),
            ("skip_log_headers", "false"),
            ("one_output", "false"),
            ("stderrthreshold", "2"),
            ("alsologtostderrthreshold", "0"),
            ("legacy_stderr_threshold_behavior", "true"),
            ("vmodule", ""),
            ("log_backtrace_at", ""),
        ];
        for (name, default) in THEIRS {
            let flag = all().find(|flag| flag.name == name).expect(name);
            assert_eq!(flag.default, default, "{name}");
        }
    }

    #[test]
    fn help_and_version_go_before_what_follows_and_not_before_what_is_wrong() {
        let parsed = |line: &str| parse(line.split(' ').map(str::to_owned));
        for line in ["-h", "--help", "-v=2 -help -nonsense"] {
            assert_eq!(parsed(line), Ok(Invocation::Help), "{line}");
        }
        assert_eq!(parsed("-version -v"), Ok(Invocation::Version));
        assert!(parsed("-nonsense -help").is_err());
    }

    #[test]
    fn every_name_is_there_once() {
        let mut names: Vec<_> = all().map(|flag| flag.name).collect();
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{names:?}");
    }

    #[test]
    fn klogs_flags_reach_the_log() {
        let log = serve(
            "-log_dir=x -vmodule a=1,b*=7 -skip_headers -v=-2 --stderrthreshold=warning -log_file_max_size 3 -logtostderr=0 -log_backtrace_at a.go:1 -alsologtostderrthreshold 1",
        );
        assert_eq!(log.ineffective, ["log_backtrace_at"]);
        let log = log.log;
        assert_eq!((log.verbosity, log.max_megabytes), (-2, 3));
        assert_eq!(log.folder.as_deref(), Some("x".as_ref()));
        assert!(!log.to_stderr);
        assert_eq!(
            (log.threshold, log.also_threshold),
            (Severity::Warning, Severity::Warning)
        );
        assert_eq!(log.modules.len(), 2);
        assert!(log.skip_headers);
    }

    #[test]
    fn what_go_refuses_is_refused_in_its_words() {
        let error = |line: &str| {
            parse(line.split(' ').map(str::to_owned))
                .expect_err(line)
                .to_string()
        };
        for (line, text) in [
            ("-nonsense", "flag provided but not defined: -nonsense"),
            ("-v", "flag needs an argument: -v"),
            (
                "-windows-service=perhaps",
                r#"invalid boolean value "perhaps" for -windows-service: parse error"#,
            ),
            (
                "-windows-service=",
                r#"invalid boolean value "" for -windows-service: parse error"#,
            ),
            ("---v=1", "bad flag syntax: ---v=1"),
            ("-=1", "bad flag syntax: -=1"),
            (
                "-v=much",
                r#"invalid value "much" for flag -v: strconv.ParseInt: parsing "much": invalid syntax"#,
            ),
            (
                "-log_file_max_size=-1",
                r#"invalid value "-1" for flag -log_file_max_size: parse error"#,
            ),
            (
                "-format-guard=none",
                r#"invalid value "none" for flag -format-guard: want strict, signatures or off"#,
            ),
        ] {
            assert_eq!(error(line), text);
        }
        for empty in ["-working-dir=", "-kubelet-path="] {
            assert!(error(empty).contains("every path"), "{empty}");
        }
    }

    #[test]
    fn what_clients_may_make_the_server_hold_has_bounds() {
        let line = |text: &str| format!("-max-held-memory={text}");
        for (text, bytes) in [("16", 16 << 20), ("65536", 64 << 30)] {
            assert_eq!(serve(&line(text)).max_held_bytes, bytes);
        }
        for text in [
            "",
            "0",
            "15",
            "65537",
            "-64",
            "64MiB",
            "18446744073709551616",
        ] {
            let error = parse([line(text)]).expect_err(text);
            assert!(error.to_string().contains("from 16 to 65536"), "{error}");
        }
    }

    #[test]
    fn limits_are_the_transports_own_unless_told_otherwise() {
        let (config, options) = (super::Config::default(), ServerOptions::default());
        assert_eq!(config.max_held_bytes, options.max_held_bytes);
        assert_eq!(config.max_connection_idle, options.max_idle);
        assert_eq!(config.call_timeout, options.call_timeout);
    }

    /// csi-proxy's flag means what it means there; ours keeps to this machine.
    #[test]
    fn a_port_without_a_host_is_every_address_for_metrics_only() {
        let config = serve("-metrics-bind-address=:9090 -healthz-bind-address=:9091");
        let address = |text, bare| BindAddress::parse(text, bare).ok();
        assert_eq!(
            config.metrics_address,
            address(":9090", BarePort::EveryAddress)
        );
        assert_eq!(config.healthz_address, address(":9091", BarePort::Loopback));
    }

    #[test]
    fn facilities_are_native_beside_a_simulated_node_alone() {
        let mixed = serve("-native=files,volumes -simulate=node");
        assert_eq!(mixed.native, [os::Facility::Files, os::Facility::Volumes]);
        let alone = parse(["-native=files".to_owned()]);
        assert_eq!(alone, Err(FlagError::NativeAlone));
        assert!(serve("-native=").native.is_empty());
    }

    /// A boolean flag takes no next word, and Go stops there.
    #[test]
    fn what_csi_proxy_ignores_behind_a_word_that_is_no_flag_keeps_nobody_from_starting() {
        let config = serve("-windows-service true -x -log_file=x -require-privacy=false");
        assert!(config.windows_service && config.require_privacy);
        let ignored = ["true", "-x", "-log_file=x", "-require-privacy=false"];
        assert_eq!(config.ignored, ignored);
        let off = serve("-windows-service=false true");
        assert!(!off.windows_service);
    }

    #[test]
    fn no_flag_of_ours_is_ignored() {
        assert_eq!(serve("-v=2 serve now").ignored, ["serve", "now"]);
        assert_eq!(serve("-v 2 -- -policy-file=x").ignored, ["-policy-file=x"]);
        for flag in ["--format-guard", "-policy-file"] {
            parse(["true", "-v=2", flag].map(str::to_owned)).expect_err(flag);
        }
        let line = "-windows-service true -policy-file=x";
        let error = parse(line.split(' ').map(str::to_owned)).expect_err("a flag would be lost");
        assert_eq!(
            error,
            FlagError::Shadowed {
                stray: String::from("true"),
                flag: String::from("-policy-file=x"),
            }
        );
    }

    #[test]
    fn the_usage_names_every_flag_and_its_default() {
        let text = usage();
        for flag in all() {
            assert!(text.contains(&format!("  -{}", flag.name)), "{}", flag.name);
            assert!(text.contains(flag.default), "{}", flag.name);
        }
    }

    #[test]
    fn written_defaults_are_the_real_ones() {
        let mut line = Vec::new();
        for flag in all().filter(|flag| !flag.default.is_empty()) {
            line.push(format!("-{}={}", flag.name, flag.default));
        }
        let Ok(Invocation::Serve(mut config)) = parse(line) else {
            panic!("the defaults do not parse");
        };
        config.ineffective.clear();
        assert_eq!(
            config.pipe_security.take().as_deref(),
            // Administrators', open to them and LocalSystem, and to nobody by inheritance.
            Some("O:BAD:P(A;;GA;;;SY)(A;;GA;;;BA)")
        );
        assert_eq!(*config, super::Config::default());
    }
}
