//! The names of everything that the suite makes outside its processes. They are fixed, except files in a folder of
//! their own: so a killed run's leftovers are found by name, and nothing else is ever touched.

/// The one share, of a folder on the suite's own volume.
pub const SHARE: &str = "wincsi-suite-share";

/// The user of the share's mapping. A name has 20 characters at most.
pub const USER: &str = "wincsi-suite-user";

/// A service without dependents.
pub const IDLE_SERVICE: &str = "wincsi-suite-idle";

/// A service with a dependent.
pub const BASE_SERVICE: &str = "wincsi-suite-base";

/// The service that needs [`BASE_SERVICE`].
pub const DEPENDENT_SERVICE: &str = "wincsi-suite-dependent";

/// All services, dependents first, in the order of stopping.
pub const SERVICES: [&str; 3] = [DEPENDENT_SERVICE, BASE_SERVICE, IDLE_SERVICE];

/// The source of events in the Application log; they stay there.
pub const EVENT_SOURCE: &str = "wincsi-suite";

/// In the suite's folder, open as long as a run lasts.
pub const LOCK: &str = "wincsi-suite.lock";

/// The comment on users, shares and services, for people who find them.
pub const REMARK: &str = "Made by wincsi's suite for Windows, for the time of a run";

const DISK: &str = "wincsi-suite-disk-";
const FILE: &str = ".vhdx";

/// The file of a run's n-th disk, in the suite's folder.
#[must_use]
pub fn disk_file(number: u32) -> String {
    format!("{DISK}{number}{FILE}")
}

/// Whether a file of the suite's folder is one of its disks.
#[must_use]
pub fn is_disk_file(name: &str) -> bool {
    let rest = name.strip_prefix(DISK);
    let number = rest.and_then(|rest| rest.strip_suffix(FILE));
    number.is_some_and(|number| {
        !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_is_known_by_its_whole_name() {
        assert!(is_disk_file(&disk_file(0)));
        assert!(is_disk_file(&disk_file(u32::MAX)));
        for other in [
            "wincsi-suite-disk-.vhdx",
            "wincsi-suite-disk-1.vhd",
            "wincsi-suite-disk-1a.vhdx",
            "wincsi-suite-disk-1.vhdx.bak",
            "my-wincsi-suite-disk-1.vhdx",
            "disk-1.vhdx",
            LOCK,
            "",
        ] {
            assert!(!is_disk_file(other), "{other}");
        }
    }

    #[test]
    fn a_user_name_is_as_short_as_windows_wants_it() {
        assert!(USER.len() <= 20);
    }

    #[test]
    fn every_name_says_whose_it_is() {
        let names = SERVICES.iter().chain([&SHARE, &USER, &EVENT_SOURCE, &LOCK]);
        for name in names {
            assert!(name.starts_with("wincsi-suite"), "{name}");
        }
    }
}
