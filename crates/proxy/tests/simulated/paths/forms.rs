//! Texts accepted as paths.

use super::fixture::{CALLS, Hands, KUBELET, NodeFixture, PathCall, ServerFixture, path};

/// Texts that no call may accept as a path.
const EVIL: &[&str] = &[
    // Out by `..`, with either separator, at every place, and in names that only look so.
    r"C:\var\lib\kubelet\..\x",
    r"C:\var\lib\kubelet\..\..\..\Windows\x",
    r"C:\var\lib\kubelet/../x",
    "C:/var/lib/kubelet/../../../Windows/x",
    r"/var/lib/kubelet/..\x",
    r"C:\var\lib\kubelet\a\..\..\x",
    r"C:\..\Windows\x",
    r"C:\var\lib\kubelet\.\x",
    r"C:\var\lib\kubelet\.. \x",
    r"C:\var\lib\kubelet\...\x",
    // Not absolute, or on no existing drive.
    "C:x",
    r"C:var\lib\kubelet\x",
    "x",
    r".\x",
    r"..\x",
    r"%SystemRoot%\x",
    "file:///C:/var/lib/kubelet/x",
    r"1:\var\lib\kubelet\x",
    r"CC:\var\lib\kubelet\x",
    r"D:\var\lib\kubelet\x",
    // Namespaces of the object manager.
    r"\\?\C:\Windows\x",
    r"\\?\C:\var\lib\kubelet\..\x",
    r"\\.\C:\var\lib\kubelet\x",
    r"\\.\PhysicalDrive0",
    r"\\.\pipe\x",
    r"//./C:/var/lib/kubelet/x",
    r"\??\C:\var\lib\kubelet\x",
    r"\\?\GLOBALROOT\Device\HarddiskVolume1\x",
    r"\\?\Volume{11111111-2222-3333-4444-555555555555}\x",
    r"\Device\HarddiskVolume1\x",
    r"\\?\\C:\var\lib\kubelet\x",
    // Other machines, in every spelling.
    r"\\evil\share\x",
    "//evil/share/x",
    r"/\evil\share\x",
    r"\/evil/share/x",
    r"\\?\UNC\evil\share\x",
    r"\\?\unc\evil\share\x",
    "//?/UNC/evil/share/x",
    r"\\.\UNC\evil\share\x",
    r"\\10.0.0.1@80\share\x",
    r"\\evil@SSL\DavWWWRoot\x",
    r"\\localhost\C$\Windows\x",
    r"C:\var\lib\kubelet\\..\\..\\x",
    // Streams, devices, characters cut off by Win32.
    r"C:\var\lib\kubelet\x:stream",
    r"C:\var\lib\kubelet\x::$DATA",
    r"C:\var\lib\kubelet\x::$INDEX_ALLOCATION\y",
    r"C:\var\lib\kubelet:x\y",
    r"C:\var\lib\kubelet\nul",
    r"C:\var\lib\kubelet\CON.txt\x",
    r"C:\var\lib\kubelet\COM1",
    r"C:\var\lib\kubelet\lpt9.log",
    "C:\\var\\lib\\kubelet\\COM\u{b9}",
    r"C:\var\lib\kubelet\CONOUT$",
    r"C:\var\lib\kubelet\aux \x",
    r"C:\var\lib\kubelet\x.",
    r"C:\var\lib\kubelet\x ",
    r"C:\var\lib\kubelet\x. .\y",
    r"C:\var\lib\kubelet.\x",
    r"C:\var\lib\kubelet \x",
    // Wildcards, quotes, control characters.
    r"C:\var\lib\kubelet\*",
    r"C:\var\lib\kubelet\x?",
    "C:\\var\\lib\\kubelet\\\"x\"",
    r"C:\var\lib\kubelet\<x>",
    r"C:\var\lib\kubelet\x|calc",
    "C:\\var\\lib\\kubelet\\x\0",
    "C:\\var\\lib\\kubelet\\x\0\\..\\..",
    "C:\\var\\lib\\kubelet\\x\ny",
    "C:\\var\\lib\\kubelet\\\u{7f}",
    // Beside the folder, above it, or like it by another table of letters or short names.
    r"C:\var\lib\kubelet-evil\x",
    r"C:\var\lib\kubelet2",
    r"C:\var\lib\kubele\x",
    r"C:\var\lib",
    r"C:\",
    "C:\\var\\lib\\\u{212a}ubelet\\x",
    "C:\\var\\l\u{131}b\\kubelet\\x",
    r"C:\var\lib\KUBELE~1\x",
    r"C:\VAR~1\lib\kubelet\x",
    "C:\u{ff3c}var\u{ff3c}lib\u{ff3c}kubelet\\x",
    "C:\u{2216}var\\lib\\kubelet\\x",
];

/// Those of them on the node's own drive: look-ups may find them.
const LOCAL: &[&str] = &[r"\\?\C:\Windows\x", r"C:\var\lib", r"C:\"];

/// The same, too long to be written down.
fn long() -> [String; 4] {
    [
        format!(r"{KUBELET}\..\{}", "x".repeat(10)),
        format!(r"\\evil\{}\x", "s".repeat(300)),
        format!("{}x", r"\".repeat(5000)),
        r"..\".repeat(2000),
    ]
}

/// Guards: P49
#[test]
fn no_evil_text_is_taken_by_any_call() {
    let fixture = ServerFixture::new();
    fixture.directory(r"C:\var\lib\kubelet-evil");
    fixture.directory(r"C:\Windows\x");
    let before = (
        fixture.outside(),
        fixture.listing(&path(KUBELET), &path(KUBELET)),
    );
    let fixed = EVIL.iter().copied().map(str::to_owned);
    for path in fixed.chain(long()) {
        let is_local = LOCAL.contains(&path.as_str());
        for call in CALLS {
            let refused = fixture.call(call, &path);
            let may_look = is_local && call.is_lookup();
            assert!(may_look || refused.is_err(), "{call:?} takes {path:?}");
            let offences = fixture.offences.take_of(call);
            assert_eq!(offences, Vec::<String>::new(), "{path:?}");
        }
    }
    let after = (
        fixture.outside(),
        fixture.listing(&path(KUBELET), &path(KUBELET)),
    );
    assert_eq!(before, after);
}

/// azuredisk and gce-pd send such paths to the volume group.
#[test]
fn drivers_spellings_lead_to_one_place() {
    let fixture = ServerFixture::new();
    fixture.mount(
        r"C:\var\lib\kubelet\plugins\pv1\globalmount",
        fixture.volume,
    );
    for spelling in [
        r"C:\var\lib\kubelet\plugins\pv1\globalmount",
        r"c:\VAR\lib\Kubelet\plugins\PV1\globalmount",
        r"\var\lib\kubelet\plugins\pv1\globalmount",
        "/var/lib/kubelet/plugins/pv1/globalmount",
        "C:/var/lib/kubelet//plugins/pv1/globalmount/",
        r"c:\var/lib\kubelet/plugins\pv1/globalmount\",
        r"\\?\C:\var\lib\kubelet\plugins\pv1\globalmount",
    ] {
        assert_eq!(
            fixture.volume_of(spelling),
            Ok(fixture.volume.to_string()),
            "{spelling}"
        );
        assert_eq!(fixture.is_link(spelling), Ok(true), "{spelling}");
        assert_eq!(
            fixture.call(PathCall::Unmount, spelling),
            Ok(()),
            "{spelling}"
        );
        assert_eq!(fixture.is_link(spelling), Ok(false), "{spelling}");
        assert_eq!(
            fixture.call(PathCall::Mount, spelling),
            Ok(()),
            "{spelling}"
        );
    }
}

#[test]
fn names_that_only_look_dangerous_are_names() {
    let fixture = ServerFixture::new();
    for name in [
        "$(calc)",
        "`calc`",
        "%COMSPEC%",
        "a;b&&c",
        "it's",
        "\u{201c}smart\u{201d}",
        "nullable",
        "com10",
        "conf",
        "kubernetes.io~csi",
        ".hidden",
        "a.b.c",
        "x y",
        "\u{e9}\u{4e2d}",
    ] {
        let path = format!(r"{KUBELET}\pods\{name}");
        assert_eq!(fixture.call(PathCall::Mkdir, &path), Ok(()), "{name}");
        assert!(fixture.has(&path), "{name}");
        assert_eq!(fixture.exists(&path), Ok(true), "{name}");
        assert_eq!(fixture.call(PathCall::Rmdir, &path), Ok(()), "{name}");
        assert!(!fixture.has(&path), "{name}");
    }
}

/// Guards: P49
#[test]
fn csi_proxys_calls_refuse_paths_over_260_bytes() {
    let unserved = NodeFixture::new();
    let fixture = unserved.serve();
    let longest = format!(r"{KUBELET}\{}", "x".repeat(260 - KUBELET.len() - 1));
    assert_eq!(longest.len(), 260);
    assert_eq!(fixture.exists(&longest), Ok(false));
    let longer = format!("{longest}y");
    assert!(
        fixture
            .exists(&longer)
            .unwrap_err()
            .starts_with("path length 261")
    );
    let missing = fixture.volume_of(&longer).unwrap_err();
    assert!(!missing.contains("path length"), "{missing}");
}
