use std::io;
use std::sync::Arc;

use super::medium::Medium;

/// Parts of disks as one medium. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Parts(Arc<[Part]>);

/// A part of a disk, in bytes.
#[derive(Debug, Clone)]
pub(crate) struct Part {
    pub(crate) medium: Medium,
    pub(crate) offset: u64,
    pub(crate) length: u64,
}

impl Parts {
    /// These, in their order.
    pub(crate) fn of(parts: impl IntoIterator<Item = Part>) -> Self {
        Self(parts.into_iter().collect())
    }

    pub(super) fn length(&self) -> u64 {
        self.0.iter().map(|part| part.length).sum()
    }

    pub(super) fn read(&self, offset: u64, mut buffer: &mut [u8]) -> io::Result<()> {
        for (part, at, count) in self.touched(offset, buffer.len())? {
            let (now, rest) = buffer.split_at_mut(count);
            part.medium.read(at, now)?;
            buffer = rest;
        }
        Ok(())
    }

    pub(super) fn write(&self, offset: u64, mut content: &[u8]) -> io::Result<()> {
        for (part, at, count) in self.touched(offset, content.len())? {
            let (now, rest) = content.split_at(count);
            part.medium.write(at, now)?;
            content = rest;
        }
        Ok(())
    }

    /// The parts that a stretch touches, with where on the disk and how many bytes, in their order.
    fn touched(&self, offset: u64, count: usize) -> io::Result<Vec<(&Part, u64, usize)>> {
        let count = u64::try_from(count).map_err(io::Error::other)?;
        let end = offset.checked_add(count);
        let end = end.filter(|end| *end <= self.length());
        let end = end.ok_or(io::ErrorKind::UnexpectedEof)?;
        let mut begins = 0;
        let mut touched = Vec::new();
        for part in &*self.0 {
            let (from, to) = (offset.max(begins), end.min(begins + part.length));
            if from < to {
                let count = usize::try_from(to - from).map_err(io::Error::other)?;
                touched.push((part, part.offset + (from - begins), count));
            }
            begins += part.length;
        }
        Ok(touched)
    }
}

#[cfg(test)]
mod tests {
    use super::{Part, Parts};
    use crate::hardware::Medium;

    #[test]
    fn what_crosses_a_border_lies_on_both_disks() {
        let disks = [Medium::in_memory(4096), Medium::in_memory(4096)];
        let part = |index: usize, offset, length| Part {
            medium: disks[index].clone(),
            offset,
            length,
        };
        let parts = Parts::of([part(0, 1024, 1000), part(1, 512, 600), part(0, 3000, 100)]);
        let content: Vec<u8> = (1..=250).cycle().take(1700).collect();
        parts.write(0, &content).unwrap();
        let mut read = vec![0; 1700];
        parts.read(0, &mut read).unwrap();
        assert_eq!(read, content);
        let on = |index: usize, offset, length| {
            let mut bytes = vec![0; length];
            disks[index].read(offset, &mut bytes).unwrap();
            bytes
        };
        assert_eq!(on(0, 1024, 1000), content[..1000]);
        assert_eq!(on(1, 512, 600), content[1000..1600]);
        assert_eq!(on(0, 3000, 100), content[1600..]);
        assert_eq!(on(0, 0, 1024), [0; 1024]);
        let mut short = [0; 3];
        parts.read(999, &mut short).unwrap();
        assert_eq!(short, content[999..1002]);
        assert!(parts.read(1699, &mut short).is_err());
        assert!(parts.write(u64::MAX, &[1]).is_err());
    }
}
