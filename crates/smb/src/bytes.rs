//! Bounds-checked little-endian fields, read and written.

/// The `len` bytes at `at`; `None` where the slice is too short, as of all here.
pub(crate) fn slice(bytes: &[u8], at: usize, len: usize) -> Option<&[u8]> {
    bytes.get(at..at.checked_add(len)?)
}

pub(crate) fn array<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    slice(bytes, at, N)?.try_into().ok()
}

pub(crate) fn u16_le(bytes: &[u8], at: usize) -> Option<u16> {
    array(bytes, at).map(u16::from_le_bytes)
}

pub(crate) fn u32_le(bytes: &[u8], at: usize) -> Option<u32> {
    array(bytes, at).map(u32::from_le_bytes)
}

pub(crate) fn u64_le(bytes: &[u8], at: usize) -> Option<u64> {
    array(bytes, at).map(u64::from_le_bytes)
}

/// A 32-bit length or offset as an index.
pub(crate) fn index(n: u32) -> Option<usize> {
    usize::try_from(n).ok()
}

/// The units of UTF-16 in an even number of bytes.
pub(crate) fn units(bytes: &[u8]) -> Option<Vec<u16>> {
    let (pairs, []) = bytes.as_chunks() else {
        return None;
    };
    Some(pairs.iter().copied().map(u16::from_le_bytes).collect())
}

/// Text as UTF-16 in bytes.
pub(crate) fn utf16(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

/// A structure under construction.
#[derive(Default)]
pub(crate) struct Out(Vec<u8>);

impl Out {
    pub(crate) fn u16(self, n: u16) -> Self {
        self.bytes(&n.to_le_bytes())
    }

    pub(crate) fn u32(self, n: u32) -> Self {
        self.bytes(&n.to_le_bytes())
    }

    pub(crate) fn u64(self, n: u64) -> Self {
        self.bytes(&n.to_le_bytes())
    }

    pub(crate) fn bytes(mut self, bytes: &[u8]) -> Self {
        self.0.extend_from_slice(bytes);
        self
    }

    pub(crate) fn zeros(mut self, count: usize) -> Self {
        self.0.resize(self.0.len() + count, 0);
        self
    }

    pub(crate) fn len16(self, field: &[u8]) -> Self {
        let len = u16::try_from(field.len());
        self.u16(len.expect("names, users and tokens are bounded where they are made"))
    }

    pub(crate) fn len32(self, field: &[u8]) -> Self {
        let len = u32::try_from(field.len());
        self.u32(len.expect("what is sent at once is bounded by a message's size"))
    }

    pub(crate) fn done(self) -> Vec<u8> {
        self.0
    }
}
