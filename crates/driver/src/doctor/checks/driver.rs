//! The driver itself: its sockets, its registration, its records.

use transport::Endpoint;
use wincsi::system::{ServiceInfo, ServiceName, ServiceState};
use wincsi::{Condition, Feature, ResultExt as _, WinPath};

use crate::doctor::notes::{Doubt, Notes, Provider};
use crate::doctor::subject::{Driver, Subject};
use crate::record::StoreError;

/// Kubelet's service, where it is one.
const SERVICE: &str = "kubelet";
const PROGRAM: &str = "kubelet.exe";

/// The driver of Windows for Unix sockets, by which kubelet and the command call.
const AF_UNIX: &str = "afunix";

/// Kubelet's own default of `--root-dir`
/// (<https://kubernetes.io/docs/reference/command-line-tools-reference/kubelet/>).
const ROOT_DIR: &str = "/var/lib/kubelet";

pub(in crate::doctor) fn kubelet_folder(subject: &Subject<'_>, notes: &mut Notes) {
    // A sidecar registers, or a port of a test has no folder.
    let Some(Endpoint::Socket(socket)) = &subject.site.registry else {
        return;
    };
    let Some(folder) = socket.parent() else {
        return;
    };
    if let Some((root, text)) = notes.seen(other_root(subject)).flatten() {
        notes.found("", text, None);
        // A shell reads it between quotation marks, and without a drive it is not known whole.
        if !root.contains('\'') && !root.starts_with('\\') {
            notes.fill("DIR", root);
        }
    } else if notes.seen(subject.is_folder(folder.to_owned())) == Some(false) {
        let text = format!("kubelet has no folder {}", folder.display());
        notes.found("", text, None);
    }
}

/// Kubelet's folder, and that this driver has another one. A kubelet that has registered the driver has this driver's, also
/// where an old service says otherwise.
fn other_root(subject: &Subject<'_>) -> Result<Option<(String, String)>, Doubt> {
    let Some(own) = &subject.site.kubelet else {
        return Ok(None);
    };
    if matches!(subject.driver, Driver::Own(Some(Ok(())))) {
        return Ok(None);
    }
    // The pipes do not say how a program was started.
    subject.require(Feature::SystemIdentity)?;
    let (root, by) = match root_of_service(subject)? {
        Some(root) => (root.to_string(), "its service's command line"),
        None => (root_of_process(subject)?, "its command line"),
    };
    let own_text = own.to_string();
    let compared = match root.starts_with('\\') {
        true => own_text.split_once(':').map_or("", |(_, path)| path),
        false => &own_text,
    };
    let is_own = root.eq_ignore_ascii_case(compared);
    let text = format!("kubelet has {root} by {by}, and this driver {own}");
    Ok((!is_own).then_some((root, text)))
}

/// The folder of a service that runs, and starts kubelet itself.
fn root_of_service(subject: &Subject<'_>) -> Result<Option<WinPath>, Doubt> {
    let running =
        service(subject, SERVICE)?.filter(|service| service.state == ServiceState::Running);
    Ok(running.and_then(|service| root_dir(&service.command?)))
}

/// A service, if there is one.
pub(super) fn service(subject: &Subject<'_>, name: &str) -> Result<Option<ServiceInfo>, Doubt> {
    let Ok(name) = ServiceName::parse(name) else {
        return Ok(None);
    };
    subject.ask(Provider::Services, |node, until| {
        let service = node.system().service(&name, until);
        service.none_if(Condition::NotFound)
    })
}

/// The folder of the kubelet that something else started, as nssm and RKE2 do; without the drive of its working folder, if
/// its command line names none.
fn root_of_process(subject: &Subject<'_>) -> Result<String, Doubt> {
    let commands = subject.ask(Provider::Processes, |node, until| {
        node.system().command_lines(PROGRAM, until)
    })?;
    let Some(commands) = commands.into_iter().collect::<Option<Vec<_>>>() else {
        let text = format!("the command line of {PROGRAM} may not be read");
        return Err(Doubt::Unasked(text));
    };
    let root = |command: &String| {
        let (on_c, on_d) = (root_on(command, 'C')?, root_on(command, 'D')?);
        let on_c_text = on_c.to_string();
        Some(match on_c == on_d {
            true => on_c_text,
            false => on_c_text.trim_start_matches("C:").to_owned(),
        })
    };
    let mut roots = Vec::from_iter(commands.iter().map(root));
    roots.dedup();
    match <[_; 1]>::try_from(roots) {
        Ok([Some(root)]) => Ok(root),
        _ => {
            let text = format!("no service kubelet and not one {PROGRAM} says which folder it has");
            Err(Doubt::Lacking(text))
        }
    }
}

/// As [`root_on`] the drive of a service's working folder.
fn root_dir(command: &str) -> Option<WinPath> {
    root_on(command, 'C')
}

/// The `--root-dir` of a command line that starts kubelet itself; on this drive, if it names none.
fn root_on(command: &str, drive: char) -> Option<WinPath> {
    let mut words = words(command).into_iter();
    let program = words.next()?.to_lowercase();
    let program = program.rsplit(['\\', '/']).next()?;
    if program.trim_end_matches(".exe") != SERVICE {
        return None;
    }
    let mut root = ROOT_DIR.to_owned();
    while let Some(word) = words.next() {
        let (flag, value) = match word.split_once('=') {
            Some((flag, value)) => (flag, Some(value.to_owned())),
            None => (&*word, None),
        };
        // Kubelet takes both.
        if flag.trim_start_matches('-').replace('_', "-") == "root-dir" {
            root = value.or_else(|| words.next())?;
        }
    }
    // Nothing says what a variable of the environment stands for.
    let is_plain = !root.contains('%');
    is_plain.then(|| WinPath::parse_on_drive(&root, drive).ok())?
}

/// The words of a command line. A quotation mark is always a limit: paths have none.
fn words(command: &str) -> Vec<String> {
    let mut is_quoted = false;
    let words = command.split(move |letter: char| {
        is_quoted ^= letter == '"';
        letter.is_whitespace() && !is_quoted
    });
    let words = words.map(|word| word.replace('"', ""));
    words.filter(|word| !word.is_empty()).collect()
}

pub(in crate::doctor) fn absent(subject: &Subject<'_>, notes: &mut Notes) {
    let (Driver::Absent(why) | Driver::Unknown(why)) = &subject.driver else {
        return;
    };
    let sockets = notes.seen(service(subject, AF_UNIX)).flatten();
    let has_none = sockets.is_some_and(|service| service.state != ServiceState::Running);
    match &subject.driver {
        _ if has_none => {
            let text = format!("no driver answers: the service {AF_UNIX} does not run: {why}");
            notes.found("", text, None);
        }
        Driver::Absent(_) => notes.found("", format!("no driver answers: {why}"), None),
        _ => notes.unseen(Doubt::Unasked(why.clone())),
    }
}

pub(in crate::doctor) fn not_registered(subject: &Subject<'_>, notes: &mut Notes) {
    match &subject.driver {
        Driver::Own(Some(Ok(()))) => {}
        Driver::Own(Some(Err(why))) => notes.found("", why.clone(), None),
        Driver::Own(None) => {
            let text = "node-driver-registrar registers the driver (-registration=off)";
            notes.unseen(Doubt::Lacking(text.to_owned()));
        }
        Driver::Absent(_) | Driver::Unknown(_) | Driver::Older => {
            let text = "the running driver alone knows whether kubelet called";
            notes.unseen(Doubt::Lacking(text.to_owned()));
        }
    }
}

pub(in crate::doctor) fn unreadable_records(subject: &Subject<'_>, notes: &mut Notes) {
    let Some(peeked) = notes.seen(subject.peeked()) else {
        return;
    };
    for error in &peeked.unreadable {
        match error {
            StoreError::Unreadable { .. } => notes.found("", error.to_string(), None),
            _ => notes.unseen(Doubt::Unasked(error.to_string())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_is_that_of_kubelets_flags() {
        let default = Some(r"C:\var\lib\kubelet");
        for (command, root) in [
            (r"C:\k\kubelet.exe --windows-service", default),
            (
                r"C:\k\kubelet.exe --root-dir=D:/kubelet --v=2",
                Some(r"D:\kubelet"),
            ),
            (r"C:\k\kubelet.exe --root_dir=D:\a_b", Some(r"D:\a_b")),
            (r"KUBELET -root-dir D:\a --root-dir \b", Some(r"C:\b")),
            (
                r#""C:\Program Files\k\kubelet.exe" --root-dir "D:\a b""#,
                Some(r"D:\a b"),
            ),
            (
                r#"C:\k\kubelet.exe --root-dir="D:\a b" --x"#,
                Some(r"D:\a b"),
            ),
            (r"C:\k\kubelet.exe --x-root-dir=D:\a", default),
            (r"C:\k\kubelet.exe --root-dir=%DATA%\kubelet", None),
            (r"C:\k\kubelet.exe --root-dir=kubelet", None),
            (r"C:\k\kubelet.exe --root-dir", None),
            (r"C:\k\nssm.exe", None),
            ("", None),
        ] {
            let found = root_dir(command).map(|root| root.to_string());
            assert_eq!(found.as_deref(), root, "{command}");
        }
    }
}
