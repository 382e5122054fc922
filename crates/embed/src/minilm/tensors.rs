//! Reader for the tensors of an ONNX file.
//!
//! ONNX is a protobuf format. Only the stored tensors are read, because `network.rs` defines the network itself. 8-bit
//! values are used in place, so the word embeddings take no memory until they are used.

/// A tensor stored in the file.
#[derive(Clone, Copy)]
pub(super) struct OnnxTensor<'a> {
    pub(super) name: &'a str,
    data: &'a [u8],
}

impl<'a> OnnxTensor<'a> {
    pub(super) fn to_floats(self) -> Vec<f32> {
        let (numbers, _) = self.data.as_chunks();
        numbers.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()
    }

    /// Returns the raw data, which is one byte per value for 8-bit tensors.
    pub(super) fn raw_bytes(self) -> &'a [u8] {
        self.data
    }
}

/// Returns all tensors in file order, or `None` if the file is not valid ONNX.
pub(super) fn read_tensors(file: &[u8]) -> Option<Vec<OnnxTensor<'_>>> {
    const GRAPH: u64 = 7;
    const INITIALIZER: u64 = 5;
    const NAME: u64 = 8;
    const RAW_DATA: u64 = 9;

    let graph = read_fields(file).find_map(|field| field.bytes_if(GRAPH))?;
    let tensors = read_fields(graph).filter_map(|field| field.bytes_if(INITIALIZER));
    tensors
        .map(|tensor| {
            let mut found = OnnxTensor { name: "", data: &[] };
            for field in read_fields(tensor) {
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

/// A field of a protobuf message.
struct ProtobufField<'a> {
    number: u64,
    /// Content of the field; empty for a varint.
    bytes: &'a [u8],
}

impl<'a> ProtobufField<'a> {
    fn bytes_if(self, number: u64) -> Option<&'a [u8]> {
        (self.number == number).then_some(self.bytes)
    }
}

/// Returns the fields of a message, up to the first invalid one.
fn read_fields(message: &[u8]) -> impl Iterator<Item = ProtobufField<'_>> {
    let mut rest = message;
    std::iter::from_fn(move || {
        let key = read_varint(&mut rest)?;
        let length = match key & 7 {
            0 => {
                read_varint(&mut rest)?;
                0
            }
            1 => 8,
            2 => usize::try_from(read_varint(&mut rest)?).ok()?,
            5 => 4,
            _ => return None,
        };
        let (bytes, later) = rest.split_at_checked(length)?;
        rest = later;
        Some(ProtobufField { number: key >> 3, bytes })
    })
}

fn read_varint(rest: &mut &[u8]) -> Option<u64> {
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
