//! The part of a file that is read: the whole file, or the end of a long memory file, which holds the newest entries.

use std::io::{self, BufRead, BufReader, Read};

use crate::discover::DiscoveryFileKind;

/// Longer files are treated as data: grep searches them, the index does not.
pub(crate) const MAX_FILE_BYTES: u64 = 4 * 1024 * 1024;
/// Longer memory files are treated as data, too: counting the lines before the end would take too long.
const MAX_MEMORY_BYTES: u64 = 64 * MAX_FILE_BYTES;

/// The end of a file, starting at the beginning of a line.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct FileExcerpt {
    pub(crate) content: Vec<u8>,
    pub(crate) bytes_before: u32,
    pub(crate) lines_before: u32,
}

impl FileExcerpt {
    /// Reads a file of this size from its current position. Returns `None` if it is too long.
    pub(crate) fn read_from(
        file: impl Read,
        size: u64,
        place: Option<DiscoveryFileKind>,
    ) -> io::Result<Option<Self>> {
        let longest = if place == Some(DiscoveryFileKind::Memory) {
            MAX_MEMORY_BYTES
        } else {
            MAX_FILE_BYTES
        };
        if size > longest {
            return Ok(None);
        }
        // The file may grow while it is read.
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

    /// Returns the content as text; `None` if it is not UTF-8 or contains a NUL byte.
    pub(crate) fn text(&self) -> Option<&str> {
        std::str::from_utf8(&self.content).ok().filter(|text| !text.contains('\0'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEMORY: Option<DiscoveryFileKind> = Some(DiscoveryFileKind::Memory);

    fn read_excerpt(content: &[u8], place: Option<DiscoveryFileKind>) -> Option<FileExcerpt> {
        FileExcerpt::read_from(content, content.len() as u64, place).unwrap()
    }

    #[test]
    fn reads_only_the_end_of_a_long_memory_file() {
        let line = format!("{}\n", "x".repeat(1_023)).into_bytes();
        let whole = line.repeat(4 * 1024);
        assert_eq!(read_excerpt(&whole, MEMORY).unwrap().content.len(), whole.len());
        let long = [&b"first\n"[..], &whole].concat();
        let excerpt = read_excerpt(&long, MEMORY).unwrap();
        assert_eq!((excerpt.bytes_before, excerpt.lines_before), (6, 1));
        assert_eq!(excerpt.content, whole);
        let longer = [&long[..], b"last"].concat();
        let excerpt = read_excerpt(&longer, MEMORY).unwrap();
        assert_eq!((excerpt.bytes_before, excerpt.lines_before), (6 + 1_024, 2));
        assert!(excerpt.content.ends_with(b"\nlast"));
        assert_eq!(read_excerpt(&long, None), None, "other files are read whole or not at all");
        // A single line that exceeds the limit contains no complete entry.
        assert_eq!(read_excerpt(&vec![b'x'; long.len()], MEMORY).unwrap().content, b"");
    }

    #[test]
    fn bounds_the_bytes_read_from_endless_files() {
        let endless = io::repeat(b'\n');
        assert_eq!(FileExcerpt::read_from(endless, MAX_MEMORY_BYTES + 1, MEMORY).unwrap(), None);
        let grown = FileExcerpt::read_from(io::repeat(b'x'), 10, MEMORY).unwrap().unwrap();
        assert_eq!(grown.content.len() as u64, MAX_FILE_BYTES + 1);
    }
}
