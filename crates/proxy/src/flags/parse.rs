use super::Config;
use super::FLAGS;
use super::Flag;
use super::Invocation;
use super::Value;
use super::table::Apply;

/// Reads a command line in the style of Go's `flag` package, without the program's name.
///
/// One dash or two; `-flag=value` or, for flags that are not boolean, `-flag value`; a repeated
/// flag overrides, or adds where it may be given several times.
///
/// # Errors
/// An unknown flag, a missing or wrong value, or an argument that is no flag.
pub fn parse(arguments: impl IntoIterator<Item = String>) -> Result<Invocation, FlagError> {
    let mut config = Config::default();
    let mut arguments = arguments.into_iter();
    while let Some(argument) = arguments.next() {
        let (name, value) = split(&argument)?;
        match name {
            "h" | "help" => return Ok(Invocation::Help),
            "version" => return Ok(Invocation::Version),
            _ => apply(&mut config, find(name)?, value, &mut arguments)?,
        }
    }
    Ok(Invocation::Serve(Box::new(config)))
}

/// A command line that cannot be understood. Texts are those of Go's `flag` package where it has one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FlagError {
    /// The flag needs a value and is the last argument.
    #[error("flag needs an argument: -{0}")]
    NeedsArgument(&'static str),
    /// An argument without a dash.
    #[error("unexpected argument {0:?}")]
    NoFlag(String),
    /// No flag has this name.
    #[error("flag provided but not defined: -{0}")]
    Undefined(String),
    /// The value is not what the flag takes.
    #[error("invalid value {value:?} for flag -{name}: want {wanted}")]
    Value {
        /// The flag.
        name: &'static str,
        /// What it was given.
        value: String,
        /// What it takes.
        wanted: &'static str,
    },
}

fn split(argument: &str) -> Result<(&str, Option<&str>), FlagError> {
    let body = argument
        .strip_prefix("--")
        .or_else(|| argument.strip_prefix('-'));
    match body {
        Some(body) if !body.is_empty() && !body.starts_with(['-', '=']) => Ok(body
            .split_once('=')
            .map_or((body, None), |(name, value)| (name, Some(value)))),
        _ => Err(FlagError::NoFlag(argument.to_owned())),
    }
}

fn find(name: &str) -> Result<&'static Flag, FlagError> {
    FLAGS
        .iter()
        .find(|flag| flag.name == name)
        .ok_or_else(|| FlagError::Undefined(name.to_owned()))
}

fn apply(
    config: &mut Config,
    flag: &'static Flag,
    value: Option<&str>,
    rest: &mut impl Iterator<Item = String>,
) -> Result<(), FlagError> {
    match flag.apply {
        Apply::Bool(apply) => {
            let text = value.unwrap_or("true");
            let on = go_bool(text).ok_or_else(|| wrong(flag, text, "true or false"))?;
            apply(config, on);
            Ok(())
        }
        Apply::Nothing(note) => {
            if flag.value != Value::Bool && value.is_none() {
                rest.next().ok_or(FlagError::NeedsArgument(flag.name))?;
            }
            note(config);
            Ok(())
        }
        Apply::Text(apply) => {
            let text = match value {
                Some(value) => value.to_owned(),
                None => rest.next().ok_or(FlagError::NeedsArgument(flag.name))?,
            };
            apply(config, &text).map_err(|wanted| wrong(flag, &text, wanted))
        }
    }
}

fn wrong(flag: &Flag, value: &str, wanted: &'static str) -> FlagError {
    FlagError::Value {
        name: flag.name,
        value: value.to_owned(),
        wanted,
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
    use super::super::FLAGS;
    use super::super::Invocation;
    use super::super::usage;
    use super::FlagError;
    use super::parse;

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
        assert_eq!(config.verbosity, 5);
        assert_eq!(config.roots(), [r"C:\a", r"C:\b", r"D:\kubelet"]);
    }

    #[test]
    fn every_flag_of_csi_proxy_is_taken() {
        // Source: csi-proxy's usage, and klog's for the logging flags.
        const THEIRS: [&str; 18] = [
            "kubelet-path",
            "working-dir",
            "windows-service",
            "require-privacy",
            "metrics-bind-address",
            "v",
            "logtostderr",
            "alsologtostderr",
            "log_dir",
            "log_file",
            "log_file_max_size",
            "add_dir_header",
            "skip_headers",
            "skip_log_headers",
            "one_output",
            "stderrthreshold",
            "vmodule",
            "log_backtrace_at",
        ];
        for name in THEIRS {
            assert!(FLAGS.iter().any(|flag| flag.name == name), "{name}");
        }
        let config = serve("-log_dir=x -vmodule a=1 -skip_headers -v=2");
        assert_eq!(config.ineffective, ["log_dir", "vmodule", "skip_headers"]);
        assert_eq!(config.verbosity, 2);
    }

    #[test]
    fn what_go_refuses_is_refused() {
        let error = |line: &str| parse(line.split_whitespace().map(str::to_owned)).unwrap_err();
        assert_eq!(
            error("-nonsense"),
            FlagError::Undefined(String::from("nonsense"))
        );
        assert_eq!(error("-v"), FlagError::NeedsArgument("v"));
        assert!(matches!(
            error("-windows-service=perhaps"),
            FlagError::Value { .. }
        ));
        assert!(matches!(error("serve"), FlagError::NoFlag(_)));
        assert!(matches!(error("---v=1"), FlagError::NoFlag(_)));
        assert!(matches!(error("-working-dir="), FlagError::Value { .. }));
    }

    #[test]
    fn the_usage_names_every_flag_and_its_default() {
        let text = usage();
        for flag in FLAGS {
            assert!(text.contains(&format!("  -{}", flag.name)), "{}", flag.name);
            assert!(text.contains(flag.default), "{}", flag.name);
        }
    }

    #[test]
    fn written_defaults_are_the_real_ones() {
        let mut line = Vec::new();
        for flag in FLAGS.iter().filter(|flag| !flag.default.is_empty()) {
            line.push(format!("-{}={}", flag.name, flag.default));
        }
        let Ok(Invocation::Serve(mut config)) = parse(line) else {
            panic!("the defaults do not parse");
        };
        config.ineffective.clear();
        assert_eq!(
            config.pipe_security.take().as_deref(),
            Some(transport::DEFAULT_SECURITY)
        );
        assert_eq!(*config, super::Config::default());
    }
}
