//! Histograms list-mode data into projection data with the corrections of the file.
//!
//! Prompts are counted as they are. The factor m of a bin is the sum of the detection efficiencies of its crystal pairs; a gap
//! counts nothing. Delayeds are smoothed ([`smoothed_singles`](crate::measure::smoothed_singles)) and join the additive term: it
//! includes efficiencies already, so that no factor is applied. With time-of-flight bins, the additive term is that of all of them
//! together: their part of the coincidence window, over which randoms are the same.

use std::path::Path;
use std::sync::Arc;

use super::randoms::randoms_of_bins;
use super::sampling::{HistogramSettings, cylinder_of, sampling_of};
use super::study::{BlockSplitter, nothing_to_split};
use super::tof::{share_of_window, tof_bins, tof_notices};
use crate::data::{
    Counts, EventHistogram, FrameTime, ListMetadata, Michelogram, Notice, Origin, ScanFacts, ScanTime, Study, frame_text,
    moved_limits,
};
use crate::io::list_mode::{ListOptions, for_each_piece};
use crate::io::open_list_mode;
use crate::plan::device::memory::FreeMemory;
use crate::plan::error::ListError;
use crate::task::{Stopped, Task};
use crate::text::counted;

/// Deviation of crystals from the places of a cylinder above which a notice reports it, mm.
const NEARLY_MM: f64 = 0.05;

/// Counts the events of a list-mode file.
///
/// # Errors
/// The file is not readable to its end, its scanner is no cylinder, the bins are invalid or exceed the memory; stopped.
pub fn histogram(
    path: &Path,
    options: &ListOptions,
    settings: &HistogramSettings,
    task: &Task,
) -> Result<Study<Counts>, ListError> {
    let mut reader = open_list_mode(path, options)?;
    let facts = Arc::clone(reader.facts());
    let cylinder = Arc::new(cylinder_of(&facts)?);
    let geometry = Arc::new(sampling_of(&facts, &cylinder, settings)?);
    let tof = settings.tof.map(|request| tof_bins(&facts, &geometry, request)).transpose()?;
    let num_tof = tof.map_or(0, |bins| bins.num);
    // Prompts, delayeds, factors and randoms, and the prompts by time of flight.
    let (needed, free) = (4 * (4 + num_tof as u64) * geometry.num_bins() as u64, FreeMemory::of_the_computer().bytes);
    if let Some(free) = free.filter(|free| *free < needed) {
        return Err(ListError::Memory { num_bins: geometry.num_bins(), num_tof, needed, free });
    }
    let mut prompts = EventHistogram::new(Arc::clone(&cylinder), Arc::clone(&geometry));
    if let Some(bins) = tof {
        prompts = prompts.with_tof(bins);
    }
    let (mut delayeds, mut has_own_factors, mut num_with_background) = (None, false, 0);
    let (mut time, mut splitter) = (ScanTime::default(), settings.split_seed.map(BlockSplitter::new));
    for_each_piece(&mut *reader, task, |chunk| {
        time.add(chunk);
        if let Some(splitter) = &mut splitter {
            splitter.split(&mut time, chunk);
        }
        if let Some(frame_ms) = &settings.frame_ms {
            chunk.retain_frame(frame_ms.clone());
        }
        has_own_factors |= !chunk.prompts.multiplicative.is_empty();
        num_with_background += chunk.prompts.additive.iter().filter(|expected| **expected > 0.0).count();
        prompts.add(&chunk.prompts);
        if !chunk.delayeds.is_empty() {
            let new = || EventHistogram::new(Arc::clone(&cylinder), Arc::clone(&geometry));
            delayeds.get_or_insert_with(new).add(&chunk.delayeds);
        }
        Ok::<_, ListError>(())
    })?;
    let mut notices = reader.notices();
    notices.extend(frame_notices(settings, &time, &facts, &prompts));
    notices.extend(notices_of(&facts, &prompts, has_own_factors));
    if num_with_background > 0 {
        notices.push(Notice::warning(format!(
            "the expected background (randoms, scatter) of {} is not in the histogram: the file contains it only for pairs with events, \
             and empty bins need it too",
            counted(num_with_background, "event")
        )));
    }
    let multiplicative = factors(&facts, &prompts, settings.span)?;
    let additive = match delayeds {
        Some(delayeds) => {
            let [num_counted, outside] = delayeds.num_events();
            notices.push(Notice::info(format!(
                "{num_counted} delayed coincidences, smoothed over the fans of the crystals, are the expected randoms{}",
                if outside > 0 { format!("; {outside} lie outside the bins") } else { String::new() }
            )));
            let mut randoms = randoms_of_bins(&facts, &delayeds, &prompts, task)?;
            if let Some((bins, tof)) = tof.zip(facts.tof.as_ref()) {
                let share = share_of_window(&bins, tof);
                randoms.iter_mut().for_each(|randoms| *randoms = (share * f64::from(*randoms)) as f32);
                let percent = 100.0 * share;
                notices.push(Notice::info(format!(
                    "the time-of-flight bins contain {percent:.1} % of the coincidence window, and of the randoms"
                )));
            }
            Some(Michelogram { geometry: Arc::clone(&geometry), counts: Arc::new(randoms), tof: None })
        }
        None => None,
    };
    let title = path.file_name().unwrap_or_default().to_string_lossy();
    let frame = settings.frame_ms.as_ref().map(|frame_ms| time.frame(frame_ms, &facts));
    let of_scan = facts_of(&time, frame.as_ref(), &facts);
    let measured = Counts { multiplicative, additive, facts: of_scan, ..Counts::new(prompts.into_michelogram()) };
    Ok(Study { origin: Origin::of(path), notices, ..Study::new(title, measured) })
}

/// Returns the facts of the scan for a frame of a list, or for all of it.
fn facts_of(time: &ScanTime, frame: Option<&FrameTime>, facts: &ListMetadata) -> ScanFacts {
    let limits = time.limits_secs(frame, facts);
    let whole_ms = Some(time.duration_ms(facts)).filter(|ms| *ms > 0);
    let share_of_scan = frame.zip(whole_ms).map(|(frame, whole_ms)| (frame.duration_ms as f64 / whole_ms as f64).min(1.0));
    ScanFacts {
        exam: facts.exam.clone(),
        start_secs: limits.map(|[start, _]| start).filter(|start| *start > 0.0),
        duration_secs: limits.map(|[start, end]| end - start).filter(|secs| *secs > 0.0),
        isotope: facts.isotope.clone(),
        half_life_secs: facts.half_life_secs,
        share_of_scan,
        ..ScanFacts::default()
    }
}

/// Returns notices about the time of the frame.
fn frame_notices(settings: &HistogramSettings, time: &ScanTime, facts: &ListMetadata, prompts: &EventHistogram) -> Vec<Notice> {
    let of_split = settings.split_seed.and_then(|_| nothing_to_split(time));
    let mut notices = time.warnings(facts, prompts.num_events().iter().sum::<u64>() as usize);
    notices.extend(of_split);
    if let Some(frame) = settings.frame_ms.as_ref().map(|frame_ms| time.frame(frame_ms, facts)) {
        let secs = frame.duration_ms as f64 / 1e3;
        notices.extend(moved_limits(std::slice::from_ref(&frame)));
        notices.push(match prompts.num_events() {
            [0, 0] => {
                let of_list = time.extent_text(facts).map_or_else(String::new, |text| format!("; the list is from {text}"));
                Notice::warning(format!("The frame {} has no event{of_list}", frame_text(&frame.requested_ms)))
            }
            _ => Notice::info(format!("Frame {}: {secs} s were measured", frame.text())),
        });
    }
    notices
}

fn notices_of(facts: &ListMetadata, prompts: &EventHistogram, has_own_factors: bool) -> Vec<Notice> {
    let mut notices = Vec::new();
    let (cylinder, [_, outside]) = (&prompts.cylinder, prompts.num_events());
    if cylinder.deviation_mm > NEARLY_MM {
        notices.push(Notice::warning(format!(
            "the crystals of {} lie up to {:.2} mm from the places of a cylinder ({} around, {} along it, radius {:.2} mm) at which they are counted",
            facts.detectors.name(), cylinder.deviation_mm, cylinder.num_detectors, cylinder.num_rings, cylinder.radius_mm
        )));
    }
    if outside > 0 {
        notices.push(Notice::info(format!("{outside} prompts lie outside the bins and are not counted")));
    }
    match prompts.tof() {
        Some((bins, numbers)) => notices.extend(tof_notices(&bins, numbers, facts)),
        None if facts.tof.is_some() => {
            notices.push(Notice::info("the sinogram has no time of flight; --tof sorts the events by it"));
        }
        None => {}
    }
    if facts.efficiency.is_none() && has_own_factors {
        notices.push(Notice::warning(
            "detection efficiencies are known only for pairs with events, and empty bins need them too: the histogram is not normalised",
        ));
    }
    notices
}

/// Returns m of each bin: the sum of the efficiencies of its crystal pairs. `None` if it is 1 everywhere.
fn factors(facts: &ListMetadata, prompts: &EventHistogram, span: usize) -> Result<Option<Michelogram>, Stopped> {
    let (cylinder, geometry) = (&prompts.cylinder, &prompts.geometry);
    if facts.efficiency.is_none() && cylinder.num_gaps() == 0 && span <= 1 {
        return Ok(None);
    }
    let num = cylinder.num_detectors;
    let mut factors = vec![0.0f32; geometry.num_bins()];
    prompts.for_each_pair(|bin, ends| {
        let crystals = ends.map(|place| cylinder.crystal(place / num, place % num));
        if let [Some(first), Some(second)] = crystals {
            factors[bin] += facts.efficiency.as_ref().map_or(1.0, |efficiency| efficiency.of([first, second]));
        }
    });
    Ok(Some(Michelogram { geometry: Arc::clone(geometry), counts: Arc::new(factors), tof: None }))
}
