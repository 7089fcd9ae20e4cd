//! YRT-PET's list-mode data (`.lmDat`): no header, and events of 32-bit words, little endian: time (ms), two crystals, and the
//! fields of [`YrtFields`]: time of flight t₂ − t₁ (ps; the sign is reversed inside), randoms (counts per second). The scanner's
//! look-up table is CASToR's. Source: YRT-PET (Najmaoui et al. 2025).

use std::path::Path;
use std::sync::Arc;

use super::castor::scanner;
use super::options::{ListOptions, YrtFields};
use super::reader::EventReader;
use super::records::{RecordDecoder, RecordReader, Records, finite, outside_range, pair_at, rate_at, tof_mm_at, u32_at};
use crate::coded::coded;
use crate::data::{EventChunk, ListMetadata, Notice, TofMeasurement, tof_mm};
use crate::io::error::{IoError, Refusal};
use crate::scanner::Detectors;

/// Bytes of time and crystals.
const PLAIN_BYTES: usize = 12;

/// Largest times of time of flight, ps.
const MAX_TOF_PS: f64 = 1e9;

/// Makes events of bytes.
struct Decoder {
    num_crystals: usize,
    /// Offset of the time of flight, and half the interval of an event, mm.
    tof: Option<(usize, f64)>,
    /// Where the random rate is, and how long the scan took, s.
    randoms: Option<(usize, f64)>,
    /// Width of the window over which the randoms are spread, mm; 1 without time of flight.
    window_mm: f64,
    /// Largest |d| of the given range, mm, and the number of events outside.
    reach_mm: f64,
    num_outside: u64,
}

/// Opens list-mode data.
///
/// # Errors
/// No scanner or one that does not read; fields that contradict each other.
pub fn open(path: &Path, options: &ListOptions) -> Result<Box<dyn EventReader>, IoError> {
    let scanner = options.scanner.as_ref().ok_or_else(|| IoError::unsupported(path, YrtProblem::NoTable))?;
    let YrtFields { tof_ps, tof_range_ps, has_randoms } = options.yrt;
    let can_be = |[fwhm, step]: [f64; 2]| fwhm > 0.0 && fwhm <= MAX_TOF_PS && (0.0..=MAX_TOF_PS).contains(&step);
    if tof_ps.is_some_and(|tof_ps| !can_be(tof_ps)) {
        return Err(IoError::unsupported(path, YrtProblem::Tof));
    }
    if tof_range_ps.is_some_and(|ps| !(ps > 0.0 && ps <= MAX_TOF_PS)) || (tof_range_ps.is_some() && tof_ps.is_none()) {
        return Err(IoError::unsupported(path, YrtProblem::TofRange));
    }
    let size = PLAIN_BYTES + if tof_ps.is_some() { 4 } else { 0 } + if has_randoms { 4 } else { 0 };
    let records = Records::open(path, size)?;
    let detectors = Arc::new(scanner::read(scanner)?.detectors);
    let randoms = if has_randoms { Some((size - 4, records.last(|record| u32_at(record, 0))?)) } else { None };
    let tof = tof_ps.map(|[fwhm_ps, _]| tof_facts(&detectors, fwhm_ps, tof_range_ps));
    let decoder = Decoder {
        num_crystals: detectors.crystals().len(),
        tof: tof_ps.map(|[_, step]| (PLAIN_BYTES, 0.5 * tof_mm(step))),
        // The last event comes within the last millisecond.
        randoms: randoms.map(|(at, last)| (at, last.map_or(0.0, |ms| (f64::from(ms) + 1.0) / 1e3))),
        window_mm: tof.as_ref().map_or(1.0, |tof| tof.window_mm[1] - tof.window_mm[0]),
        reach_mm: tof.as_ref().filter(|_| tof_range_ps.is_some()).map_or(f64::INFINITY, |tof| tof.window_mm[1]),
        num_outside: 0,
    };
    let mut facts = ListMetadata::new("YRT-PET list mode", detectors.clone());
    facts.tof = tof;
    facts.duration_ms = decoder.randoms.map(|(_, secs)| (1e3 * secs).round() as u64).filter(|&ms| ms > 0);
    Ok(Box::new(RecordReader { facts: Arc::new(facts), decoder, records, num_expected: None, notices: Vec::new() }))
}

/// Returns the facts on time of flight. Without a range, the window for d extends beyond the farthest crystals, so that nothing
/// is lost.
fn tof_facts(detectors: &Detectors, fwhm_ps: f64, range_ps: Option<f64>) -> TofMeasurement {
    let [radius, half_length] = detectors.extent_mm();
    let fwhm_mm = tof_mm(fwhm_ps);
    let half_mm = range_ps.map_or(2.0 * (radius.hypot(half_length) + fwhm_mm), |range_ps| 0.5 * tof_mm(range_ps));
    TofMeasurement { fwhm_mm, window_mm: [-half_mm, half_mm], ..TofMeasurement::default() }
}

impl RecordDecoder for Decoder {
    fn decode(&mut self, record: &[u8], chunk: &mut EventChunk) -> Result<(), Refusal> {
        let events = &mut chunk.prompts;
        events.pairs.push(pair_at(record, 4, self.num_crystals)?);
        events.times_ms.push(u32_at(record, 0));
        if let Some((at, half_mm)) = self.tof {
            let mm = -tof_mm_at(record, at)?;
            self.num_outside += u64::from(mm.abs() > self.reach_mm * (1.0 + 1e-5));
            events.tof_mm.push([(mm - half_mm) as f32, (mm + half_mm) as f32]);
        }
        if let Some((at, duration_secs)) = self.randoms {
            events.additive.push(finite(rate_at(record, at, "random")? * duration_secs / self.window_mm, "its randoms")?);
        }
        Ok(())
    }

    fn notices(&mut self, data: &Path) -> Vec<Notice> {
        outside_range(data, &mut self.num_outside, "lies outside the given range")
    }
}

/// A problem of YRT-PET list-mode data.
#[derive(Debug, thiserror::Error)]
enum YrtProblem {
    /// No table of crystals.
    #[error(
        "a YRT-PET list does not name its scanner; name the table of its crystals (.lut, .hscan, .geom or .crystals.toml) with --crystals FILE"
    )]
    NoTable,
    /// An uncertainty or a step of time of flight out of range.
    #[error("its time of flight needs an uncertainty (FWHM) above 0 ps and a step of 0 ps or more, both at most a millisecond")]
    Tof,
    /// A range of time of flight out of range.
    #[error("the range of its time of flight needs a width above 0 ps and at most a millisecond, and events with time of flight")]
    TofRange,
}

coded!(YrtProblem = "io.unsupported.yrt-pet");
