//! The output of `tomoscope info` for list-mode data: facts of the header and of the events.

use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};

use super::info_text::exam_lines;
use crate::cli::shared::error::CliResult;
use crate::cli::shared::progress::with_bar;
use crate::data::{ListMetadata, Notice, ScanTime};
use crate::io::list_mode::{ListOptions, for_each_piece};
use crate::io::open_list_mode;
use crate::plan::{ListError, cylinder_of};
use crate::scanner::{Cylinder, Detectors};

/// Counts of list-mode data.
#[derive(Clone, Debug, Default)]
pub struct Counted {
    /// Coincidences.
    pub num_prompts: u64,
    /// Those with one side delayed.
    pub num_delayeds: u64,
    /// Time of the events.
    pub time: ScanTime,
    /// Crystals with an event.
    pub num_crystals: usize,
}

pub struct ListInfo {
    facts: Arc<ListMetadata>,
    counted: Counted,
    cylinder: Result<Cylinder, String>,
    pub notices: Vec<Notice>,
}

/// Reads list-mode data to the end.
pub fn read(path: &Path, options: &ListOptions) -> CliResult<ListInfo> {
    let mut reader = open_list_mode(path, options)?;
    let facts = Arc::clone(reader.facts());
    let counted = with_bar("counting", |task| {
        let (mut counted, mut is_seen) = (Counted::default(), vec![false; facts.detectors.crystals().len()]);
        for_each_piece(&mut *reader, task, |chunk| {
            counted.time.add(chunk);
            counted.num_prompts += chunk.prompts.len() as u64;
            counted.num_delayeds += chunk.delayeds.len() as u64;
            for events in [&chunk.prompts, &chunk.delayeds] {
                events.pairs.iter().flatten().for_each(|&crystal| is_seen[crystal as usize] = true);
            }
            Ok::<_, ListError>(())
        })?;
        counted.num_crystals = is_seen.iter().filter(|is_seen| **is_seen).count();
        Ok::<_, ListError>(counted)
    })??;
    let cylinder = cylinder_of(&facts).map_err(|error| error.to_string());
    let mut notices = reader.notices();
    notices.extend(counted.time.warnings(&facts, counted.num_prompts as usize));
    if counted.num_prompts + counted.num_delayeds == 0 {
        notices.push(Notice::warning(format!("{}: the list has no event", path.display())));
    }
    Ok(ListInfo { notices, facts, counted, cylinder })
}

impl ListInfo {
    pub fn lines(&self) -> Vec<(&'static str, String)> {
        let Self { facts, counted, .. } = self;
        let mut lines = vec![
            ("format", facts.format.clone()),
            ("scanner", facts.detectors.name().to_owned()),
            ("crystals", format!("{}, {} of them with an event", facts.detectors.crystals().len(), counted.num_crystals)),
            ("arrangement", arrangement(&self.cylinder)),
        ];
        if let Some(sampling) = &facts.sampling {
            let words = format!(
                "{} tangential positions, ring differences up to {}",
                sampling.num_tangential, sampling.max_ring_difference
            );
            lines.push(("coincidences within", words));
        }
        lines.push(("efficiencies", if facts.efficiency.is_some() { "known" } else { "unknown" }.to_owned()));
        lines.push(("time of flight", self.tof()));
        lines.extend(exam_lines(&facts.exam, facts.isotope.as_deref(), facts.half_life_secs));
        lines.push(("prompts", counted.num_prompts.to_string()));
        lines.push(("delayeds", counted.num_delayeds.to_string()));
        lines.extend(self.time_lines());
        lines
    }

    fn time_lines(&self) -> Vec<(&'static str, String)> {
        let Self { facts, counted, .. } = self;
        let time = &counted.time;
        let secs = |ms: u64| ms as f64 / 1e3;
        let (extent, duration_secs) = (time.extent_ms(facts), secs(time.duration_ms(facts)));
        let mut lines = Vec::new();
        if time.has_blocks() {
            lines.push(("time blocks", format!("{} from {} to {} s", time.num_blocks(), secs(extent.start), secs(extent.end))));
        } else if let Some([first, last]) = time.events_ms() {
            lines.push(("times of events", format!("{first} to {last} ms")));
        }
        if duration_secs > 0.0 {
            let rate = counted.num_prompts as f64 / duration_secs;
            lines.push(("prompts per second", format!("{rate:.1} over {duration_secs} s")));
        }
        lines
    }

    fn tof(&self) -> String {
        let Some(tof) = &self.facts.tof else { return "none".to_owned() };
        let one = |fwhm_mm: f64, [from, to]: [f64; 2], bins: String| {
            format!("FWHM {fwhm_mm:.3} mm, {bins} from {from:.3} to {to:.3} mm")
        };
        let bins = |edges_mm: &[f64], without: &str| match edges_mm.len() {
            0 => without.to_owned(),
            num => format!("in {} bins", num - 1),
        };
        let mut words = one(tof.fwhm_mm, tof.window_mm, bins(&tof.edges_mm, "as numbers"));
        for other in &tof.exceptions {
            let [first, second] = other.crystals.each_ref().map(|crystals| format!("{} to {}", crystals.start, crystals.end - 1));
            let of_pairs = match other.edges_mm.is_empty() {
                true => format!("none, in a window from {:.3} to {:.3} mm", other.window_mm[0], other.window_mm[1]),
                false => one(other.fwhm_mm, other.window_mm, bins(&other.edges_mm, "")),
            };
            words += &format!("; between crystals {first} and {second}: {of_pairs}");
        }
        words
    }

    pub fn json(&self) -> Value {
        let Self { facts, counted, cylinder, .. } = self;
        json!({
            "kind": "list-of-events",
            "format": facts.format,
            "scanner": facts.detectors.name(),
            "num_crystals": facts.detectors.crystals().len(),
            "num_crystals_with_events": counted.num_crystals,
            "cylinder": cylinder.as_ref().ok().map(cylinder_json),
            "has_efficiencies": facts.efficiency.is_some(),
            "tof": facts.tof.as_ref().map(|tof| json!({
                "fwhm_mm": tof.fwhm_mm, "window_mm": tof.window_mm, "edges_mm": tof.edges_mm, "exceptions": tof.exceptions,
            })),
            "isotope": facts.isotope,
            "half_life_secs": facts.half_life_secs,
            "exam": facts.exam,
            "duration_ms": facts.duration_ms,
            "num_prompts": counted.num_prompts,
            "num_delayeds": counted.num_delayeds,
            "num_time_blocks": counted.time.num_blocks(),
            "times_ms": counted.time.events_ms().or_else(|| {
                let extent = counted.time.extent_ms(facts);
                counted.time.has_blocks().then_some([extent.start, extent.end])
            }),
            "measured_ms": counted.time.duration_ms(facts),
        })
    }
}

/// Describes the arrangement of a scanner's crystals.
fn arrangement(cylinder: &Result<Cylinder, String>) -> String {
    match cylinder {
        Ok(cylinder) => format!(
            "{} rings of {} places, {:.3} mm apart, radius {:.3} mm; {} of the places are gaps, crystals are up to {:.3} mm from theirs",
            cylinder.num_rings,
            cylinder.num_detectors,
            cylinder.ring_spacing_mm,
            cylinder.radius_mm,
            cylinder.num_gaps(),
            cylinder.deviation_mm
        ),
        Err(reason) => reason.clone(),
    }
}

fn cylinder_json(cylinder: &Cylinder) -> serde_json::Value {
    json!({
        "num_rings": cylinder.num_rings,
        "num_detectors_per_ring": cylinder.num_detectors,
        "ring_spacing_mm": cylinder.ring_spacing_mm,
        "radius_mm": cylinder.radius_mm,
        "num_gaps": cylinder.num_gaps(),
        "deviation_mm": cylinder.deviation_mm,
    })
}

pub fn crystal_lines(detectors: &Detectors) -> Vec<(&'static str, String)> {
    let [radius, half_length] = detectors.extent_mm();
    let cylinder = Cylinder::recognise(detectors).map_err(|reason| format!("no cylinder of rings: {reason}"));
    vec![
        ("scanner", detectors.name().to_owned()),
        ("crystals", detectors.crystals().len().to_string()),
        (
            "bore",
            format!(
                "radius {:.3} mm; crystals out to {radius:.3} mm, and {half_length:.3} mm along the axis",
                detectors.bore_mm()
            ),
        ),
        ("arrangement", arrangement(&cylinder)),
    ]
}

pub fn crystals_json(detectors: &Detectors) -> serde_json::Value {
    json!({
        "kind": "crystals",
        "scanner": detectors.name(),
        "num_crystals": detectors.crystals().len(),
        "bore_mm": detectors.bore_mm(),
        "cylinder": Cylinder::recognise(detectors).ok().as_ref().map(cylinder_json),
    })
}
