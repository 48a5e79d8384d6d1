//! The page of metrics in a bundle: families that are known, with labels that are.

use program::hidden;

use super::names::{Names, VOLUME};

const FAMILIES: [&str; 3] = ["grpc_server_", "process_", "wincsi_"];

/// Labels whose values are words of the program's.
const LABELS: [&str; 9] = [
    "check",
    "class",
    "grpc_code",
    "grpc_method",
    "grpc_service",
    "grpc_type",
    "le",
    "option",
    "severity",
];

/// The one label that has a name.
const OF_VOLUME: &str = "volume=\"";

/// The samples of a page.
pub(super) fn lines(page: &str, names: &Names) -> String {
    let lines = page.lines().filter_map(|line| {
        let is_known = FAMILIES.iter().any(|family| line.starts_with(family));
        is_known.then_some(())?;
        let Some((family, rest)) = line.split_once('{') else {
            return Some(format!("{line}\n"));
        };
        let (labels, value) = rest.rsplit_once('}')?;
        let of_volume = labels
            .strip_prefix(OF_VOLUME)
            .and_then(|rest| rest.strip_suffix('"'));
        let labels = match of_volume {
            Some(volume) => {
                let volume = names.of(VOLUME, &unescaped(volume));
                format!("{OF_VOLUME}{}\"", volume.escape_default())
            }
            None => words(labels)?,
        };
        Some(format!("{family}{{{labels}}}{value}\n"))
    });
    lines.collect()
}

/// Labels that are known.
fn words(labels: &str) -> Option<String> {
    let mut all = labels.split("\",").map(|label| label.split('=').next());
    let is_known = all.all(|label| label.is_some_and(|label| LABELS.contains(&label)));
    is_known.then(|| hidden::shown(labels))
}

/// What the page's format escapes.
fn unescaped(text: &str) -> String {
    let mut unescaped = String::new();
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => unescaped.extend(characters.next().map(|next| match next {
                'n' => '\n',
                other => other,
            })),
            other => unescaped.push(other),
        }
    }
    unescaped
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::bundle::names::Naming;

    #[test]
    fn only_known_labels_are_shown_and_volumes_have_others() {
        let page = "# HELP wincsi_a canary\n\
            wincsi_a 1\n\
            other_a 1\n\
            wincsi_volume_abnormal{volume=\"a\\\"\\n}\"} 1\n\
            grpc_server_a{grpc_method=\"M\",le=\"0.1\"} 2\n\
            wincsi_b{check=\"c\",server=\"canary\"} 3\n";
        let names = Names::new(Naming::Anonymous);
        let expected = "wincsi_a 1\n\
            wincsi_volume_abnormal{volume=\"volume-1\"} 1\n\
            grpc_server_a{grpc_method=\"M\",le=\"0.1\"} 2\n";
        assert_eq!(lines(page, &names), expected);
        assert_eq!(names.of(VOLUME, "a\"\n}"), "volume-1");
    }
}
