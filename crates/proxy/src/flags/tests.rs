use program::http::{BarePort, BindAddress};
use program::log::Severity;
use transport::ServerOptions;

use super::{Config, FlagError, Invocation, all, parse, parse_with_variables, usage};

fn serve(line: &str) -> Config {
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

#[test]
fn a_flags_variable_counts_and_a_services_does_not() {
    let variable = |name: &str| {
        let value = match name {
            "CSI_PROXY_KUBELET_PATH" => r"D:\k & calc %PATH%",
            "CSI_PROXY_V" => "2",
            "CSI_PROXY_PORT" | "CSI_PROXY_SERVICE_HOST" | "WINCSI_V" => "tcp://10.0.0.1:80",
            _ => return None,
        };
        Some(value.to_owned())
    };
    let line = [String::from("-v=5")];
    let Ok(Invocation::Serve(config)) = parse_with_variables(&line, variable) else {
        panic!("not served");
    };
    assert_eq!(config.kubelet_path, r"D:\k & calc %PATH%");
    assert_eq!(config.log.verbosity, 5);
    assert!(parse_with_variables(&[], |name| (name == "CSI_PROXY_V").then(|| "x".into())).is_err());
}

/// csi-proxy checks no disk's content, so here only known signatures prevent overwriting; the
/// library has new callers, and refuses any disk that is not blank.
#[test]
fn what_nothing_explains_is_overwritten_here_and_refused_by_the_library() {
    let ours = Config::default().format_guard;
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

/// Guards: P48
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
    let (config, options) = (Config::default(), ServerOptions::default());
    assert_eq!(config.max_held_bytes, options.max_held_bytes);
    assert_eq!(config.max_connection_idle, options.max_idle);
    assert_eq!(config.call_timeout, options.call_timeout);
}

/// csi-proxy's flag keeps its meaning; ours stays on this machine.
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
    assert!(matches!(alone, Err(FlagError::Together(_))), "{alone:?}");
    assert!(serve("-native=").native.is_empty());
}

/// A boolean flag takes no next word, and Go stops there.
#[test]
fn what_csi_proxy_ignores_behind_a_word_that_is_no_flag_keeps_nobody_from_starting() {
    let config = serve("-windows-service true -x -log_file=x -require-privacy=false - ---v=1");
    assert!(config.windows_service && config.require_privacy);
    let ignored = [
        "true",
        "-x",
        "-log_file=x",
        "-require-privacy=false",
        "-",
        "---v=1",
    ];
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
        // Owned by Administrators, open to them and LocalSystem, without inheritance.
        Some("O:BAD:P(A;;GA;;;SY)(A;;GA;;;BA)")
    );
    assert_eq!(*config, Config::default());
}
