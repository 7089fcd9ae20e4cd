//! Numbers as files hold them: type, byte order, linear scale.

/// Type of a stored number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NumberType {
    Float32,
    Float64,
    Int8,
    Int16,
    Int32,
    Int64,
    Uint8,
    Uint16,
    Uint32,
    Uint64,
}

/// Which byte comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ByteOrder {
    Little,
    Big,
}

/// Format of the values of a data file: value = stored × `scale` + `intercept`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NumberFormat {
    pub number_type: NumberType,
    pub byte_order: ByteOrder,
    pub scale: f64,
    pub intercept: f64,
}

impl NumberType {
    /// Returns the bytes of one number.
    pub fn num_bytes(self) -> usize {
        match self {
            NumberType::Int8 | NumberType::Uint8 => 1,
            NumberType::Int16 | NumberType::Uint16 => 2,
            NumberType::Float32 | NumberType::Int32 | NumberType::Uint32 => 4,
            NumberType::Float64 | NumberType::Int64 | NumberType::Uint64 => 8,
        }
    }
}

impl NumberFormat {
    /// Little-endian 32-bit numbers as they are.
    pub const F32: Self = Self { number_type: NumberType::Float32, byte_order: ByteOrder::Little, scale: 1.0, intercept: 0.0 };

    /// Converts as many numbers as both sides hold.
    pub fn decode(&self, bytes: &[u8], values: &mut [f32]) {
        macro_rules! decode {
            ($number:ty) => {{
                let (stored, _) = bytes.as_chunks::<{ size_of::<$number>() }>();
                match self.byte_order {
                    ByteOrder::Little => self.convert(stored, values, |b| <$number>::from_le_bytes(b) as f64),
                    ByteOrder::Big => self.convert(stored, values, |b| <$number>::from_be_bytes(b) as f64),
                }
            }};
        }
        match self.number_type {
            NumberType::Float32 => decode!(f32),
            NumberType::Float64 => decode!(f64),
            NumberType::Int8 => decode!(i8),
            NumberType::Int16 => decode!(i16),
            NumberType::Int32 => decode!(i32),
            NumberType::Int64 => decode!(i64),
            NumberType::Uint8 => decode!(u8),
            NumberType::Uint16 => decode!(u16),
            NumberType::Uint32 => decode!(u32),
            NumberType::Uint64 => decode!(u64),
        }
    }

    fn convert<const N: usize>(&self, stored: &[[u8; N]], values: &mut [f32], number: impl Fn([u8; N]) -> f64) {
        let (scale, intercept) = (self.scale, self.intercept);
        if scale == 1.0 && intercept == 0.0 {
            values.iter_mut().zip(stored).for_each(|(value, &bytes)| *value = number(bytes) as f32);
        } else {
            values.iter_mut().zip(stored).for_each(|(value, &bytes)| *value = (number(bytes) * scale + intercept) as f32);
        }
    }
}
