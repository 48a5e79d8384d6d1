//! The driver itself: its sockets, its registration, its records.

use transport::Endpoint;

use crate::doctor::notes::{Doubt, Notes};
use crate::doctor::subject::{Driver, Subject};
use crate::record::StoreError;

pub(in crate::doctor) fn kubelet_folder(subject: &Subject<'_>, notes: &mut Notes) {
    // A sidecar registers, or a port of a test has no folder.
    let Some(Endpoint::Socket(socket)) = &subject.site.registry else {
        return;
    };
    let Some(folder) = socket.parent() else {
        return;
    };
    if notes.seen(subject.is_folder(folder.to_owned())) == Some(false) {
        let text = format!("kubelet has no folder {}", folder.display());
        notes.found("", text, None);
    }
}

pub(in crate::doctor) fn absent(subject: &Subject<'_>, notes: &mut Notes) {
    match &subject.driver {
        Driver::Absent(why) => notes.found("", format!("no driver answers: {why}"), None),
        Driver::Unknown(why) => notes.unseen(Doubt::Unasked(why.clone())),
        Driver::Own(_) | Driver::Older => {}
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
