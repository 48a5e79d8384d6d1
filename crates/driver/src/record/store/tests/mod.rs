mod held;
mod places;

use serde::{Deserialize, Serialize};
use tempfile::TempDir;

use super::*;
use crate::record::State;

const FORMS: [Form; 1] = [Form::of::<Plain>()];

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Plain {
    size: Option<u64>,
}

impl Content for Plain {
    const KIND: &'static str = "plain";
}

fn volume() -> VolumeHandle {
    VolumeHandle::parse("server/share#1").unwrap()
}

fn plain() -> Record<Plain> {
    let staging = r"C:\staging".parse().unwrap();
    Record::new(volume(), staging, Plain { size: Some(1) })
}

fn record() -> Record {
    plain().into_any().unwrap()
}

fn folder() -> TempDir {
    tempfile::tempdir().unwrap()
}

#[test]
fn a_record_outlives_its_process_and_goes_once() {
    let folder = folder();
    let store = Store::open(folder.path(), &FORMS).unwrap();
    store.slot(&volume()).unwrap().put(plain()).unwrap();

    drop(store);
    let store = Store::open(folder.path(), &FORMS).unwrap();
    assert_eq!(Vec::from_iter(store.records()), [record()]);
    let slot = store.slot(&volume()).unwrap();
    slot.change(|record| record.state = State::Staged).unwrap();
    let staged = slot.get().unwrap().map(|record: Record| record.state);
    assert_eq!(staged, Some(State::Staged));

    slot.remove().unwrap();
    slot.remove().unwrap();
    drop(store);
    assert_eq!(Store::open(folder.path(), &FORMS).unwrap().volumes(), []);
}

#[test]
fn a_record_of_a_later_version_fails_its_volumes_calls_alone_and_stays() {
    let folder = folder();
    let file = folder.path().join(volume().file_name());
    fs::write(&file, r#"{"version": 7}"#).unwrap();
    let store = Store::open(folder.path(), &FORMS).unwrap();
    assert!(store.get(&volume()).is_err());
    assert!(store.slot(&volume()).is_err());
    assert_eq!(fs::read_to_string(&file).unwrap(), r#"{"version": 7}"#);
    let other = VolumeHandle::parse("other").unwrap();
    assert_eq!(store.get(&other).unwrap(), None);
}

#[test]
fn fields_that_this_version_does_not_know_stay() {
    let folder = folder();
    let file = folder.path().join(volume().file_name());
    let mut later: serde_json::Value = serde_json::from_str(&record().to_text().unwrap()).unwrap();
    later["later"] = 7.into();
    fs::write(&file, later.to_string()).unwrap();
    let store = Store::open(folder.path(), &FORMS).unwrap();
    let slot = store.slot(&volume()).unwrap();
    slot.change(|record| record.state = State::Staged).unwrap();
    slot.change_of(|record: &mut Record<Plain>| record.content.size = None)
        .unwrap();
    let written = fs::read_to_string(&file).unwrap();
    later["state"] = "staged".into();
    later["size"] = serde_json::Value::Null;
    assert_eq!(
        serde_json::from_str::<serde_json::Value>(&written).unwrap(),
        later
    );
}

#[test]
fn a_record_of_an_unknown_kind_stays_and_counts() {
    let folder = folder();
    let file = folder.path().join(volume().file_name());
    let text = record().to_text().unwrap();
    let other = text.replace(r#""kind":"plain""#, r#""kind":"other""#);
    assert_ne!(other, text);
    fs::write(&file, &other).unwrap();
    let store = Store::open(folder.path(), &FORMS).unwrap();
    assert_eq!((store.recorded(), store.unreadable()), (0, 1));
    store.slot(&volume()).unwrap_err();
    assert_eq!(fs::read_to_string(&file).unwrap(), other);
}

#[test]
fn a_record_with_the_fields_of_another_kind_is_none_of_it() {
    #[derive(Serialize, Deserialize)]
    #[serde(transparent)]
    struct Like(Plain);
    impl Content for Like {
        const KIND: &'static str = "like";
    }
    assert!(record().of::<Like>().is_none());
    assert!(record().of::<Plain>().is_some());
}

#[test]
fn what_a_death_left_of_a_write_is_no_record() {
    let folder = folder();
    let file = folder.path().join(volume().file_name());
    fs::write(file.with_extension("new"), "{").unwrap();
    let store = Store::open(folder.path(), &FORMS).unwrap();
    assert_eq!(store.get(&volume()).unwrap(), None);
    assert!(!file.with_extension("new").exists());
    store.slot(&volume()).unwrap().put(plain()).unwrap();
    assert_eq!(Vec::from_iter(store.records()), [record()]);
}

#[test]
fn one_process_has_the_records_and_another_touches_nothing() {
    let folder = folder();
    let store = Store::open(folder.path(), &FORMS).unwrap();
    let written = folder
        .path()
        .join(volume().file_name())
        .with_extension("new");
    fs::write(&written, "{").unwrap();
    let refused = Store::open(folder.path(), &FORMS).unwrap_err().to_string();
    let names = [folder.path().to_str().unwrap(), "-state-dir"];
    assert!(names.iter().all(|name| refused.contains(name)), "{refused}");
    assert!(written.exists());
    drop(store);
    Store::open(folder.path(), &FORMS).unwrap();
}

#[test]
fn nothing_is_kept_of_volumes_without_a_record() {
    let folder = folder();
    let store = Store::open(folder.path(), &FORMS).unwrap();
    for number in 0..100 {
        let unknown = VolumeHandle::parse(&format!("unknown-{number}")).unwrap();
        let slot = store.slot(&unknown).unwrap();
        assert_eq!(slot.get().unwrap(), None);
        slot.change(|record| record.state = State::Staged).unwrap();
        assert_eq!(store.files.lock().len(), 0);
        slot.remove().unwrap();
    }
    let slot = store.slot(&volume()).unwrap();
    slot.put(plain()).unwrap();
    assert_eq!(Vec::from_iter(store.records()), [record()]);
    slot.remove().unwrap();
    assert_eq!(store.files.lock().len(), 0);
}

#[test]
fn a_record_that_came_later_is_shared_by_calls_at_once() {
    let folder = folder();
    let store = Store::open(folder.path(), &FORMS).unwrap();
    let text = record().to_text().unwrap();
    fs::write(folder.path().join(volume().file_name()), text).unwrap();
    let [one, other] = [(); 2].map(|()| store.slot(&volume()).unwrap());
    one.change(|record| record.state = State::Staged).unwrap();
    let seen = other.get().unwrap().map(|record: Record| record.state);
    assert_eq!(seen, Some(State::Staged));
    assert_eq!(store.recorded(), 1);
}

#[test]
fn a_record_of_another_volume_fails_the_calls_and_stays() {
    let folder = folder();
    let other = VolumeHandle::parse("other").unwrap();
    let (text, file) = (
        record().to_text().unwrap(),
        folder.path().join(other.file_name()),
    );
    fs::write(&file, &text).unwrap();
    let store = Store::open(folder.path(), &FORMS).unwrap();
    assert_eq!((store.recorded(), store.unreadable()), (0, 1));
    assert!(store.slot(&other).is_err() && store.get(&other).is_err());
    assert_eq!(fs::read_to_string(&file).unwrap(), text);
}

#[test]
fn handles_whose_files_have_one_name_are_two_volumes() {
    let folder = folder();
    let file = folder.path().join(volume().file_name());
    fs::write(&file, record().to_text().unwrap()).unwrap();
    let (record_file, found) = RecordFile::read(file, &FORMS, &FILE_SYSTEM).unwrap();
    record_file.require(&volume(), found.clone()).unwrap();
    let other = VolumeHandle::parse("other").unwrap();
    assert!(record_file.require(&other, found).is_err());
}
