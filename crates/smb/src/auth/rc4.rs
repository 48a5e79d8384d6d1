//! RC4, which NTLM encrypts a key and a checksum with. Nothing else may use it.

use zeroize::Zeroizing;

pub(super) struct Rc4 {
    state: Zeroizing<[u8; 256]>,
    i: u8,
    j: u8,
}

impl Rc4 {
    pub(super) fn new(key: &[u8; 16]) -> Self {
        let numbers = std::array::from_fn(|i| u8::try_from(i).unwrap_or_default());
        let mut state = Zeroizing::new(numbers);
        let mut j = 0_u8;
        for i in 0..256 {
            j = j.wrapping_add(state[i]).wrapping_add(key[i % key.len()]);
            state.swap(i, usize::from(j));
        }
        Self { state, i: 0, j: 0 }
    }

    pub(super) fn apply(&mut self, bytes: &mut [u8]) {
        for byte in bytes {
            self.i = self.i.wrapping_add(1);
            let (i, at_i) = (usize::from(self.i), self.state[usize::from(self.i)]);
            self.j = self.j.wrapping_add(at_i);
            let j = usize::from(self.j);
            self.state.swap(i, j);
            *byte ^= self.state[usize::from(self.state[i].wrapping_add(self.state[j]))];
        }
    }
}
