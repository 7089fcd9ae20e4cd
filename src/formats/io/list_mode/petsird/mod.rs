//! PETSIRD: list-mode data of research scanners (ETSInitiative), in yardl's binary format.
//!
//! A file contains the schema of its records, by which it is read: fields are found by their names, and unused fields are
//! skipped by their type. So other versions of the model than today's (0.12) are read if they have the required fields.
//!
//! A crystal's number is first_of_its_type + module · elements + element; energy bins are merged. An event's time is the middle
//! of its time block, because the file has no other.

mod binary;
mod blocks;
mod coincidences;
mod efficiency;
mod geometry;
mod header;
mod problem;
mod schema;
mod walk;
mod write;
mod write_header;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use self::binary::{Fault, Value, next_value, next_varint};
use self::blocks::{Field, Kind, MAX_EVENTS, kinds, min_number, moves};
use self::coincidences::{PairOfTypes, Plan};
use self::header::Header;
use self::schema::{MAX_SCHEMA_BYTES, Schema, TypeId};
use self::walk::{Stop, Walker};
use super::bytes::ByteStream;
use super::reader::{EVENTS_AT_ONCE, EventReader};
use crate::data::{EventChunk, ListMetadata, Notice, middle_ms};
use crate::io::error::{IoError, Mismatch};
use crate::io::list_mode::petsird::problem::PetsirdProblem;
use crate::io::notice;

pub use write::PetsirdWriter;

/// First bytes of a file; the version of the binary format follows.
const MAGIC: &[u8] = b"yardl";
/// The version of the binary format.
const BINARY_VERSION: u32 = 1;
/// The schema of the model that is written.
const MODEL: &str = include_str!("../../../../../assets/petsird-0.12.json");

/// Where the reader is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    /// Before the number of blocks that follow each other; 0 ends the list.
    Count,
    /// Before a block, with the number of the blocks left.
    Block(u64),
    /// Before the content of a block of this kind that begins at this place.
    Content(usize, u64, u64),
    /// Before a field of a block of events of this kind.
    Field(usize, usize, u64),
    /// Behind the last block.
    End,
}

/// Result of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// There is more.
    On,
    /// The file has no more now.
    Short,
    /// The chunk is full.
    Full,
}

/// Reads a file piece by piece.
#[derive(Debug)]
struct PetsirdReader {
    stream: ByteStream,
    schema: Schema,
    facts: Arc<ListMetadata>,
    pairs: Vec<PairOfTypes>,
    /// Names and kinds of time blocks.
    kinds: Vec<(String, Kind)>,
    event: TypeId,
    plan: Plan,
    at: At,
    /// Position inside a field of a block, and the use of the field.
    walker: Walker,
    field: Field,
    /// Begin and end of the block of events, ms.
    block_ms: [u32; 2],
    /// Events of the block.
    num_in_block: u64,
    /// Those of the blocks since the last piece, ms.
    intervals_ms: Vec<[u32; 2]>,
    notices: Vec<Notice>,
    num_skipped: BTreeMap<String, u64>,
    is_dead_time_reported: bool,
    /// True if the file has the model that is written.
    is_ours: bool,
    /// Coincidences whose detection bins have the order that the model forbids.
    num_out_of_order: u64,
}

/// Opens a file and reads its header.
///
/// # Errors
/// The file does not read, is no PETSIRD file, lacks required content or contradicts itself.
pub fn open(path: &Path) -> Result<Box<dyn EventReader>, IoError> {
    let mut stream = ByteStream::open(path)?;
    let text = schema_text(&mut stream)?;
    let position = stream.position() - text.len() as u64;
    let schema = Schema::parse(&text).map_err(|problem| stream.refuse(position, problem))?;
    let (kinds, event) = kinds(&schema).map_err(|problem| stream.refuse(position, problem))?;
    let plan = Plan::new(&schema, event).map_err(|problem| stream.refuse(position, problem))?;
    let position = stream.position();
    let Some(value) = next_value(&mut stream, &schema, schema.header)? else {
        return Err(stream.refuse(stream.len()?, PetsirdProblem::Cut("in its header")));
    };
    let is_ours = text == MODEL.trim_end();
    let format = if is_ours { "PETSIRD 0.12" } else { "PETSIRD, another version than 0.12" };
    let header = Header::new(stream.path(), &value, format, |problem| stream.refuse(position, problem))?;
    Ok(Box::new(PetsirdReader {
        stream,
        schema,
        facts: Arc::new(header.facts),
        pairs: header.pairs,
        kinds,
        event,
        plan,
        at: At::Count,
        walker: Walker::default(),
        field: Field::Other,
        block_ms: [0; 2],
        num_in_block: 0,
        intervals_ms: Vec::new(),
        notices: header.notices,
        num_skipped: BTreeMap::new(),
        is_dead_time_reported: false,
        is_ours,
        num_out_of_order: 0,
    }))
}

impl PetsirdReader {
    /// Reads on by a little.
    fn step(&mut self, chunk: &mut EventChunk) -> Result<Step, IoError> {
        match self.walker.resume(&mut self.stream, &self.schema)? {
            Stop::Short => return Ok(Step::Short),
            Stop::List => return self.read_events(chunk),
            Stop::End => {}
        }
        self.at = match self.at {
            At::Count => match next_varint(&mut self.stream)? {
                None => return Ok(Step::Short),
                Some(0) => self.end(),
                Some(num) => At::Block(num),
            },
            At::Block(0) => At::Count,
            At::Block(left) => {
                let position = self.stream.position();
                match next_varint(&mut self.stream)? {
                    None => return Ok(Step::Short),
                    Some(kind) if kind < self.kinds.len() as u64 => At::Content(kind as usize, position, left - 1),
                    Some(kind) => {
                        let problem = PetsirdProblem::NoKind(kind, self.kinds.len());
                        return Err(self.stream.refuse(position, problem));
                    }
                }
            }
            At::Content(kind, position, left) => match self.content(kind, position)? {
                None => return Ok(Step::Short),
                Some(true) => At::Field(kind, 0, left),
                Some(false) => At::Block(left),
            },
            At::Field(kind, index, left) => match self.begin_field(kind, index)? {
                None => return Ok(Step::Short),
                Some(true) => At::Field(kind, index + 1, left),
                Some(false) => At::Block(left),
            },
            At::End => return Ok(Step::Short),
        };
        Ok(Step::On)
    }

    /// Reads the content of a block, or begins with it; returns true if it has fields that are read one by one.
    fn content(&mut self, kind: usize, position: u64) -> Result<Option<bool>, IoError> {
        let (name, kind) = &self.kinds[kind];
        match kind {
            Kind::Events(_) => return Ok(Some(true)),
            Kind::Other(ty) => {
                *self.num_skipped.entry(name.clone()).or_default() += 1;
                self.walker.begin(*ty, None);
            }
            Kind::Movement(ty) => {
                let Some(value) = next_value(&mut self.stream, &self.schema, *ty)? else { return Ok(None) };
                let moves = moves(&value).map_err(|problem| self.stream.refuse(position, problem))?;
                if moves {
                    return Err(self.stream.refuse(position, PetsirdProblem::Movement(name.clone())));
                }
            }
            Kind::DeadTime(ty) => {
                let Some(value) = next_value(&mut self.stream, &self.schema, *ty)? else { return Ok(None) };
                let min = min_number(value.maybe("aliveTimeFractions").unwrap_or(&Value::Null));
                if min < 1.0 && !std::mem::replace(&mut self.is_dead_time_reported, true) {
                    let start = value.record("timeInterval").and_then(|interval| interval.number("start")).unwrap_or(0.0);
                    self.notices.push(Notice::warning(format!(
                        "from {start} ms on the file contains dead time: live fractions down to {min:.4}; \
                         the efficiencies are not corrected for it"
                    )));
                }
            }
        }
        Ok(Some(false))
    }

    /// Begins with a field of a block of events; returns false after the last one.
    fn begin_field(&mut self, kind: usize, index: usize) -> Result<Option<bool>, IoError> {
        let (_, Kind::Events(fields)) = &self.kinds[kind] else { return Ok(Some(false)) };
        let Some(&(field, ty)) = fields.get(index) else { return Ok(Some(false)) };
        self.field = field;
        if field != Field::Interval {
            self.walker.begin(ty, (field != Field::Other).then_some(self.event));
            return Ok(Some(true));
        }
        let position = self.stream.position();
        let Some(value) = next_value(&mut self.stream, &self.schema, ty)? else { return Ok(None) };
        let start = value.number("start").map_err(|problem| self.stream.refuse(position, problem))?;
        if !(0.0..=f64::from(u32::MAX)).contains(&start) {
            return Err(self.stream.refuse(position, PetsirdProblem::BlockStart(start)));
        }
        let stop = value.number("stop").unwrap_or(start).min(f64::from(u32::MAX));
        if stop < start {
            return Err(self.stream.refuse(position, PetsirdProblem::BlockEnd([start, stop])));
        }
        let block_ms = [start, stop].map(|ms| ms as u32);
        // The writer divides a block of many events.
        let continues = self.is_ours && self.num_in_block >= MAX_EVENTS && block_ms == self.block_ms;
        if !continues {
            self.intervals_ms.push(block_ms);
        }
        (self.block_ms, self.num_in_block) = (block_ms, 0);
        Ok(Some(true))
    }

    /// Reads events of the list at which the walker stopped.
    fn read_events(&mut self, chunk: &mut EventChunk) -> Result<Step, IoError> {
        let room = EVENTS_AT_ONCE.saturating_sub(chunk.prompts.len() + chunk.delayeds.len()) as u64;
        let Some((left, types)) = self.walker.list().filter(|_| room > 0) else { return Ok(Step::Full) };
        let events = if self.field == Field::Prompts { &mut chunk.prompts } else { &mut chunk.delayeds };
        let position = self.stream.position();
        let &[t1, t2] = types.as_slice() else {
            return Err(self.stream.refuse(position, PetsirdProblem::NoModuleTypes));
        };
        let index = t1.saturating_mul(t1.saturating_add(1)) / 2;
        let pair = self.pairs.get(index.saturating_add(t2) as usize).filter(|_| t2 <= t1);
        let Some(pair) = pair else {
            return Err(self.stream.refuse(position, PetsirdProblem::ModuleTypes([t1, t2])));
        };
        let bytes = self.stream.peek(self.plan.max_bytes)?;
        let read = self.plan.read(bytes, left.min(room), pair, events);
        if self.is_ours && t1 == t2 {
            let new = events.pairs.get(events.times_ms.len()..).unwrap_or_default();
            self.num_out_of_order += new.iter().filter(|[first, second]| first < second).count() as u64;
        }
        events.times_ms.resize(events.pairs.len(), middle_ms(self.block_ms));
        match read {
            Ok((0, _)) => Ok(Step::Short),
            Ok((num, num_bytes)) => {
                self.stream.advance(num_bytes);
                self.walker.mark_read(num);
                self.num_in_block += num;
                Ok(Step::On)
            }
            Err(Fault::Wrong(at, problem)) => Err(self.stream.refuse(position + at as u64, problem)),
            Err(Fault::Short) => Ok(Step::Short),
        }
    }

    /// Adds the notice on skipped blocks at the end.
    fn end(&mut self) -> At {
        let skipped: Vec<String> = self.num_skipped.iter().map(|(name, num)| format!("{num} × {name}")).collect();
        if !skipped.is_empty() {
            self.notices.push(Notice::info(format!("time blocks that are not used were skipped: {}", skipped.join(", "))));
        }
        At::End
    }
}

impl EventReader for PetsirdReader {
    fn facts(&self) -> &Arc<ListMetadata> {
        &self.facts
    }

    fn next(&mut self, chunk: &mut EventChunk) -> Result<bool, IoError> {
        chunk.clear();
        while self.step(chunk)? == Step::On {}
        chunk.intervals_ms.append(&mut self.intervals_ms);
        Ok(!(chunk.prompts.is_empty() && chunk.delayeds.is_empty() && chunk.intervals_ms.is_empty()))
    }

    fn check_end(&self) -> Result<(), IoError> {
        let (position, len) = (self.stream.position(), self.stream.len()?);
        match self.at {
            At::End if position == len => Ok(()),
            At::End => Err(self.stream.refuse(position, PetsirdProblem::Excess(len.saturating_sub(position)))),
            At::Count | At::Block(_) => Err(self.stream.refuse(position, PetsirdProblem::Cut("without the end of its list"))),
            _ => Err(self.stream.refuse(position, PetsirdProblem::Cut("in a time block"))),
        }
    }

    fn is_complete(&self) -> bool {
        self.at == At::End
    }

    fn open_block_ms(&self) -> Option<[u32; 2]> {
        matches!(self.at, At::Field(_, index, _) if index > 0).then_some(self.block_ms)
    }

    fn stream(&mut self) -> &mut ByteStream {
        &mut self.stream
    }

    fn notices(&mut self) -> Vec<Notice> {
        let num = std::mem::take(&mut self.num_out_of_order);
        if num > 0 {
            let text = format!(
                "{num} coincidences of one type of modules have the lower detection bin first, which PETSIRD forbids; they are read as \
                 they are, and their time of flight is right only if it was written in the same order"
            );
            self.notices.push(notice::warning(self.stream.path(), text));
        }
        std::mem::take(&mut self.notices)
    }
}

/// Reads the schema's text, and the bytes before it.
fn schema_text(stream: &mut ByteStream) -> Result<String, IoError> {
    let cut = PetsirdProblem::Cut("in its schema");
    let rest = stream.peek(MAGIC.len() + 4)?.strip_prefix(MAGIC);
    match rest.map(|rest| rest.first_chunk().copied().map(u32::from_le_bytes)) {
        None => return Err(stream.refuse(0, PetsirdProblem::NotYardl)),
        Some(None) => return Err(stream.refuse(stream.len()?, cut)),
        Some(Some(BINARY_VERSION)) => {}
        Some(Some(found)) => {
            let problem = PetsirdProblem::BinaryVersion(Mismatch { found, expected: BINARY_VERSION });
            return Err(stream.refuse(MAGIC.len() as u64, problem));
        }
    }
    stream.advance(MAGIC.len() + 4);
    let position = stream.position();
    let Some(len) = next_varint(stream)? else { return Err(stream.refuse(stream.len()?, cut)) };
    if len > MAX_SCHEMA_BYTES {
        return Err(stream.refuse(position, PetsirdProblem::SchemaSize(len)));
    }
    let position = stream.position();
    let text = stream.peek(len as usize)?.get(..len as usize).map(|bytes| String::from_utf8(bytes.to_vec()));
    match text {
        None => Err(stream.refuse(stream.len()?, cut)),
        Some(Err(_)) => Err(stream.refuse(position, PetsirdProblem::SchemaText)),
        Some(Ok(text)) => {
            stream.advance(len as usize);
            Ok(text)
        }
    }
}
