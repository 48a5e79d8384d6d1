//! Texts with a meaning in PowerShell, cmd, WQL, printf, a terminal or a file system: here they are only texts.

use formats::wql;
use os::Facility;
use os_sim::Op;
use transport::Code;

use crate::fixture::ServerFixture;
use crate::messages::{Leaf, Request, text};
use crate::pace;

const HOSTILE: &[&str] = &[
    // PowerShell and cmd.
    "$(calc)",
    "${env:COMSPEC}",
    "`calc`",
    "`\"; calc; `\"",
    "'; calc; '",
    "\"; calc; \"",
    "\u{2018}; calc; \u{2019}",
    "\u{201c}; calc; \u{201e}",
    "& calc",
    "&& calc",
    "| calc",
    "|| calc",
    "> C:\\Windows\\x",
    "%COMSPEC%",
    "!COMSPEC!",
    "^& calc",
    "-EncodedCommand YwBhAGwAYwA=",
    "\r\ncalc\r\n",
    "#{calc}",
    // WQL and object paths.
    "' OR 1=1",
    "' OR ''='",
    "\\' OR 1=1 --",
    "\" OR \"\"=\"",
    "%' OR Name LIKE '%",
    "' AND __CLASS = 'Win32_Process",
    "x\"; ASSOCIATORS OF {Win32_Process}",
    "MSFT_Disk.ObjectId=\"1\"",
    // Formats and logs.
    "%s%n%x%p",
    "{0}{}{:?}",
    "\nE0101 00:00:00.000000 1 main.go:1] forged",
    "\u{1b}[2J\u{1b}]0;x\u{7}",
    "\u{8}\u{8}\u{8}",
    // Unicode.
    "\u{202e}exe.x",
    "\u{2066}x\u{2069}",
    "a\u{300}\u{301}\u{302}",
    "\u{212b}\u{e5}a\u{30a}",
    "\u{fb01}\u{3000}\u{a0}",
    "\u{feff}\u{200b}\u{200d}",
    "\u{ff0f}\u{2215}\u{ff3c}\u{2044}",
    "\u{1f600}\u{10ffff}\u{fffe}",
    "\u{130}\u{131}\u{df}\u{1e9e}",
    // Ends of texts.
    "\0",
    "\0\0x",
    "x\0..\\..",
    "",
    " ",
    ".",
    "\u{1}\u{2}\u{1f}\u{7f}\u{80}\u{9f}",
    // Other fields' values.
    "-1",
    "18446744073709551617",
    "true",
    "\\\\?\\Volume{00000000-0000-0000-0000-000000000000}\\",
    "\\\\.\\PhysicalDrive0",
    "\\\\evil\\share",
    "..\\..\\..\\Windows",
];

/// Not UTF-8: a lone continuation, an overlong slash, a surrogate, a cut character, beyond Unicode.
const NO_TEXTS: &[&[u8]] = &[
    b"\x80",
    b"\xc0\xaf",
    b"\xed\xa0\x80",
    b"x\xe2\x82",
    b"\xf4\x90\x80\x80",
    b"\xff\xfe",
];

const LONG: [usize; 3] = [261, 32_768, 1 << 20];

/// Guards: P24
#[test]
fn no_text_reaches_further_than_its_field() {
    let fixture = ServerFixture::new();
    let before = (fixture.surroundings(), fixture.registered());
    let mut fields = 0;
    each_text(|group, method, request, leaf| {
        fields += 1;
        let ordinary = fixture.ordinary_text(&leaf.name).to_owned();
        let long = LONG.map(|length| "x".repeat(length));
        let texts = HOSTILE.iter().copied();
        let texts = texts.chain(long.iter().map(String::as_str)).enumerate();
        for (turn, hostile) in pace::some(texts, fields) {
            // Alone or after a driver's value, by turns: a field has many versions.
            let sent = match (turn + fields) % 2 {
                0 => hostile.to_owned(),
                _ => format!("{ordinary}{hostile}"),
            };
            if sent != ordinary {
                try_text(&fixture, group, method, request, leaf, &sent);
            }
        }
        fixture.assert_well(&format!("{} {}", method.path, leaf.name));
    });
    assert_eq!(fields, 150);
    fixture.unmap();
    let after = (fixture.surroundings(), fixture.registered());
    assert_eq!(before, after, "what nobody named is as it was");
}

#[test]
fn what_is_no_text_is_refused_in_every_field() {
    let fixture = ServerFixture::new();
    each_text(|group, method, request, leaf| {
        for bytes in NO_TEXTS {
            let ordinary = |leaf: &Leaf, field| fixture.ordinary(leaf, field);
            let message = request.with(leaf, |field| text(field, bytes), &ordinary);
            let _ = fixture.sim.take_trace();
            let status = fixture.send(group, method, &message).expect_err("no text");
            assert_eq!(status.code, Code::Internal, "{}: {status}", method.path);
            assert_eq!(
                fixture.sim.take_trace(),
                [],
                "{} {}",
                method.path,
                leaf.name
            );
        }
        fixture.assert_well(method.path);
    });
}

fn each_text(mut each: impl FnMut(&wire::Group, &wire::Method, &Request, &Leaf)) {
    for group in wire::GROUPS {
        for method in group.methods {
            let request = Request::of(group, method);
            for leaf in request.leaves().iter().filter(|leaf| leaf.is_text) {
                each(group, method, &request, leaf);
            }
        }
    }
}

fn try_text(
    fixture: &ServerFixture,
    group: &wire::Group,
    method: &wire::Method,
    request: &Request,
    leaf: &Leaf,
    sent: &str,
) {
    let ordinary = |leaf: &Leaf, field| fixture.ordinary(leaf, field);
    let message = request.with(leaf, |field| text(field, sent.as_bytes()), &ordinary);
    let _ = fixture.sim.take_trace();
    let outcome = fixture.send(group, method, &message);
    let short: String = sent.chars().take(80).collect();
    let what = format!("{} {} = {short:?}", method.path, leaf.name);
    if let Err(status) = outcome {
        assert_eq!(status.code, Code::Unknown, "{what}: {status}");
        assert!(
            status.message.len() <= 16 << 10,
            "{what}: a text without end"
        );
    }
    for operation in fixture.sim.take_trace() {
        assert!(is_one_statement(&operation), "{what}: {operation}");
    }
}

/// Whether a query is a class, conditions and literals, and nothing else.
fn is_one_statement(operation: &Op) -> bool {
    let provider = [Facility::Storage, Facility::Smb, Facility::Iscsi];
    if operation.operation != "IWbemServices.ExecQuery" || !provider.contains(&operation.facility) {
        return true;
    }
    if let Some(question) = operation.object.strip_prefix("ASSOCIATORS OF {") {
        return is_one_association(question);
    }
    let (class, mut rest) = operation
        .object
        .split_once(' ')
        .unwrap_or((&operation.object, ""));
    let mut is_good = is_name(class);
    while is_good && !rest.is_empty() {
        let condition = rest.trim_start();
        let mut words = condition.splitn(4, ' ');
        let head = [words.next(), words.next(), words.next()];
        let literal = words.next().unwrap_or_default();
        is_good =
            matches!(head, [Some("WHERE" | "AND"), Some(name), Some("=" | "<>")] if is_name(name));
        rest = match wql::read(literal) {
            Some((_, after)) => after,
            None => {
                let (word, after) = literal.split_once(' ').unwrap_or((literal, ""));
                is_good &= word.chars().all(|c| c.is_ascii_alphanumeric());
                after
            }
        };
    }
    is_good
}

/// Whether a query for associated objects consists of a path, the association and a class.
fn is_one_association(question: &str) -> bool {
    let read = || {
        let (path, classes) = question.split_once("} WHERE AssocClass = ")?;
        let (association, class) = classes.split_once(" ResultClass = ")?;
        let (of, mut keys) = path.split_once(':')?.1.split_once('.')?;
        while !keys.is_empty() {
            let (name, value) = keys.split_once('=')?;
            let (_, after) = wql::read(value).filter(|_| is_name(name))?;
            keys = after.strip_prefix(',').unwrap_or(after);
        }
        Some([association, class, of].into_iter().all(is_name))
    };
    read().unwrap_or(false)
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

#[test]
fn a_second_statement_would_be_noticed() {
    let asked = |object: &str| {
        is_one_statement(&Op {
            facility: Facility::Smb,
            operation: "IWbemServices.ExecQuery",
            object: object.to_owned(),
        })
    };
    assert!(asked(
        r"MSFT_SmbGlobalMapping WHERE RemotePath = '\\\\a\\b\'' AND Status <> 0"
    ));
    assert!(!asked(
        "MSFT_SmbGlobalMapping WHERE RemotePath = 'a' OR 1 = 1"
    ));
    assert!(!asked("MSFT_SmbGlobalMapping WHERE RemotePath = 'a"));
    assert!(!asked("MSFT_SmbGlobalMapping; x"));
    let of = r#"ASSOCIATORS OF {\\.\root:A.B="1"} WHERE AssocClass = C ResultClass = D"#;
    assert!(asked(of));
    assert!(!asked(&of.replace('1', "\"} x")));
    assert!(!asked(&format!("{of} x")));
}
