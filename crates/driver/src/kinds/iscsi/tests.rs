use std::collections::BTreeMap;

use proptest::collection::btree_map;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{from_str, to_string};
use wincsi::iscsi::{Authentication, ChapSecret};

use super::attributes::Requested;
use super::*;
use crate::kinds::Keys;
use crate::kubelet::{Refusal, Request};
use crate::record::{Access, Lifetime, VolumeHandle};

os::assert_no_debug!(Credentials, Requested);

/// As freenas/api.js writes them, and as examples of csi-driver-iscsi have them.
const DEMOCRATIC: &str = "node_attach_driver=iscsi; portal=10.0.0.1; portals=; interface=; \
    iqn=iqn.2005-10.org.freenas.ctl:pvc-1; lun=0; provisioner_driver=freenas-api-iscsi; ";
const DRIVER_ISCSI: &str = "targetPortal=10.0.0.1:3260; portals=[]; sessionCHAPAuth=false; \
    iqn=iqn.2005-10.org.freenas.ctl:pvc-1; lun=0; iscsiInterface=default; ";

type Map = BTreeMap<String, String>;

/// A case is a line of three texts.
fn cases(lines: &str) -> impl Iterator<Item = [&str; 3]> {
    lines.lines().map(|line| {
        let mut texts = line.split('|').map(str::trim);
        [(); 3].map(|()| texts.next().unwrap_or_default())
    })
}

/// Of `key=value; key=value`. A dialect's letters are for what its keys begin with.
fn map(text: &str) -> Map {
    let text = text.replace("DB.", "node-db.S.");
    let text = text
        .replace("S.", "node.session.auth.")
        .replace("D.", "node.sendtargets.auth.");
    let pairs = text.split("; ").filter_map(|pair| pair.split_once('='));
    pairs
        .map(|(key, value)| (key.to_owned(), value.replace(r"\n", "\r\n")))
        .collect()
}

fn with<T>(context: &Map, secrets: &Map, check: impl Fn(&Request<'_>) -> T) -> T {
    check(&Request {
        volume: VolumeHandle::parse("v").unwrap(),
        lifetime: Lifetime::Persistent,
        staging: "",
        target: "",
        context,
        publish_context: &BTreeMap::new(),
        secrets,
        capability: None,
        of_pod: Access::ReadWrite,
    })
}

/// An error is all that it shows.
fn read_maps(context: &Map, secrets: &Map) -> Result<Requested, String> {
    let shown = |error| format!("{error} {error:?}");
    with(context, secrets, |request| read(request).map_err(shown))
}

fn read_text(more: &str, secrets: &str) -> Result<Requested, String> {
    read_maps(&map(&format!("{DEMOCRATIC}{more}")), &map(secrets))
}

fn refusal(more: &str, secrets: &str) -> String {
    read_text(more, secrets).err().unwrap()
}

#[test]
fn both_controllers_attributes_are_read() {
    let expected = r#"{"portals":["10.0.0.1:3260"],"iqn":"iqn.2005-10.org.freenas.ctl:pvc-1","#;
    let rest = r#""lun":0,"page83":"naa.6001405","hasChap":false,"mutualChap":false}"#;
    let expected = format!("{expected}{rest}");
    for (base, ignored) in [(DEMOCRATIC, vec![]), (DRIVER_ISCSI, vec!["iscsiInterface"])] {
        let read = read_maps(&map(&format!("{base}page83=naa.6001405")), &Map::new()).unwrap();
        assert_eq!(to_string(&read.target).unwrap(), expected);
        assert_eq!(read.ignored, ignored);
    }
    for [from, to, _] in cases("0.0.1|0.0.256\n:pvc|: pvc\nnaa.6001405|0000") {
        let error = from_str::<Target>(&expected.replace(from, to)).unwrap_err();
        assert!(error.to_string().contains(to), "{error}");
    }
}

#[test]
fn a_key_that_is_misspelt_is_no_attached_disk() {
    for [attributes, secrets, expected] in cases(
        "IQN=x; lun=1; page83=x | | true false
        Node_Attach_Driver=x; lun=1; page83=x | | true false
        targetportal=a; lun=1; page83=x | | true false
        iqn=x; node_attach_driver=x; provisioner_driver=x | DB.authmethod=; DB.username= | true true
        iqn=x; portals=; targetPortal=x | S.username=; D.username_in= | true true
        iqn=x | S.Username=x | true false
        portal=a; lun=1; page83=x | | false true",
    ) {
        let keys = Keys {
            attributes: keys(),
            of_secret: &SECRET_KEYS,
            is_same: |one, other| one == other,
        };
        let found = with(&map(attributes), &map(secrets), |request| {
            let is_misspelt = matches!(keys.check(request), Err(Refusal::Misspelt { .. }));
            format!("{} {}", accepts(request), !is_misspelt)
        });
        assert_eq!(found, expected, "{attributes}");
    }
}

#[test]
fn portals_keep_their_order_and_are_unique() {
    for [more, expected, _] in cases(
        r#"portals=b:99, NAS,,10.0.0.1:3260, | 10.0.0.1:3260 b:99 nas:3260
        portal=; portals=b:1,a,b:1 | b:1 a:3260
        portal=[FE80::1%2]; portals=[::1]:1 | [fe80::1%2]:3260 [::1]:1
        portals=[::1],[::1]:3260 | 10.0.0.1:3260 [::1]:3260
        portals= [ "b", "[::1]:1" ] | 10.0.0.1:3260 b:3260 [::1]:1
        targetPortal=10.0.0.1:3260; portals=[ ] | 10.0.0.1:3260"#,
    ) {
        let portals = read_text(more, "").unwrap().target.portals;
        let portals: Vec<_> = portals.iter().map(Portal::to_string).collect();
        assert_eq!(portals.join(" "), expected);
    }
}

#[test]
fn bad_attributes_are_refused_by_key_and_value() {
    let bad = "node_attach_driver=nfs;lun=256;lun=-1;lun=0x1;iqn=iqn.a:b c;iqn=pvc;portal=a:;\
        portal=10.0.0.256;portal=a:0;portal=a:65536;portal=fd00::9:3260;portal=[::1;portals=[1];\
        portals=a,b:;page83=0000;discoveryCHAPAuth=yes;sessionCHAPAuth=1;targetPortal=a b";
    for pair in bad.split(';') {
        let (key, value) = pair.split_once('=').unwrap();
        let error = refusal(pair, "");
        let words = format!("{key} is refused: {value:?} is not ");
        assert!(error.starts_with(&words), "{pair}: {error}");
    }
    let many: String = (0..33).map(|number| format!("a{number},")).collect();
    assert!(refusal(&format!("portal=; portals={many}"), "").contains("more than 32"));
}

/// Guards: P21
#[test]
fn each_refusal_names_keys_and_no_secret() {
    for [more, secrets, words] in cases(
        r#"iqn= | | attribute iqn is missing
        lun= | | attribute lun is missing
        portal= | | portal, targetPortal or portals is missing
        portals=["a", 1] | | expected a string
        targetPortal=10.0.0.1:1 | | portal and targetPortal have different
        secret=qUUx | | secret is refused: it is no secret there
        | DB.username=qUUx | node-db.node.session.auth.username needs the password
        | D.password=qUUx | node.sendtargets.auth.password needs the username
        | S.username_in=qUUx | node.session.auth.username_in needs the password_in
        | S.username_in=qUUx; S.password_in=qUUx | username_in needs the username
        sessionCHAPAuth=true | | sessionCHAPAuth needs the username
        | DB.authmethod=CHAP | authmethod needs the username
        | DB.authmethod=qUUx | authmethod is refused: it must be CHAP or None
        sessionCHAPAuth=false | DB.authmethod=CHAP | authmethod and sessionCHAPAuth have
        | S.username=x; S.password=qUUx56789ab | password is refused: a CHAP secret must
        | S.username=x; S.password=qUUx56789abcdefgh | have 12 to 16 bytes
        | S.password=qUUx56789abc; DB.password=qUUx | node.session.auth.password have different
        | node; S.username_in=x; S.password_in=qUUx | password_in is
        | node; target; D.username=x; D.password=qUUx56789abe; other | password_in have"#,
    ) {
        let secrets = secrets.replace("other", "D.username_in=x; D.password_in=qUUx56789abd");
        let secrets = secrets.replace("target", "S.username_in=x; S.password_in=qUUx56789abc");
        let secrets = secrets.replace("node", "S.username=x; S.password=qUUx56789abc");
        let error = refusal(more, &secrets);
        let has_secret = error.contains("qUUx");
        assert!(error.contains(words) && !has_secret, "{words}: {error}");
    }
}

#[test]
fn logins_are_as_attributes_and_secret_say() {
    for [more, secrets, expected] in cases(
        "| | - - -
        | node; DB.authmethod=CHAP; S.username=me | - me:0123456789ab -
        sessionCHAPAuth=true | node | - me:0123456789ab -
        sessionCHAPAuth=false | node; S.username_in=it; S.password_in=0123456789ac | - - -
        | node; DB.authmethod=None | - - -
        | node; S.username_in=it; S.password_in=0123456789ac | - +me:0123456789ab 0123456789ac
        | node; D.username=you; D.password= 123456789ab | you: 123456789ab me:0123456789ab -
        discoveryCHAPAuth=false | node; D.username=x; D.password=x | - me:0123456789ab -",
    ) {
        let secrets = secrets.replace("node", r"DB.username=me; DB.password=0123456789ab\n");
        let read = read_text(more, &secrets).unwrap();
        let [discovery, session] = [&read.credentials.discovery, &read.credentials.session];
        let (discovery, session) = (shown(discovery), shown(session));
        let mutual = read.credentials.mutual.as_ref();
        let mutual = mutual.map_or("-", ChapSecret::expose);
        let found = format!("{discovery} {session} {mutual}");
        assert_eq!(found, expected, "{more} {secrets}");
        let is_with = (found != "- - -", mutual != "-");
        assert_eq!((read.target.has_chap, read.target.mutual_chap), is_with);
    }
}

fn shown(login: &Authentication) -> String {
    let (word, chap) = match login {
        Authentication::None => return String::from("-"),
        Authentication::OneWayChap(chap) => ("", chap),
        Authentication::MutualChap(chap) => ("+", chap),
    };
    let user = chap.username().unwrap();
    format!("{word}{user}:{}", chap.secret().expose())
}

proptest! {
    /// Guards: P21
    #[test]
    fn any_text_is_read_and_no_secret_is_shown(
        more in btree_map(select(keys()), "\\PC*|[\\[\\]:a-f0-9.,\" %]{0,20}", 0..3),
        secrets in btree_map(select(&SECRET_KEYS[..]), "CHAP|qUUx[a-z\r\n\0]{0,13}", 0..6),
    ) {
        let owned = |(key, value): (&str, String)| (key.to_owned(), value);
        let mut context = map(DEMOCRATIC);
        context.extend(more.into_iter().map(owned));
        let shown = match read_maps(&context, &secrets.into_iter().map(owned).collect()) {
            Ok(Requested { target, .. }) => {
                let text = to_string(&target).unwrap();
                prop_assert_eq!(&from_str::<Target>(&text).unwrap(), &target);
                format!("{target:?} {text}")
            }
            Err(error) => error,
        };
        prop_assert!(!shown.contains("qUUx"), "{}", shown);
    }
}
