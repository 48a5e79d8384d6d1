//! Names that strangers gave to what lies below a path, and that sound like errors.

use node::api::Condition;
use node::driver_texts;
use os::{Component, Files};
use os_sim::SimNode;
use wincsi_client::ConditionSource;

use super::{ClientFixture, path};

/// The texts that drivers or `client` match on, as far as Windows accepts them, or nearly, as a
/// name.
fn names() -> Vec<String> {
    let system = Condition::WIN32.iter().filter_map(|(code, _)| code.text());
    let drivers = driver_texts::ALL.iter().map(|matched| matched.words);
    let words = drivers.chain(wincsi_client::words()).chain(system);
    let is_name = |name: &String| Component::parse(name).is_ok();
    words
        .map(|words| words.trim_end_matches('.'))
        .filter_map(|words| {
            let mut spellings = [words.to_owned(), format!("{words}x")].into_iter();
            spellings.find(is_name)
        })
        .collect()
}

/// A folder for each of the names, in which a folder has it.
fn plant(node: &SimNode) {
    let files = node.files();
    files.create_directory(&path("planted")).unwrap();
    for (number, name) in names().into_iter().enumerate() {
        let folder = path(&format!(r"planted\{number}"));
        files.create_directory(&folder).unwrap();
        let below = folder.join(Component::parse(&name).unwrap());
        files.create_directory(&below).unwrap();
    }
}

/// A driver would take the name for an answer, and go on over a pod's data.
/// Guards: P20
#[test]
fn what_lies_below_a_path_cannot_say_what_became_of_its_removal() {
    let names = names();
    assert!(names.len() > 40, "{names:?}");
    assert!(
        names
            .iter()
            .any(|name| name == driver_texts::FILE_NOT_FOUND)
    );
    assert!(names.iter().any(|name| name == driver_texts::MISSING));
    for fixture in [
        || ClientFixture::in_process_after(plant),
        || ClientFixture::over_pipes_after(plant, ConditionSource::Server),
        || ClientFixture::over_pipes_after(plant, ConditionSource::Texts),
    ] {
        let fixture = fixture();
        fixture.break_call("SetFileInformationByHandle", "fail = { win32 = 5 }");
        let (files, soon) = (fixture.node.filesystem(), fixture.soon());
        for (number, name) in names.iter().enumerate() {
            let folder = path(&format!(r"planted\{number}"));
            for error in [
                files.remove_tree(&folder, soon).unwrap_err(),
                files.remove_contents(&folder, soon).unwrap_err(),
            ] {
                assert_eq!(error.condition(), Some(Condition::AccessDenied), "{error}");
                let is_listed = error
                    .to_string()
                    .replace("Access is denied", "")
                    .contains(name);
                assert!(!is_listed, "{error}");
            }
        }
    }
}
