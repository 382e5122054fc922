//! What is read of a file: all of it, or of a memory file that has grown long its end, where the newest entries are.

use std::io::{self, BufRead, BufReader, Read};

use crate::discover::Place;

/// Longer files are data. They can be grepped; nobody asks what they mean.
pub(crate) const MAX_FILE_BYTES: u64 = 4 * 1024 * 1024;
/// A memory file that is longer is data, too: to count the lines before its end would take too long.
const MAX_MEMORY_BYTES: u64 = 64 * MAX_FILE_BYTES;

/// The end of a file, from the beginning of a line.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Excerpt {
    pub(crate) content: Vec<u8>,
    pub(crate) bytes_before: u32,
    pub(crate) lines_before: u32,
}

impl Excerpt {
    /// Of a file of this size, which is read from where it stands; None if it is too long.
    pub(crate) fn read(
        file: impl Read,
        size: u64,
        place: Option<Place>,
    ) -> io::Result<Option<Self>> {
        let longest = if place == Some(Place::Memory) { MAX_MEMORY_BYTES } else { MAX_FILE_BYTES };
        if size > longest {
            return Ok(None);
        }
        // It may grow meanwhile.
        let mut file = BufReader::new(file.take(longest + 1));
        let mut excerpt = Self::default();
        while u64::from(excerpt.bytes_before) + MAX_FILE_BYTES < size {
            match file.skip_until(b'\n')? {
                0 => break,
                bytes => excerpt.bytes_before += bytes as u32,
            }
            excerpt.lines_before += 1;
        }
        file.take(MAX_FILE_BYTES + 1).read_to_end(&mut excerpt.content)?;
        Ok(Some(excerpt))
    }

    pub(crate) fn is_whole(&self) -> bool {
        self.bytes_before == 0
    }

    /// None where it is no text.
    pub(crate) fn text(&self) -> Option<&str> {
        std::str::from_utf8(&self.content).ok().filter(|text| !text.contains('\0'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEMORY: Option<Place> = Some(Place::Memory);

    fn read(content: &[u8], place: Option<Place>) -> Option<Excerpt> {
        Excerpt::read(content, content.len() as u64, place).unwrap()
    }

    #[test]
    fn of_a_long_memory_file_the_end_is_read() {
        let line = format!("{}\n", "x".repeat(1_023)).into_bytes();
        let whole = line.repeat(4 * 1024);
        assert_eq!(read(&whole, MEMORY).unwrap().content.len(), whole.len());
        let long = [&b"first\n"[..], &whole].concat();
        let excerpt = read(&long, MEMORY).unwrap();
        assert_eq!((excerpt.bytes_before, excerpt.lines_before), (6, 1));
        assert_eq!(excerpt.content, whole);
        let longer = [&long[..], b"last"].concat();
        let excerpt = read(&longer, MEMORY).unwrap();
        assert_eq!((excerpt.bytes_before, excerpt.lines_before), (6 + 1_024, 2));
        assert!(excerpt.content.ends_with(b"\nlast"));
        assert_eq!(read(&long, None), None, "other files are read whole or not at all");
        // One endless line has no entry that ends in reach.
        assert_eq!(read(&vec![b'x'; long.len()], MEMORY).unwrap().content, b"");
    }

    #[test]
    fn a_file_of_any_length_is_bounded() {
        let endless = io::repeat(b'\n');
        assert_eq!(Excerpt::read(endless, MAX_MEMORY_BYTES + 1, MEMORY).unwrap(), None);
        let grown = Excerpt::read(io::repeat(b'x'), 10, MEMORY).unwrap().unwrap();
        assert_eq!(grown.content.len() as u64, MAX_FILE_BYTES + 1);
    }
}
