//! The one message of a body, assembled from its pieces.
//!
//! Public for the fuzz target alone, and hidden from the documentation.

use std::{fmt, mem};

use bytes::Bytes;

use crate::grpc::PREFIX;
use crate::{Code, Status};

// grpc-go 1.85's words: operators and drivers know these texts.
const NO_MESSAGE: &str =
    "cardinality violation: received no request message from non-client-streaming RPC";
const SEVERAL_MESSAGES: &str =
    "cardinality violation: received multiple request messages for non-client-streaming RPC";
const CUT_SHORT: &str = "unexpected EOF";
const COMPRESSED: &str = "grpc: compressed flag set with identity or empty encoding";

/// A body of one message, as far as it has come.
#[derive(Default)]
pub struct Assembly {
    /// The first bytes as h2 gave them: most messages come in one piece, and that is not copied.
    first: Bytes,
    rest: Vec<u8>,
}

impl Assembly {
    /// Takes the next bytes of the body.
    ///
    /// # Errors
    /// As soon as the message is certain to be refused.
    pub fn push(&mut self, data: Bytes, most: usize) -> Result<(), Status> {
        match self.is_empty() {
            true => self.first = data,
            false => {
                self.own();
                self.grow(data.len());
                self.rest.extend_from_slice(&data);
            }
        }
        self.check(most)
    }

    /// Copies the piece before more comes: a slice of h2's buffer would keep the whole buffer.
    pub fn own(&mut self) {
        if self.rest.is_empty() {
            self.rest = mem::take(&mut self.first).to_vec();
        }
    }

    /// Makes room for as much again at most, up to the message's end, but never for the whole
    /// length in the prefix.
    fn grow(&mut self, more: usize) {
        let length = self.rest.len();
        let needed = length + more;
        if needed > self.rest.capacity() {
            let whole = match length {
                0..PREFIX => needed,
                _ => declared(&self.rest).saturating_add(PREFIX),
            };
            let wanted = needed.saturating_mul(2).min(whole).max(needed);
            self.rest.reserve_exact(wanted - length);
        }
    }

    /// The memory held, in bytes.
    pub fn held(&self) -> usize {
        self.first.len() + self.rest.capacity()
    }

    /// The message, once the body has ended.
    ///
    /// # Errors
    /// There is none, or not all of it.
    pub fn finish(self) -> Result<Bytes, Status> {
        let mut body = if self.rest.is_empty() {
            self.first
        } else {
            self.rest.into()
        };
        match body.len().checked_sub(PREFIX) {
            Some(length) if length == declared(&body) => Ok(body.split_off(PREFIX)),
            None if body.is_empty() => Err(Status::new(Code::Internal, NO_MESSAGE)),
            _ => Err(Status::new(Code::Internal, CUT_SHORT)),
        }
    }

    /// Whether nothing has come yet.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn len(&self) -> usize {
        self.first.len() + self.rest.len()
    }

    fn prefix(&self) -> &[u8] {
        if self.rest.is_empty() {
            &self.first
        } else {
            &self.rest
        }
    }

    fn check(&self, most: usize) -> Result<(), Status> {
        match self.prefix().first() {
            None | Some(0) => {}
            Some(1) => return Err(Status::new(Code::Internal, COMPRESSED)),
            Some(flag) => {
                let text = format!("grpc: received unexpected payload format {flag}");
                return Err(Status::new(Code::Internal, text));
            }
        }
        if self.len() < PREFIX {
            return Ok(());
        }
        let length = declared(self.prefix());
        if length > most {
            let text = format!("grpc: received message larger than max ({length} vs. {most})");
            return Err(Status::new(Code::ResourceExhausted, text));
        }
        match self.len() > PREFIX + length {
            true => Err(Status::new(Code::Internal, SEVERAL_MESSAGES)),
            false => Ok(()),
        }
    }
}

impl fmt::Debug for Assembly {
    /// Without the bytes: they may be a password's.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Assembly")
            .field("bytes", &self.len())
            .finish()
    }
}

fn declared(prefixed: &[u8]) -> usize {
    let length = u32::from_be_bytes([prefixed[1], prefixed[2], prefixed[3], prefixed[4]]);
    usize::try_from(length).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;
    use crate::grpc::frame;

    const MOST: usize = 4 << 20;

    #[test]
    fn a_promise_of_much_reserves_nothing() {
        let mut assembly = Assembly::default();
        let promise = Bytes::from_static(&[0, 0, 0x3f, 0, 0]);
        assembly.push(promise, MOST).unwrap();
        assembly.push(Bytes::from_static(b"x"), MOST).unwrap();
        assert!(assembly.held() < 1024, "{}", assembly.held());
    }

    #[test]
    fn what_is_held_stays_near_what_has_come() {
        let mut assembly = Assembly::default();
        let promise = Bytes::from_static(&[0, 0, 0x3f, 0, 0]);
        assembly.push(promise, MOST).unwrap();
        for chunk in 1..=200 {
            assembly.push(Bytes::from(vec![0; 16 << 10]), MOST).unwrap();
            let come = chunk * (16 << 10);
            assert!(assembly.held() <= 2 * come + (16 << 10), "{come}");
        }
    }

    #[test]
    fn a_piece_of_a_larger_buffer_is_copied_before_it_waits() {
        let large = Bytes::from(vec![0; 64 << 10]);
        let mut assembly = Assembly::default();
        assembly.push(large.slice(..5), MOST).unwrap();
        assembly.own();
        assert!(large.is_unique(), "nothing else keeps the buffer");
        assert_eq!(assembly.finish().unwrap(), Bytes::new());
    }

    /// A body close to a message: its prefix may be slightly wrong, its end may be missing.
    fn body() -> impl Strategy<Value = Vec<u8>> {
        let flag = prop_oneof![8 => Just(0), 1 => any::<u8>()];
        let lie = prop_oneof![4 => Just(0), 1 => -6..=6, 1 => any::<i32>()];
        let missing = prop_oneof![4 => Just(0), 1 => 0..8usize];
        (flag, lie, missing, vec(any::<u8>(), 0..300)).prop_map(|(flag, lie, missing, message)| {
            let mut body = frame(&message).unwrap().to_vec();
            let length = i32::try_from(message.len()).unwrap().wrapping_add(lie);
            body[0] = flag;
            body[1..PREFIX].copy_from_slice(&length.to_be_bytes());
            body.truncate(body.len() - missing.min(body.len()));
            body
        })
    }

    /// The result for a body cut at these places, with a wait after some pieces.
    fn assembled(body: &Bytes, cuts: &[(usize, bool)], most: usize) -> Result<Bytes, Status> {
        let mut assembly = Assembly::default();
        let mut from = 0;
        let end = (body.len(), false);
        for &(at, is_wait) in cuts.iter().chain([&end]) {
            assembly.push(body.slice(from..at), most)?;
            if is_wait {
                assembly.own();
            }
            assert!(
                assembly.held() <= (2 * at).min(at.max(most + PREFIX)),
                "{at}"
            );
            from = at;
        }
        assembly.finish()
    }

    proptest! {
        #[test]
        fn a_body_ends_alike_in_whatever_pieces_it_comes(
            body in body(),
            cuts in vec((any::<proptest::sample::Index>(), any::<bool>()), 0..8),
            most in prop_oneof![0..400usize, Just(MOST)],
        ) {
            let body = Bytes::from(body);
            let mut cuts: Vec<_> =
                cuts.into_iter().map(|(at, is_wait)| (at.index(body.len() + 1), is_wait)).collect();
            cuts.sort_unstable();
            let whole = assembled(&body, &[], most);
            prop_assert_eq!(&assembled(&body, &cuts, most), &whole);
            let is_message = body.len() >= PREFIX
                && body[0] == 0
                && declared(&body) == body.len() - PREFIX
                && declared(&body) <= most;
            prop_assert_eq!(whole.ok(), is_message.then(|| body.slice(PREFIX..)));
        }
    }
}
