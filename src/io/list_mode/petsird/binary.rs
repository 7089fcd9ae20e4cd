//! Values as yardl's binary format writes them. All numbers are little endian.

use std::sync::Arc;

use super::schema::{Form, Number, Record, Schema, Sizes, Type, TypeId};
use crate::io::error::{IoError, PetsirdProblem};
use crate::io::list_mode::bytes::ByteStream;

/// Most bytes that a value takes which is kept as a whole, in the file or in memory.
const MAX_BYTES: usize = 1 << 31;
/// Memory that a value may take beside [`BYTES_OF_ONE`] for each of its bytes.
const FREE_BYTES: usize = 1 << 20;
/// Memory that a byte of a value may take.
const BYTES_OF_ONE: usize = 256;
/// Bytes that are looked at first.
const FIRST_BYTES: usize = 1 << 8;
/// Most bytes of a number.
pub const MAX_VARINT: usize = 10;

/// Why bytes are not a value.
#[derive(Debug, PartialEq)]
pub enum Fault {
    /// More are needed.
    Short,
    /// They cannot be: where, and why.
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
    /// A field of a record, an absent one too.
    fn field(&self, name: &str) -> Result<&Self, PetsirdProblem> {
        let Value::Record(record, values) = self else {
            return Err(PetsirdProblem::NotInRecord(name.to_owned()));
        };
        let index = record.names.iter().position(|field| field == name).ok_or_else(|| missing(&record.name, name))?;
        Ok(&values[index])
    }

    /// A field that another version of the model may lack, or that is optional; `None` = it is absent.
    pub fn maybe(&self, name: &str) -> Option<&Self> {
        self.field(name).ok().filter(|value| **value != Value::Null)
    }

    /// A field that is a record.
    pub fn record(&self, name: &str) -> Result<&Self, PetsirdProblem> {
        self.field(name)
            .and_then(|value| if matches!(value, Value::Record(..)) { Ok(value) } else { Err(unlike(name, "a record")) })
    }

    /// A field that is a list.
    pub fn list(&self, name: &str) -> Result<&[Self], PetsirdProblem> {
        self.field(name)
            .and_then(|value| if let Value::List(items) = value { Ok(items.as_slice()) } else { Err(unlike(name, "a list")) })
    }

    /// A field that is a list of numbers.
    pub fn numbers(&self, name: &str) -> Result<&[f64], PetsirdProblem> {
        self.field(name).and_then(|value| value.as_numbers().ok_or_else(|| unlike(name, "a list of numbers")))
    }

    /// A field that is a number.
    pub fn number(&self, name: &str) -> Result<f64, PetsirdProblem> {
        self.field(name)
            .and_then(|value| if let Value::Number(number) = value { Ok(*number) } else { Err(unlike(name, "a number")) })
    }

    /// A field that is a text.
    pub fn text(&self, name: &str) -> Result<&str, PetsirdProblem> {
        self.field(name)
            .and_then(|value| if let Value::Text(text) = value { Ok(text.as_str()) } else { Err(unlike(name, "a text")) })
    }

    /// The numbers of a list of them.
    pub fn as_numbers(&self) -> Option<&[f64]> {
        if let Value::Numbers(numbers) = self { Some(numbers) } else { None }
    }

    /// The items of a list of anything else.
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
    PetsirdProblem::FieldType { field: field.to_owned(), expected }
}

/// Reads a number in groups of seven bits from the beginning of some bytes, and says how many it takes.
///
/// # Errors
/// There are too few bytes, or it has more than 64 bits.
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

/// Reads the next number of a stream and goes on; `None` = the file does not have the whole of it now.
///
/// # Errors
/// The file cannot be read; it is no number.
pub fn next_varint(stream: &mut ByteStream) -> Result<Option<u64>, IoError> {
    match varint(stream.peek(MAX_VARINT)?) {
        Ok((number, num_bytes)) => {
            stream.advance(num_bytes);
            Ok(Some(number))
        }
        Err(Fault::Short) => Ok(None),
        Err(Fault::Wrong(_, problem)) => Err(stream.refuse(stream.place(), problem)),
    }
}

/// Reads the next value of a stream as a whole and goes on; `None` = the file does not have the whole of it now.
///
/// # Errors
/// The file cannot be read, it is no such value, it is too large.
pub fn next_value(stream: &mut ByteStream, schema: &Schema, ty: TypeId) -> Result<Option<Value>, IoError> {
    let place = stream.place();
    let mut least = FIRST_BYTES;
    loop {
        let bytes = stream.peek(least)?;
        let mut decoder = Decoder { schema, bytes, at: 0, num_bytes: 0 };
        let value = decoder.value(ty);
        let (used, num_there) = (decoder.at, bytes.len());
        match value {
            Ok(value) => {
                stream.advance(used);
                return Ok(Some(value));
            }
            Err(Fault::Wrong(at, problem)) => return Err(stream.refuse(place + at as u64, problem)),
            Err(Fault::Short) if num_there < least => return Ok(None),
            Err(Fault::Short) if num_there > MAX_BYTES => {
                return Err(stream.refuse(place, PetsirdProblem::LargeValue(MAX_BYTES >> 30)));
            }
            Err(Fault::Short) => least = 2 * num_there,
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
            Type::List(item, Some(num)) | Type::Array(item, Sizes::Given(num)) => self.items(*item, *num)?,
            Type::List(item, None) => {
                let num = self.varint()?;
                self.items(*item, num)?
            }
            Type::Array(item, Sizes::Rank(rank)) => self.array(*item, *rank)?,
            Type::Array(item, Sizes::Any) => {
                let rank = self.varint()?;
                self.array(*item, rank)?
            }
        })
    }

    fn array(&mut self, item: TypeId, rank: u64) -> Result<Value, Fault> {
        let mut num = 1u64;
        for _ in 0..rank {
            num = num.saturating_mul(self.varint()?);
        }
        self.items(item, num)
    }

    /// So many items. Memory grows with those that are there, whatever their number is said to be.
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
        // What takes no bytes holds nothing, and any number of it may be claimed.
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

    /// Counts memory: no more than so many times what was read, and what a header takes anyway.
    fn account(&mut self, num_bytes: usize) -> Result<(), Fault> {
        self.num_bytes = self.num_bytes.saturating_add(num_bytes);
        let most = MAX_BYTES.min(FREE_BYTES + BYTES_OF_ONE * self.at);
        if self.num_bytes > most { Err(self.wrong(PetsirdProblem::Memory)) } else { Ok(()) }
    }

    fn wrong(&self, problem: PetsirdProblem) -> Fault {
        Fault::Wrong(self.at, problem)
    }
}
