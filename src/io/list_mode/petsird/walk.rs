//! Goes over values that are not kept, in whatever pieces the file comes; stops at lists of events.

use super::binary::{MAX_VARINT, next_varint, varint};
use super::schema::{Form, Number, Schema, Sizes, Type, TypeId};
use crate::io::error::{IoError, PetsirdProblem};
use crate::io::list_mode::bytes::ByteStream;

/// What still has to be gone over, the next last.
#[derive(Debug)]
enum Ahead {
    /// So many bytes.
    Bytes(u64),
    /// So many numbers in groups of seven bits.
    Varints(u64),
    /// A value.
    Value(TypeId),
    /// The fields of a record from one on.
    Fields(TypeId, usize),
    /// Items of a list: what they are, how many are left, how many were begun.
    Items(TypeId, u64, u64),
}

/// Where going over a value stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// At its end.
    End,
    /// Where the file ends now.
    Short,
    /// In a list of what was looked for.
    List,
}

/// A value that is being gone over.
#[derive(Debug, Default)]
pub struct Walker {
    ahead: Vec<Ahead>,
    /// Items at which to stop.
    wanted: Option<TypeId>,
}

impl Walker {
    /// Begins with a value, and stops in each list of `wanted`.
    pub fn begin(&mut self, ty: TypeId, wanted: Option<TypeId>) {
        self.ahead.clear();
        self.ahead.push(Ahead::Value(ty));
        self.wanted = wanted;
    }

    /// The list at which it stopped: how many items are left, and the numbers of the lists in which it lies, the outermost first.
    pub fn list(&self) -> Option<(u64, Vec<u64>)> {
        let Some((Ahead::Items(_, left, _), outer)) = self.ahead.split_last() else { return None };
        let numbers = outer.iter().filter_map(|ahead| if let Ahead::Items(_, _, begun) = ahead { Some(begun - 1) } else { None });
        Some((*left, numbers.collect()))
    }

    /// Takes items of the list at which it stopped as read.
    pub fn took(&mut self, num_items: u64) {
        if let Some(Ahead::Items(_, left, _)) = self.ahead.last_mut() {
            *left = left.saturating_sub(num_items);
        }
    }

    /// Goes on.
    ///
    /// # Errors
    /// The file cannot be read; it holds no such value.
    pub fn go_on(&mut self, stream: &mut ByteStream, schema: &Schema) -> Result<Stop, IoError> {
        while let Some(ahead) = self.ahead.last_mut() {
            match ahead {
                Ahead::Bytes(0) | Ahead::Varints(0) | Ahead::Items(_, 0, _) => {
                    self.ahead.pop();
                }
                Ahead::Bytes(left) => {
                    let num_bytes = (stream.peek(1)?.len() as u64).min(*left);
                    if num_bytes == 0 {
                        return Ok(Stop::Short);
                    }
                    stream.advance(num_bytes as usize);
                    *left -= num_bytes;
                }
                Ahead::Varints(left) => {
                    let bytes = stream.peek(MAX_VARINT)?;
                    let (num_bytes, num_numbers) = whole_varints(bytes, *left);
                    if num_bytes == 0 && bytes.len() >= MAX_VARINT {
                        return Err(stream.refuse(stream.place(), PetsirdProblem::LargeNumber));
                    }
                    if num_bytes == 0 {
                        return Ok(Stop::Short);
                    }
                    stream.advance(num_bytes);
                    *left -= num_numbers;
                }
                Ahead::Fields(ty, next) => match schema.get(*ty) {
                    Type::Record(record) if *next < record.types.len() => {
                        let field = record.types[*next];
                        *next += 1;
                        self.ahead.push(Ahead::Value(field));
                    }
                    _ => {
                        self.ahead.pop();
                    }
                },
                Ahead::Items(item, ..) if Some(*item) == self.wanted => return Ok(Stop::List),
                Ahead::Items(item, left, begun) => match schema.form(*item) {
                    Form::Fixed(num_bytes) => *ahead = Ahead::Bytes(num_bytes.saturating_mul(*left)),
                    Form::Varints(num) => *ahead = Ahead::Varints(num.saturating_mul(*left)),
                    Form::Other => {
                        let item = *item;
                        *left -= 1;
                        *begun += 1;
                        self.ahead.push(Ahead::Value(item));
                    }
                },
                Ahead::Value(ty) => {
                    let ty = *ty;
                    // What has one form is gone over at once, and what takes no bytes takes no time, however deep it is.
                    match schema.form(ty) {
                        Form::Fixed(num_bytes) if num_bytes == 0 || self.wanted.is_none() => {
                            *ahead = Ahead::Bytes(num_bytes);
                            continue;
                        }
                        Form::Varints(num) if self.wanted.is_none() => {
                            *ahead = Ahead::Varints(num);
                            continue;
                        }
                        _ => {}
                    }
                    let Some(next) = enter(stream, schema, ty)? else { return Ok(Stop::Short) };
                    *ahead = next;
                }
            }
        }
        Ok(Stop::End)
    }
}

/// What follows in a value once what stands before its content is read; `None` where the file ends before.
fn enter(stream: &mut ByteStream, schema: &Schema, ty: TypeId) -> Result<Option<Ahead>, IoError> {
    let place = stream.place();
    Ok(Some(match schema.get(ty) {
        Type::Number(Number::Unsigned | Number::Signed) => Ahead::Varints(1),
        Type::Number(_) => match schema.form(ty) {
            Form::Fixed(num_bytes) => Ahead::Bytes(num_bytes),
            _ => Ahead::Bytes(0),
        },
        Type::Record(_) => Ahead::Fields(ty, 0),
        Type::List(item, Some(num)) | Type::Array(item, Sizes::Given(num)) => Ahead::Items(*item, *num, 0),
        Type::Text => match next_varint(stream)? {
            Some(num_bytes) => Ahead::Bytes(num_bytes),
            None => return Ok(None),
        },
        Type::List(item, None) => match next_varint(stream)? {
            Some(num) => Ahead::Items(*item, num, 0),
            None => return Ok(None),
        },
        Type::Choice(cases) => match next_varint(stream)? {
            Some(index) => match cases.get(index as usize) {
                Some((_, Some(ty))) => Ahead::Value(*ty),
                Some((_, None)) => Ahead::Bytes(0),
                None => return Err(stream.refuse(place, PetsirdProblem::NoCase(cases.len()))),
            },
            None => return Ok(None),
        },
        Type::Array(item, sizes) => match num_items(stream, *sizes)? {
            Some(num) => Ahead::Items(*item, num, 0),
            None => return Ok(None),
        },
    }))
}

/// The number of an array's items from the sizes before them, which are read together or not at all.
fn num_items(stream: &mut ByteStream, sizes: Sizes) -> Result<Option<u64>, IoError> {
    /// Most dimensions.
    const MAX_RANK: u64 = 64;
    let place = stream.place();
    let bytes = stream.peek((MAX_RANK as usize + 1) * MAX_VARINT)?;
    let mut at = 0;
    let mut next = || -> Option<u64> {
        let (number, num_bytes) = varint(&bytes[at..]).ok()?;
        at += num_bytes;
        Some(number)
    };
    let rank = match sizes {
        Sizes::Given(num) => return Ok(Some(num)),
        Sizes::Rank(rank) => Some(rank),
        Sizes::Any => next(),
    };
    let Some(rank) = rank else { return Ok(None) };
    if rank > MAX_RANK {
        return Err(stream.refuse(place, PetsirdProblem::NumDimensions(rank)));
    }
    let num = (0..rank).try_fold(1u64, |num, _| Some(num.saturating_mul(next()?)));
    if num.is_some() {
        stream.advance(at);
    }
    Ok(num)
}

/// Bytes of the whole numbers at the beginning, `most` of them at most, and how many these are.
fn whole_varints(bytes: &[u8], most: u64) -> (usize, u64) {
    let (mut end, mut num) = (0, 0);
    for (index, byte) in bytes.iter().enumerate() {
        if byte & 0x80 == 0 {
            (end, num) = (index + 1, num + 1);
            if num == most {
                break;
            }
        }
    }
    (end, num)
}
