//! What the fuzz target asks of the crate; a test replays `seeds/` through the same function.

use transport::mend::{MendError, Mender, Pings};

/// A second pass takes blocks up to this; a first may let one out that is a little larger.
const SURE_BLOCK: usize = 32 << 10;

/// A client's bytes, in chunks of as many bytes as the first byte says; zero is all at once.
pub(crate) fn mend(data: &[u8]) {
    let Some((&chunk, bytes)) = data.split_first() else {
        return;
    };
    let size = match chunk {
        0 => bytes.len().max(1),
        _ => usize::from(chunk),
    };
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
        output.len() <= 2 * bytes.len(),
        "a literal grows by 8/5 at most"
    );
    if output.len() < SURE_BLOCK {
        assert_eq!(
            pushed(&output, size, Pings::Pass).as_ref(),
            Ok(&output),
            "nothing left to mend"
        );
    }
}

fn pushed(bytes: &[u8], size: usize, pings: Pings) -> Result<Vec<u8>, MendError> {
    let mut mender = Mender::new(pings);
    let mut output = Vec::new();
    for chunk in bytes.chunks(size) {
        mender.push(chunk, &mut output)?;
    }
    Ok(output)
}
