//! The body of each fuzz target; the tests replay `seeds/` through the same functions.
#![allow(dead_code, reason = "each target uses one of them")]

use bytes::Bytes;
use transport::Status;
use transport::assembly::Assembly;
use transport::authority::{AuthorityError, AuthorityRewriter, Pings};

/// A second pass takes blocks up to this; a first may emit a slightly larger one.
const SURE_BLOCK: usize = 32 << 10;

/// A client's bytes, in chunks sized by the first byte; zero is all at once.
pub(crate) fn authority(data: &[u8]) {
    let Some((&chunk, bytes)) = data.split_first() else {
        return;
    };
    let size = piece(chunk, bytes);
    let whole = pushed(bytes, bytes.len().max(1), Pings::Pass);
    assert_eq!(
        pushed(bytes, size, Pings::Pass),
        whole,
        "chunks do not matter"
    );
    let held = pushed(bytes, size, Pings::Hold);
    assert_eq!(held.as_ref().err(), whole.as_ref().err());
    let Ok(output) = whole else { return };
    assert!(
        output.len() <= 100 * bytes.len(),
        "a few bytes name a path and a scheme of 512 bytes each"
    );
    if output.len() < SURE_BLOCK {
        assert_eq!(
            pushed(&output, size, Pings::Pass).as_ref(),
            Ok(&output),
            "nothing left to mend"
        );
    }
}

/// The body of a request, in pieces sized by the first byte; zero is all at once. The second byte is the longest
/// message, in units of 16 bytes.
pub(crate) fn assembly(data: &[u8]) {
    let [chunk, most, body @ ..] = data else {
        return;
    };
    let most = usize::from(*most) * 16;
    let whole = assembled(body, body.len().max(1), Wait::Never, most);
    for wait in [Wait::Never, Wait::BehindEachPiece] {
        assert_eq!(
            assembled(body, piece(*chunk, body), wait, most),
            whole,
            "pieces do not matter"
        );
    }
    assert_eq!(whole.ok(), message(body, most), "no other is accepted");
}

/// The length of a piece, by its byte.
fn piece(byte: u8, bytes: &[u8]) -> usize {
    match byte {
        0 => bytes.len().max(1),
        _ => usize::from(byte),
    }
}

fn pushed(bytes: &[u8], size: usize, pings: Pings) -> Result<Vec<u8>, AuthorityError> {
    let mut rewriter = AuthorityRewriter::new(pings);
    let mut output = Vec::new();
    for chunk in bytes.chunks(size) {
        rewriter.push(chunk, &mut output)?;
    }
    Ok(output)
}

/// Where the reader finds nothing more for the moment.
#[derive(Clone, Copy)]
enum Wait {
    Never,
    BehindEachPiece,
}

fn assembled(body: &[u8], size: usize, wait: Wait, most: usize) -> Result<Bytes, Status> {
    let mut assembly = Assembly::default();
    let mut come = 0;
    for piece in body.chunks(size) {
        assembly.push(Bytes::copy_from_slice(piece), most)?;
        if matches!(wait, Wait::BehindEachPiece) {
            assembly.own();
        }
        come += piece.len();
        let held = assembly.held();
        assert!(
            held <= 2 * come,
            "{held} for {come}: a promise costs nothing"
        );
        assert!(held <= come.max(most + 5), "{held} of {most}");
    }
    assembly.finish()
}

/// The message of a body, read all at once.
fn message(body: &[u8], most: usize) -> Option<Bytes> {
    let (prefix, message) = body.split_at_checked(5)?;
    let length = u32::try_from(message.len()).ok()?;
    let is_whole = *prefix == [&[0][..], &length.to_be_bytes()].concat();
    (is_whole && message.len() <= most).then(|| Bytes::copy_from_slice(message))
}
