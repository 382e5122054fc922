//! The tensors in an ONNX file, where they lie.
//!
//! ONNX is a protobuf. Of it only the stored tensors are read: the network that they belong to is written down in
//! `network.rs`. Numbers of eight bits are used in place, so the vocabulary's vectors take no memory until they are used.

/// A tensor that is stored in the file.
#[derive(Clone, Copy)]
pub(super) struct Tensor<'a> {
    pub(super) name: &'a str,
    data: &'a [u8],
}

impl<'a> Tensor<'a> {
    pub(super) fn floats(self) -> Vec<f32> {
        let (numbers, _) = self.data.as_chunks();
        numbers.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()
    }

    /// Numbers of eight bits, as they lie in the file.
    pub(super) fn bytes(self) -> &'a [u8] {
        self.data
    }
}

/// All tensors of a file, in its order; None if it is not a file of this kind.
pub(super) fn read(file: &[u8]) -> Option<Vec<Tensor<'_>>> {
    const GRAPH: u64 = 7;
    const INITIALIZER: u64 = 5;
    const NAME: u64 = 8;
    const RAW_DATA: u64 = 9;

    let graph = fields(file).find_map(|field| field.filter(GRAPH))?;
    let tensors = fields(graph).filter_map(|field| field.filter(INITIALIZER));
    tensors
        .map(|tensor| {
            let mut found = Tensor { name: "", data: &[] };
            for field in fields(tensor) {
                match field.number {
                    NAME => found.name = std::str::from_utf8(field.bytes).ok()?,
                    RAW_DATA => found.data = field.bytes,
                    _ => {}
                }
            }
            Some(found)
        })
        .collect()
}

struct Field<'a> {
    number: u64,
    /// Empty for a number.
    bytes: &'a [u8],
}

impl<'a> Field<'a> {
    fn filter(self, number: u64) -> Option<&'a [u8]> {
        (self.number == number).then_some(self.bytes)
    }
}

/// The fields of a message, up to the first that cannot be read.
fn fields(message: &[u8]) -> impl Iterator<Item = Field<'_>> {
    let mut rest = message;
    std::iter::from_fn(move || {
        let key = varint(&mut rest)?;
        let length = match key & 7 {
            0 => {
                varint(&mut rest)?;
                0
            }
            1 => 8,
            2 => usize::try_from(varint(&mut rest)?).ok()?,
            5 => 4,
            _ => return None,
        };
        let (bytes, later) = rest.split_at_checked(length)?;
        rest = later;
        Some(Field { number: key >> 3, bytes })
    })
}

fn varint(rest: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (byte, later) = rest.split_first()?;
        *rest = later;
        value |= u64::from(byte & 0x7F) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}
