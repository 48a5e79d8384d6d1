//! What each fuzz target asks of the crate; the tests replay `seeds/` through the same functions.
#![allow(dead_code, reason = "each target uses one of them")]

use wincsi_os::{VolumeId, WinPath};

/// A path in each of its forms. What is read reads the same in every form that it is written in, and has
/// no name that leads up or that Windows would change.
pub(crate) fn path(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let plain = text.parse::<WinPath>();
    for read in [
        plain.clone(),
        WinPath::parse_on_drive(&text, 'C'),
        WinPath::parse_nt(&text),
    ] {
        let Ok(read) = read else { continue };
        assert_eq!(read.to_string().parse(), Ok(read.clone()));
        let verbatim = read.to_verbatim().to_string_lossy().into_owned();
        assert_eq!(verbatim.parse(), Ok(read.clone()));
        for depth in 0..=read.components().len() {
            assert!(read.is_within(&read.prefix(depth)));
        }
        for name in read.components() {
            let name = name.as_os_str().to_string_lossy();
            assert!(name != "." && name != ".." && !name.ends_with(['.', ' ']));
            assert!(!name.contains(['\\', '/', ':', '\0']));
        }
    }
    if let Ok(plain) = plain {
        assert_eq!(WinPath::parse_on_drive(&text, 'Q'), Ok(plain));
    }
}

/// A volume's id. What is read is the one id that its text is.
pub(crate) fn volume_id(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    if let Ok(id) = text.parse::<VolumeId>() {
        assert_eq!(id.to_string().parse(), Ok(id));
        let bare = |text: &str| text.trim_end_matches('\\').to_lowercase();
        assert_eq!(bare(&id.to_string()), bare(&text));
    }
}
