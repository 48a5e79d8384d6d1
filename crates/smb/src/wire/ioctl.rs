//! IOCTL (2.2.31, 2.2.32): copies that the server makes itself, without sending content.

use super::create::Handle;
use super::{Command, HEADER, PAYLOAD, Request, body};
use crate::bytes::{self, Out};

const RESUME_KEY: u32 = 0x0014_0078;
/// For a target that is open for writing only.
const COPY_CHUNKS: u32 = 0x0014_80f2;

const INPUT_AT: u32 = 120;
const FSCTL: u32 = 1;

/// The server's name of an open file from which it copies.
pub(crate) type ResumeKey = [u8; 24];

/// How much is copied for one request, in chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Portion {
    pub(crate) chunk: u32,
    pub(crate) most: u32,
}

/// What the server copied, or with INVALID_PARAMETER the most that it copies for one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Chunks {
    pub(crate) count: u32,
    /// Of one; 0 for what was copied whole.
    pub(crate) bytes: u32,
    pub(crate) total: u32,
}

impl Portion {
    /// What a server takes at least, unless it tells its own limits (3.3.3).
    pub(crate) const MOST: Self = Self {
        chunk: 1024 * 1024,
        most: 16 * 1024 * 1024,
    };

    /// What lies within the limits of a server; `None` if it is no less than before, or too little to be worth a request.
    pub(crate) fn within(self, limits: Chunks) -> Option<Self> {
        let chunk = self.chunk.min(limits.bytes).min(limits.total);
        let most = limits.count.saturating_mul(chunk).min(limits.total);
        let most = most.min(self.most);
        let is_less = chunk < self.chunk || most < self.most;
        (is_less && chunk >= PAYLOAD && most >= PAYLOAD).then_some(Self { chunk, most })
    }
}

pub(crate) fn resume_key(handle: &Handle) -> Request {
    request(handle, RESUME_KEY, &[], 32)
}

pub(crate) fn resume_key_answer(message: &[u8]) -> Option<ResumeKey> {
    bytes::array(output(message)?, 0)
}

/// Copies from one place of both files on: chunks of the same size, but for the last.
pub(crate) fn copy_chunks(
    to: &Handle,
    from: &ResumeKey,
    offset: u64,
    len: u32,
    chunk: u32,
) -> Request {
    let count = len.div_ceil(chunk);
    let mut input = Out::default().bytes(from).u32(count).u32(0);
    for done in (0..count).map(|n| n * chunk) {
        let at = offset + u64::from(done);
        input = input.u64(at).u64(at).u32(chunk.min(len - done)).u32(0);
    }
    request(to, COPY_CHUNKS, &input.done(), 12)
}

pub(crate) fn chunks_answer(message: &[u8]) -> Option<Chunks> {
    let output = output(message)?;
    Some(Chunks {
        count: bytes::u32_le(output, 0)?,
        bytes: bytes::u32_le(output, 4)?,
        total: bytes::u32_le(output, 8)?,
    })
}

fn request(handle: &Handle, code: u32, input: &[u8], most: u32) -> Request {
    let head = Out::default().u16(57).u16(0).u32(code).bytes(handle);
    let head = head.u32(INPUT_AT).len32(input).u32(0);
    let head = head.u32(INPUT_AT).u32(0).u32(most).u32(FSCTL).u32(0);
    // The structure has one byte of buffer at least.
    let padding = usize::from(input.is_empty());
    head.bytes(input).zeros(padding).request(Command::Ioctl)
}

fn output(message: &[u8]) -> Option<&[u8]> {
    let body = body(message, 49)?;
    let at = bytes::index(bytes::u32_le(body, 32)?)?;
    let len = bytes::index(bytes::u32_le(body, 36)?)?;
    if at < HEADER + 48 {
        return None;
    }
    bytes::slice(message, at, len)
}

#[cfg(test)]
mod tests {
    use super::{Chunks, Portion, chunks_answer, copy_chunks, resume_key_answer};

    #[test]
    fn chunks_lie_behind_each_other() {
        let request = copy_chunks(&[7; 16], &[9; 24], 1 << 33, 2_500, 1_000).body;
        // MS-SMB2 2.2.31 and 2.2.31.1.
        assert_eq!(request[..8], [57, 0, 0, 0, 0xf2, 0x80, 0x14, 0]);
        assert_eq!(
            (&request[8..24], &request[24..28]),
            ([7; 16].as_slice(), [120, 0, 0, 0].as_slice())
        );
        let input = &request[56..];
        assert_eq!(
            request[28..32],
            u32::try_from(input.len()).unwrap().to_le_bytes()
        );
        assert_eq!(
            (&input[..24], &input[24..28]),
            ([9; 24].as_slice(), [3, 0, 0, 0].as_slice())
        );
        let (chunks, []) = input[32..].as_chunks::<24>() else {
            panic!("a part of a chunk");
        };
        let found = chunks.iter().map(|chunk| {
            let at = |at: usize| u64::from_le_bytes(chunk[at..at + 8].try_into().unwrap());
            (at(0) - (1 << 33), at(8) - (1 << 33), at(16))
        });
        let expected = [(0, 0, 1_000), (1_000, 1_000, 1_000), (2_000, 2_000, 500)];
        assert_eq!(found.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn an_answer_has_its_output_where_it_says() {
        let answer = |at: u32, len: u32| {
            let mut message = vec![0; 64 + 48];
            message[64] = 49;
            message[96..100].copy_from_slice(&at.to_le_bytes());
            message[100..104].copy_from_slice(&len.to_le_bytes());
            message.extend((0..24).map(|n| n / 4 % 3));
            message
        };
        let chunks = Chunks {
            count: 0,
            bytes: 0x0101_0101,
            total: 0x0202_0202,
        };
        for (at, len, expected) in [
            (112, 12, Some(chunks)),
            (112, 11, None),
            (111, 12, None),
            (125, 12, None),
            (u32::MAX, u32::MAX, None),
        ] {
            assert_eq!(chunks_answer(&answer(at, len)), expected, "{at} {len}");
        }
        assert!(resume_key_answer(&answer(112, 24)).is_some());
        assert!(resume_key_answer(&answer(112, 23)).is_none());
    }

    #[test]
    fn a_portion_is_within_the_limits_of_the_server() {
        const KIB: u32 = 1024;
        for (count, bytes, total, expected) in [
            (256, 1024 * KIB, 16_384 * KIB, None),
            (u32::MAX, u32::MAX, u32::MAX, None),
            (0, 1024 * KIB, 16_384 * KIB, None),
            (16, 1024 * KIB, 100, None),
            (16, 4 * KIB, 64 * KIB, None),
            (16, 128 * KIB, 16_384 * KIB, Some((128 * KIB, 2_048 * KIB))),
            (4, 1024 * KIB, 16_384 * KIB, Some((1024 * KIB, 4_096 * KIB))),
            (
                16,
                1024 * KIB,
                1_000 * KIB,
                Some((1_000 * KIB, 1_000 * KIB)),
            ),
        ] {
            let limits = Chunks {
                count,
                bytes,
                total,
            };
            let found = Portion::MOST.within(limits).map(|p| (p.chunk, p.most));
            assert_eq!(found, expected, "{limits:?}");
        }
    }
}
