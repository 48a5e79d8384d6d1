//! Whose program a service runs, by its command line.

/// Whether the program is csi-proxy: its file name is `own`, or one of csi-proxy's usual names
/// (`csi-proxy`, `csiproxy`, with a version behind: `csi-proxy-v1`).
///
/// The arguments do not count: many programs have csi-proxy's files among theirs. A wrapper (`nssm.exe`) is another
/// program, even if it starts csi-proxy.
pub(super) fn is_csi_proxy(command_line: &str, own: &str) -> bool {
    let name = stem(program(command_line));
    !name.is_empty() && (name == stem(own) || is_known(&name))
}

fn is_known(name: &str) -> bool {
    let known = ["csi-proxy", "csiproxy"];
    known
        .iter()
        .filter_map(|known| name.strip_prefix(known))
        .any(|rest| rest.is_empty() || is_version(rest))
}

/// `-v1`, `-v1.1.3`.
fn is_version(text: &str) -> bool {
    let number = text.strip_prefix("-v").unwrap_or_default();
    let is_part = |c: char| c.is_ascii_digit() || c == '.';
    number.starts_with(|c: char| c.is_ascii_digit()) && number.chars().all(is_part)
}

/// The last name of a path, in lower case and without `.exe`.
fn stem(path: &str) -> String {
    let name = path.rsplit(['\\', '/']).next().unwrap_or_default();
    let name = name.to_lowercase();
    name.strip_suffix(".exe").unwrap_or(&name).to_owned()
}

/// The program in a command line. In quotes it ends at the next quote, as `CommandLineToArgvW` reads the first word.
///
/// Without quotes Windows tries the text before each blank in turn and runs the first existing file
/// (<https://learn.microsoft.com/windows/win32/api/processthreadsapi/nf-processthreadsapi-createprocessw>). The text
/// alone does not show which: this takes it up to the first `.exe` before a blank if that may be one path, else up to
/// the first blank.
fn program(command_line: &str) -> &str {
    let line = command_line.trim_start();
    match line.strip_prefix('"') {
        Some(quoted) => quoted.split('"').next().unwrap_or(quoted),
        None => unquoted(line),
    }
}

fn unquoted(line: &str) -> &str {
    let blank = [' ', '\t'];
    let lower = line.to_ascii_lowercase();
    let ends = lower.match_indices(".exe").map(|(at, exe)| at + exe.len());
    let mut paths = ends.filter_map(|end| line.split_at_checked(end));
    let path = paths.find(|(_, rest)| rest.is_empty() || rest.starts_with(blank));
    match path {
        Some((path, _)) if may_be_one_path(path) => path,
        _ => line.split(blank).next().unwrap_or(line),
    }
}

/// Whether nothing in it begins an argument: a second drive, a quote, a dash or slash behind a blank.
fn may_be_one_path(text: &str) -> bool {
    let below = text.get(2..).unwrap_or_default();
    !below.contains(['"', ':', '*', '?', '<', '>', '|'])
        && !below.contains(" -")
        && !below.contains(" /")
}

#[cfg(test)]
mod tests {
    use super::is_csi_proxy;

    const OWN: &str = "Proxy-2.exe";

    /// Guards: P12
    #[test]
    fn csi_proxy_is_recognised_by_its_file_name_only() {
        for ours in [
            r"C:\etc\CSI-Proxy.exe -windows-service",
            r#""C:\b in\proxy-2.exe" -v=4"#,
            r"C:\b in\proxy-2.exe -v=4",
            r"C:\Program Files\csi-proxy\csi-proxy.exe -windows-service -log_file=C:\k\csi proxy.log",
            r#""C:\k\csi-proxy.exe""#,
            r"C:\k\csi-proxy -windows-service",
            r"C:/k/csiproxy.exe",
            r"C:\k\csi-proxy-v1.exe",
            r"C:\k\csi-proxy-v1.1.3.exe -v=4",
        ] {
            assert!(is_csi_proxy(ours, OWN), "{ours}");
        }
        for foreign in [
            r"C:\Windows\System32\spoolsv.exe",
            r"C:\k\fluent-bit.exe -p path=C:\k\csi-proxy.log",
            r"C:\k\fluent-bit -p path=C:\k\csi-proxy.exe",
            r"C:\k\watch C:\k\csi-proxy.exe",
            r#""C:\k\fluent-bit.exe" "C:\k\csi-proxy.exe""#,
            r"C:\k\csi-proxy\nssm.exe",
            r"C:\k\csi-proxy\fluent-bit.exe csi-proxy.exe",
            r"C:\k\envoy-proxy-2.exe",
            r"C:\k\csi-proxy-exporter.exe",
            r"C:\k\csi-proxy-v.exe",
            "",
            r#""""#,
        ] {
            assert!(!is_csi_proxy(foreign, OWN), "{foreign}");
        }
        assert!(!is_csi_proxy("", ""));
    }
}
