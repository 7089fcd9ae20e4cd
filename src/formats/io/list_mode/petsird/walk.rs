//! Skips values, in pieces of any size, and stops at lists of the wanted items.

use super::binary::{Fault, MAX_VARINT, next_varint, varint};
use super::schema::{Form, Schema, Sizes, Type, TypeId};
use crate::io::error::IoError;
use crate::io::list_mode::bytes::ByteStream;
use crate::io::list_mode::petsird::problem::PetsirdProblem;

/// A part that is still to be skipped; the next one is last.
#[derive(Debug)]
enum Ahead {
    /// A number of bytes.
    Bytes(u64),
    /// A number of numbers in groups of seven bits.
    Varints(u64),
    /// A value.
    Value(TypeId),
    /// The fields of a record from one on.
    Fields(TypeId, usize),
    /// Items of a list: their type, the number left, and the number begun.
    Items(TypeId, u64, u64),
}

/// Where going over a value stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// At its end.
    End,
    /// Where the file ends now.
    Short,
    /// In a list of the wanted items.
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

    /// Returns the list at which it stopped: the number of items left, and the numbers of the lists around it, the outermost
    /// first.
    pub fn list(&self) -> Option<(u64, Vec<u64>)> {
        let Some((Ahead::Items(_, left, _), outer)) = self.ahead.split_last() else { return None };
        let numbers = outer.iter().filter_map(|ahead| if let Ahead::Items(_, _, begun) = ahead { Some(begun - 1) } else { None });
        Some((*left, numbers.collect()))
    }

    /// Takes items of the list at which it stopped as read.
    pub fn mark_read(&mut self, num_items: u64) {
        if let Some(Ahead::Items(_, left, _)) = self.ahead.last_mut() {
            *left = left.saturating_sub(num_items);
        }
    }

    /// Continues until it stops.
    ///
    /// # Errors
    /// The file does not read or has an invalid value.
    pub fn resume(&mut self, stream: &mut ByteStream, schema: &Schema) -> Result<Stop, IoError> {
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
                        return Err(stream.refuse(stream.position(), PetsirdProblem::LargeNumber));
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
                Ahead::Items(item, left, begun) => match at_once(schema.form(*item), *left) {
                    Some(all) => *ahead = all,
                    None => {
                        let item = *item;
                        *left -= 1;
                        *begun += 1;
                        self.ahead.push(Ahead::Value(item));
                    }
                },
                Ahead::Value(ty) => {
                    let (ty, form) = (*ty, schema.form(*ty));
                    // A type of one form is skipped at once, and one without bytes takes no time at any depth.
                    let all = at_once(form, 1).filter(|_| form == Form::Fixed(0) || self.wanted.is_none());
                    let Some(next) = all.map_or_else(|| enter(stream, schema, ty), |all| Ok(Some(all)))? else {
                        return Ok(Stop::Short);
                    };
                    *ahead = next;
                }
            }
        }
        Ok(Stop::End)
    }
}

/// Returns `num` values of one form, which are skipped at once.
fn at_once(form: Form, num: u64) -> Option<Ahead> {
    match form {
        Form::Fixed(num_bytes) => Some(Ahead::Bytes(num_bytes.saturating_mul(num))),
        Form::Varints(each) => Some(Ahead::Varints(each.saturating_mul(num))),
        Form::Other => None,
    }
}

/// Returns the next part of a value after its sizes; `None` if the file ends before.
fn enter(stream: &mut ByteStream, schema: &Schema, ty: TypeId) -> Result<Option<Ahead>, IoError> {
    let position = stream.position();
    Ok(match schema.get(ty) {
        Type::Number(_) => at_once(schema.form(ty), 1),
        Type::Record(_) => Some(Ahead::Fields(ty, 0)),
        Type::Text => next_varint(stream)?.map(Ahead::Bytes),
        Type::List(item, sizes) => num_items(stream, *sizes)?.map(|num| Ahead::Items(*item, num, 0)),
        Type::Choice(cases) => match next_varint(stream)?.map(|index| cases.get(index as usize)) {
            Some(Some((_, Some(ty)))) => Some(Ahead::Value(*ty)),
            Some(Some((_, None))) => Some(Ahead::Bytes(0)),
            Some(None) => return Err(stream.refuse(position, PetsirdProblem::NoCase(cases.len()))),
            None => None,
        },
    })
}

/// Reads the number of a list's items from the sizes before them, all or none.
fn num_items(stream: &mut ByteStream, sizes: Sizes) -> Result<Option<u64>, IoError> {
    /// Most dimensions.
    const MAX_RANK: u64 = 64;
    let position = stream.position();
    let max_numbers = if let Sizes::Rank(rank) = sizes { rank.min(MAX_RANK) } else { MAX_RANK + 1 };
    let bytes = stream.peek(max_numbers as usize * MAX_VARINT)?;
    let mut at = 0;
    let mut next = || -> Result<u64, Fault> {
        let (number, num_bytes) = varint(&bytes[at..])?;
        at += num_bytes;
        Ok(number)
    };
    let rank = match sizes {
        Sizes::Given(num) => return Ok(Some(num)),
        Sizes::Rank(rank) => Ok(rank),
        Sizes::Any => next(),
    };
    let num = rank.and_then(|rank| match rank {
        0..=MAX_RANK => (0..rank).try_fold(1u64, |num, _| Ok(num.saturating_mul(next()?))),
        _ => Err(Fault::Wrong(0, PetsirdProblem::NumDimensions(rank))),
    });
    match num {
        Ok(num) => {
            stream.advance(at);
            Ok(Some(num))
        }
        Err(Fault::Short) => Ok(None),
        Err(Fault::Wrong(_, problem)) => Err(stream.refuse(position, problem)),
    }
}

/// Returns the bytes and the number of at most `max` whole numbers at the beginning.
fn whole_varints(bytes: &[u8], max: u64) -> (usize, u64) {
    let (mut end, mut num) = (0, 0);
    for (index, byte) in bytes.iter().enumerate() {
        if byte & 0x80 == 0 {
            (end, num) = (index + 1, num + 1);
            if num == max {
                break;
            }
        }
    }
    (end, num)
}
