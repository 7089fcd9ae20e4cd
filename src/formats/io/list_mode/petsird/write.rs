//! Lists written as PETSIRD 0.12.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use super::blocks::MAX_EVENTS;
use super::write_header::{Bytes, MAX_WITH_EFFICIENCIES, are_efficiencies_written, header, runs_of_one_size, tof_edges};
use crate::data::{EventChunk, Events, ListMetadata, Notice};
use crate::io::bytes::PendingFile;
use crate::io::error::{Excess, IoError};
use crate::io::list_mode::petsird::problem::PetsirdProblem;
use crate::io::notice;

/// Most types of modules, which are pieces of the numbering with crystals of one size.
const MAX_TYPES: usize = 64;
/// Largest number of blocks without events between two others.
const MAX_EMPTY: u64 = 64;
/// Bytes that are written at a time.
const AT_ONCE: usize = 1 << 20;
/// Largest distance of an interval of d from its bin, mm.
const SAME_MM: f64 = 1e-2;

/// Writes list-mode data, piece by piece. The file exists once it is finished.
pub struct PetsirdWriter {
    path: PathBuf,
    pending: PendingFile,
    bytes: Bytes,
    num_written: u64,
    /// The first crystal of each type of modules, and how many it has.
    runs: Vec<[usize; 2]>,
    /// Edges of the time-of-flight bins, mm.
    edges_mm: Option<Vec<f64>>,
    block_ms: u32,
    /// Duration of the scan, ms.
    duration_ms: Option<u64>,
    /// The end of the blocks that were written, ms.
    end_ms: u64,
    block: Block,
    are_factors_reported: bool,
    notices: Vec<Notice>,
}

/// A time block that is being filled.
#[derive(Debug, Default)]
struct Block {
    start_ms: u32,
    /// The time of its last event, ms.
    last_ms: u32,
    num_events: u64,
    /// Of prompts and of delayed ones: how many, and their bytes, of types t₁ ≥ t₂ at t₁ (t₁ + 1) / 2 + t₂.
    lists: [Vec<(u64, Bytes)>; 2],
}

impl PetsirdWriter {
    /// Begins list-mode data of a scanner. Events are in time blocks of `block_ms`, the only times of a file; with 1 times are
    /// exact. Blocks cover the whole scan, from 0 to its duration, or to the last event if the duration is unknown.
    ///
    /// If time of flight is a number, bins of a tenth of its FWHM are written. Efficiencies are written as those of all pairs,
    /// for scanners of up to 4096 crystals.
    ///
    /// # Errors
    /// A failed write; crystals of too many sizes.
    pub fn create(path: &Path, facts: &ListMetadata, block_ms: u32) -> Result<Self, IoError> {
        let runs = runs_of_one_size(facts.detectors.crystals());
        if runs.len() > MAX_TYPES {
            return Err(refused(path, 0, PetsirdProblem::CrystalSizes(Excess { found: runs.len(), max: MAX_TYPES })));
        }
        if facts.tof.as_ref().is_some_and(|tof| !tof.exceptions.is_empty()) {
            return Err(refused(path, 0, PetsirdProblem::SeveralTofs));
        }
        let edges_mm = facts.tof.as_ref().map(tof_edges);
        let mut notices = Vec::new();
        if (facts.efficiency.is_some() || facts.sampling.is_some()) && !are_efficiencies_written(facts) {
            let text = format!(
                "pairs in coincidence and their efficiencies are not written; this is supported for scanners of up \
                 to {MAX_WITH_EFFICIENCIES} crystals"
            );
            notices.push(notice::warning(path, text));
        }
        let bytes = Bytes(header(facts, &runs, edges_mm.as_deref()));
        Ok(Self {
            path: path.to_owned(),
            pending: PendingFile::create(path)?,
            bytes,
            num_written: 0,
            block: Block::new(0, runs.len()),
            runs,
            edges_mm,
            block_ms: block_ms.max(1),
            duration_ms: facts.duration_ms,
            end_ms: 0,
            are_factors_reported: false,
            notices,
        })
    }

    /// Adds events.
    ///
    /// # Errors
    /// A failed write; a crystal or a time of flight that the scanner does not have.
    pub fn write(&mut self, chunk: &EventChunk) -> Result<(), IoError> {
        let lists = [&chunk.prompts, &chunk.delayeds];
        let has_factors = lists.iter().any(|events| !events.multiplicative.is_empty() || !events.additive.is_empty());
        if has_factors && !std::mem::replace(&mut self.are_factors_reported, true) {
            let text = "PETSIRD has no place for the factors and the background of single events, which are not written";
            self.notices.push(notice::warning(&self.path, text));
        }
        let mut next = [0; 2];
        loop {
            let start = |list: usize| {
                let index = next[list];
                let time = (index < lists[list].len()).then(|| lists[list].times_ms.get(index).copied().unwrap_or(0));
                time.map(|time| time - time % self.block_ms)
            };
            let starts = [start(0), start(1)];
            let Some(earliest) = starts.into_iter().flatten().min() else { return Ok(()) };
            let current = starts.contains(&Some(self.block.start_ms)).then_some(self.block.start_ms);
            if current.is_none() || self.block.num_events >= MAX_EVENTS {
                self.end_block()?;
                self.block.start_ms = current.unwrap_or(earliest);
            }
            let list = usize::from(starts[0] != Some(self.block.start_ms));
            self.add(list, lists[list], next[list])?;
            next[list] += 1;
        }
    }

    /// Ends the data and commits the file; returns the notices.
    ///
    /// # Errors
    /// A failed write.
    pub fn finish(mut self) -> Result<Vec<Notice>, IoError> {
        self.end_block()?;
        self.fill_until(self.duration_ms.unwrap_or_default().min(u32::MAX.into()))?;
        self.bytes.number(0);
        self.flush()?;
        self.pending.commit()?;
        Ok(self.notices)
    }

    /// Adds an event to the block: the crystal of the higher number first, as the format wants it.
    fn add(&mut self, list: usize, events: &Events, index: usize) -> Result<(), IoError> {
        let refuse = |problem: PetsirdProblem| refused(&self.path, self.num_written, problem);
        let pair = events.pairs[index];
        let interval = events.tof_mm.get(index).map_or([0.0; 2], |interval| interval.map(f64::from));
        let is_in_order = pair[0] >= pair[1];
        let ([first, second], interval) =
            if is_in_order { (pair, interval) } else { ([pair[1], pair[0]], [-interval[1], -interval[0]]) };
        let locate = |crystal: u32| {
            let run = self.runs.iter().rposition(|[first, _]| *first <= crystal as usize)?;
            let element = crystal as usize - self.runs[run][0];
            (element < self.runs[run][1]).then_some((run, element as u64))
        };
        let (Some((t1, bin1)), Some((t2, bin2))) = (locate(first), locate(second)) else {
            return Err(refuse(PetsirdProblem::EventCrystals(pair)));
        };
        let tof = match &self.edges_mm {
            Some(edges) => tof_bin(edges, interval).ok_or_else(|| refuse(PetsirdProblem::EventTof(interval)))?,
            None => 0,
        };
        let (num, bytes) = &mut self.block.lists[list][t1 * (t1 + 1) / 2 + t2];
        *num += 1;
        self.block.last_ms = self.block.last_ms.max(events.times_ms.get(index).copied().unwrap_or(0));
        [bin1, bin2, tof].into_iter().for_each(|number| bytes.number(number));
        self.block.num_events += 1;
        Ok(())
    }

    /// Writes the block, if it has events, and begins an empty one.
    fn end_block(&mut self) -> Result<(), IoError> {
        let num_types = self.runs.len();
        let block = std::mem::replace(&mut self.block, Block::new(0, num_types));
        if block.num_events == 0 {
            return Ok(());
        }
        let start = u64::from(block.start_ms);
        self.fill_until(start)?;
        // The scan may end inside its last block.
        let scan_end = self.duration_ms.filter(|end| u64::from(block.last_ms) < *end).unwrap_or(u64::MAX);
        self.write_block(&block, [start, (start + u64::from(self.block_ms)).min(scan_end)])
    }

    /// Writes blocks without events up to a time.
    fn fill_until(&mut self, time_ms: u64) -> Result<(), IoError> {
        let block_ms = u64::from(self.block_ms);
        let step = block_ms * time_ms.saturating_sub(self.end_ms).div_ceil(block_ms).div_ceil(MAX_EMPTY);
        let empty = Block::new(0, self.runs.len());
        while self.end_ms < time_ms {
            self.write_block(&empty, [self.end_ms, (self.end_ms + step).min(time_ms)])?;
        }
        Ok(())
    }

    fn write_block(&mut self, block: &Block, interval_ms: [u64; 2]) -> Result<(), IoError> {
        let [start, stop] = interval_ms.map(|ms| ms.min(u32::MAX.into()));
        self.end_ms = self.end_ms.max(stop);
        // One block follows, of kind 0, a block of events; it has no single ones.
        [1, 0, start, stop, 0].into_iter().for_each(|number| self.bytes.number(number));
        for lists in &block.lists {
            self.bytes.pairs(self.runs.len(), |bytes, t1, t2| {
                let (num, events) = &lists[t1 * (t1 + 1) / 2 + t2];
                bytes.number(*num);
                bytes.0.extend_from_slice(&events.0);
            });
        }
        // None of three or four photons.
        self.bytes.0.extend_from_slice(&[0; 2]);
        if self.bytes.0.len() >= AT_ONCE { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<(), IoError> {
        self.pending.write(|writer| writer.write_all(&self.bytes.0))?;
        self.num_written += self.bytes.0.len() as u64;
        self.bytes.0.clear();
        Ok(())
    }
}

fn refused(path: &Path, position: u64, problem: PetsirdProblem) -> IoError {
    IoError::Events { path: path.to_owned(), position, problem: problem.into() }
}

impl Block {
    fn new(start_ms: u32, num_types: usize) -> Self {
        let lists = || (0..num_types * (num_types + 1) / 2).map(|_| (0, Bytes::default())).collect();
        Self { start_ms, last_ms: 0, num_events: 0, lists: [lists(), lists()] }
    }
}

/// Returns the bin with this interval of d, or the bin of a number that is both its ends.
fn tof_bin(edges: &[f64], [low, high]: [f64; 2]) -> Option<u64> {
    let last = edges.len().checked_sub(2)?;
    let middle = 0.5 * (low + high);
    let bin = edges.partition_point(|edge| *edge <= middle).checked_sub(1)?.min(last);
    let is_inside = if low == high {
        middle <= edges[last + 1]
    } else {
        (edges[bin] - low).abs() <= SAME_MM && (edges[bin + 1] - high).abs() <= SAME_MM
    };
    is_inside.then_some(bin as u64)
}
