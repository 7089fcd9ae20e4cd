//! Values as yardl's binary format writes them. All numbers are little endian.

use std::sync::Arc;

use super::schema::{Form, Number, Record, Schema, Sizes, Type, TypeId};
use crate::io::error::IoError;
use crate::io::list_mode::bytes::ByteStream;
use crate::io::list_mode::petsird::problem::PetsirdProblem;

/// Largest number of bytes of a value that is held as a whole, in the file or in memory.
const MAX_BYTES: usize = 1 << 31;
/// Memory that a value may take in addition to [`BYTES_OF_ONE`] for each of its bytes.
const FREE_BYTES: usize = 1 << 20;
/// Memory that a byte of a value may take.
const BYTES_OF_ONE: usize = 256;
/// Bytes that are looked at first.
const FIRST_BYTES: usize = 1 << 8;
/// Most bytes of a number.
pub const MAX_VARINT: usize = 10;

/// Reason why bytes are not a value.
#[derive(Debug, PartialEq)]
pub enum Fault {
    /// More are needed.
    Short,
    /// They are invalid: position and problem.
    Wrong(usize, PetsirdProblem),
}

/// A value of any type.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// An absent optional one.
    Null,
    /// A number.
    Number(f64),
    /// A text.
    Text(String),
    /// A list or an array of numbers, the last index fastest.
    Numbers(Vec<f64>),
    /// A list or an array of anything else.
    List(Vec<Value>),
    /// The values of a record's fields.
    Record(Arc<Record>, Vec<Value>),
}

impl Value {
    /// Returns a field of a record, which may be null.
    fn field(&self, name: &str) -> Result<&Self, PetsirdProblem> {
        let Value::Record(record, values) = self else {
            return Err(PetsirdProblem::NotInRecord(name.to_owned()));
        };
        let index = record.names.iter().position(|field| field == name).ok_or_else(|| missing(&record.name, name))?;
        Ok(&values[index])
    }

    /// Returns a field that is optional, or that other versions of the model lack; `None` if it is absent.
    pub fn maybe(&self, name: &str) -> Option<&Self> {
        self.field(name).ok().filter(|value| **value != Value::Null)
    }

    /// Returns a field as `take` has it, `expected`.
    fn typed<'a, T>(
        &'a self,
        name: &str,
        expected: &'static str,
        take: impl FnOnce(&'a Self) -> Option<T>,
    ) -> Result<T, PetsirdProblem> {
        take(self.field(name)?).ok_or_else(|| unlike(name, expected))
    }

    /// Returns a field that is a record.
    pub fn record(&self, name: &str) -> Result<&Self, PetsirdProblem> {
        self.typed(name, "a record", |value| matches!(value, Value::Record(..)).then_some(value))
    }

    /// Returns the items of a field that is a list.
    pub fn list(&self, name: &str) -> Result<&[Self], PetsirdProblem> {
        self.typed(name, "a list", Self::items)
    }

    /// Returns a field that is a list of numbers.
    pub fn numbers(&self, name: &str) -> Result<&[f64], PetsirdProblem> {
        self.typed(name, "a list of numbers", Self::as_numbers)
    }

    /// Returns a field that is a number.
    pub fn number(&self, name: &str) -> Result<f64, PetsirdProblem> {
        self.typed(name, "a number", |value| if let Value::Number(number) = value { Some(*number) } else { None })
    }

    /// Returns a field that is a text.
    pub fn text(&self, name: &str) -> Result<&str, PetsirdProblem> {
        self.typed(name, "a text", |value| if let Value::Text(text) = value { Some(text.as_str()) } else { None })
    }

    /// Returns the numbers of a list of numbers.
    pub fn as_numbers(&self) -> Option<&[f64]> {
        if let Value::Numbers(numbers) = self { Some(numbers) } else { None }
    }

    /// Returns the items of a list of anything else.
    pub fn items(&self) -> Option<&[Self]> {
        if let Value::List(items) = self { Some(items) } else { None }
    }
}

/// Returns the problem of a model without a field.
pub fn missing(record: &str, field: &str) -> PetsirdProblem {
    PetsirdProblem::NoField { record: record.to_owned(), field: field.to_owned() }
}

/// Returns the problem of a field of another type.
pub fn unlike(field: &str, expected: &'static str) -> PetsirdProblem {
    PetsirdProblem::FieldType(field.to_owned(), expected)
}

/// Reads a number in groups of seven bits from the beginning of some bytes; returns it and its bytes.
///
/// # Errors
/// Too few bytes, or more than 64 bits.
pub fn varint(bytes: &[u8]) -> Result<(u64, usize), Fault> {
    let mut number = 0;
    for (index, byte) in bytes.iter().take(MAX_VARINT).enumerate() {
        let group = u64::from(byte & 0x7f);
        if index + 1 == MAX_VARINT && group > 1 {
            break;
        }
        number |= group << (7 * index);
        if byte & 0x80 == 0 {
            return Ok((number, index + 1));
        }
    }
    if bytes.len() < MAX_VARINT { Err(Fault::Short) } else { Err(Fault::Wrong(0, PetsirdProblem::LargeNumber)) }
}

/// Reads the next number of a stream; `None` if the file does not have all of it now.
///
/// # Errors
/// The file does not read; an invalid number.
pub fn next_varint(stream: &mut ByteStream) -> Result<Option<u64>, IoError> {
    match varint(stream.peek(MAX_VARINT)?) {
        Ok((number, num_bytes)) => {
            stream.advance(num_bytes);
            Ok(Some(number))
        }
        Err(Fault::Short) => Ok(None),
        Err(Fault::Wrong(_, problem)) => Err(stream.refuse(stream.position(), problem)),
    }
}

/// Reads the next value of a stream as a whole; `None` if the file does not have all of it now.
///
/// # Errors
/// The file does not read; an invalid or too large value.
pub fn next_value(stream: &mut ByteStream, schema: &Schema, ty: TypeId) -> Result<Option<Value>, IoError> {
    let position = stream.position();
    let mut min = FIRST_BYTES;
    loop {
        let bytes = stream.peek(min)?;
        let mut decoder = Decoder { schema, bytes, at: 0, num_bytes: 0 };
        let value = decoder.value(ty);
        let (used, num_available) = (decoder.at, bytes.len());
        match value {
            Ok(value) => {
                stream.advance(used);
                return Ok(Some(value));
            }
            Err(Fault::Wrong(at, problem)) => return Err(stream.refuse(position + at as u64, problem)),
            Err(Fault::Short) if num_available < min => return Ok(None),
            Err(Fault::Short) if num_available > MAX_BYTES => {
                return Err(stream.refuse(position, PetsirdProblem::LargeValue(MAX_BYTES >> 30)));
            }
            Err(Fault::Short) => min = 2 * num_available,
        }
    }
}

/// Bytes that are being read.
struct Decoder<'a> {
    schema: &'a Schema,
    bytes: &'a [u8],
    at: usize,
    /// Memory that its values take.
    num_bytes: usize,
}

impl Decoder<'_> {
    fn value(&mut self, ty: TypeId) -> Result<Value, Fault> {
        let schema = self.schema;
        if schema.form(ty) == Form::Fixed(0) {
            return Ok(Value::Null);
        }
        Ok(match schema.get(ty) {
            Type::Number(number) => Value::Number(self.number(*number)?),
            Type::Text => {
                let len = usize::try_from(self.varint()?).map_err(|_| Fault::Short)?;
                Value::Text(String::from_utf8_lossy(self.take(len)?).into_owned())
            }
            Type::Record(record) => {
                self.account(size_of::<Value>() * record.types.len())?;
                let values = record.types.iter().map(|&ty| self.value(ty)).collect::<Result<_, _>>()?;
                Value::Record(record.clone(), values)
            }
            Type::Choice(cases) => match cases.get(self.varint()? as usize) {
                Some((_, Some(ty))) => self.value(*ty)?,
                Some((_, None)) => Value::Null,
                None => return Err(self.wrong(PetsirdProblem::NoCase(cases.len()))),
            },
            Type::List(item, sizes) => {
                let rank = match *sizes {
                    Sizes::Given(num) => return self.items(*item, num),
                    Sizes::Rank(rank) => rank,
                    Sizes::Any => self.varint()?,
                };
                let num = (0..rank).try_fold(1u64, |num, _| Ok(num.saturating_mul(self.varint()?)))?;
                self.items(*item, num)?
            }
        })
    }

    /// Reads `num` items. Memory grows with the items in the file, not with `num`.
    fn items(&mut self, item: TypeId, num: u64) -> Result<Value, Fault> {
        if let Type::Number(number) = self.schema.get(item) {
            let mut numbers = Vec::new();
            for _ in 0..num {
                self.account(size_of::<f64>())?;
                numbers.push(self.number(*number)?);
            }
            return Ok(Value::Numbers(numbers));
        }
        let mut items = Vec::new();
        // A type without bytes has no content, and a file may claim any number of it.
        let num = if self.schema.form(item) == Form::Fixed(0) { 0 } else { num };
        for _ in 0..num {
            self.account(size_of::<Value>())?;
            items.push(self.value(item)?);
        }
        Ok(Value::List(items))
    }

    fn number(&mut self, number: Number) -> Result<f64, Fault> {
        Ok(match number {
            Number::Byte => f64::from(self.take(1)?[0]),
            Number::SignedByte => f64::from(self.take(1)?[0] as i8),
            Number::Unsigned => self.varint()? as f64,
            Number::Signed => {
                let number = self.varint()?;
                ((number >> 1) as i64 ^ -((number & 1) as i64)) as f64
            }
            Number::F32 => f64::from(f32::from_le_bytes(self.array_of()?)),
            Number::F64 => f64::from_le_bytes(self.array_of()?),
            Number::Complex(num_bytes) => {
                self.take(num_bytes as usize)?;
                f64::NAN
            }
        })
    }

    fn varint(&mut self) -> Result<u64, Fault> {
        let (number, num_bytes) = varint(&self.bytes[self.at..]).map_err(|fault| match fault {
            Fault::Short => Fault::Short,
            Fault::Wrong(at, problem) => Fault::Wrong(self.at + at, problem),
        })?;
        self.at += num_bytes;
        Ok(number)
    }

    fn array_of<const N: usize>(&mut self) -> Result<[u8; N], Fault> {
        let bytes = self.bytes[self.at..].first_chunk().ok_or(Fault::Short)?;
        self.at += N;
        Ok(*bytes)
    }

    fn take(&mut self, num_bytes: usize) -> Result<&[u8], Fault> {
        let bytes = self.bytes[self.at..].get(..num_bytes).ok_or(Fault::Short)?;
        self.at += num_bytes;
        Ok(bytes)
    }

    /// Returns counts memory, which is limited by the bytes read so far and a fixed allowance for a header.
    fn account(&mut self, num_bytes: usize) -> Result<(), Fault> {
        self.num_bytes = self.num_bytes.saturating_add(num_bytes);
        let max = MAX_BYTES.min(FREE_BYTES + BYTES_OF_ONE * self.at);
        if self.num_bytes > max { Err(self.wrong(PetsirdProblem::Memory)) } else { Ok(()) }
    }

    fn wrong(&self, problem: PetsirdProblem) -> Fault {
        Fault::Wrong(self.at, problem)
    }
}
