//! Facts of EPRI acquisitions.

use std::path::Path;

use super::open::open_kind::OpenKind;
use super::open::open_sweep::OpenSweep;
use crate::data::{Sweep, SweepKind};
use crate::session::Feed;
use crate::ui::widgets::format;
use crate::ui::widgets::image_axes::ImageAxes;

impl OpenKind for OpenSweep {
    fn facts(&self) -> Vec<(&'static str, String)> {
        let expected = self.acquisition.num_expected();
        let radicals: Vec<&str> = self.radicals.iter().map(|(name, _)| name.as_str()).collect();
        self.acquisition.look(|sweep| facts(sweep, expected, &radicals))
    }

    fn measured_file(&self) -> Option<&Path> {
        self.files.as_ref().map(|files| &*files.projections)
    }

    fn axes(&self) -> ImageAxes {
        ImageAxes::of(self.space())
    }

    fn num_fitted(&self) -> usize {
        self.axes().shown().len()
    }

    fn num_received(&self) -> Option<usize> {
        Some(self.acquisition.num_complete())
    }

    fn feed(&self) -> Option<&Feed> {
        self.feed.as_ref()
    }

    fn has_used_all(&self, [num_projections, _]: [Option<usize>; 2]) -> bool {
        self.is_live() && Some(self.acquisition.num_complete()) == num_projections
    }
}

fn facts(sweep: &Sweep, expected: Option<usize>, radicals: &[&str]) -> Vec<(&'static str, String)> {
    let kind = match &sweep.kind {
        SweepKind::Pulse if sweep.space.is_slice() => "EPRI, pulse: line integrals".to_owned(),
        SweepKind::Pulse => "EPRI, pulse: plane integrals".to_owned(),
        SweepKind::ContinuousWave { gradient_mt_per_mm, .. } => {
            format!("EPRI, continuous wave, gradient {} mT/mm", format::value(*gradient_mt_per_mm))
        }
    };
    let num_complete = sweep.num_complete();
    let projections = match expected {
        Some(expected) if expected == num_complete => format!("{num_complete}"),
        Some(expected) => format!("{num_complete} of {expected}"),
        None => format!("{num_complete} so far"),
    };
    let samples = format!("{} of {} mm, ±{:.1} mm", sweep.num_points, format::value(sweep.step_mm), sweep.half_extent_mm());
    let half = if sweep.space.is_slice() { "circle" } else { "sphere" };
    let cover = format!("{:.1} % of the half {half}", 100.0 * sweep.cover());
    let mut rows = vec![
        ("Data", kind),
        ("Image", sweep.space.to_string()),
        ("Projections", projections),
        ("Samples", samples),
        ("Directions", cover),
    ];
    if let SweepKind::ContinuousWave { reference, .. } = &sweep.kind {
        let text = match reference {
            Some(spectrum) => format!("{} samples", spectrum.values.len()),
            None if !radicals.is_empty() => format!("none; spectra of the radicals {}", radicals.join(", ")),
            None if sweep.separates_spectra() => "missing; spectra in each voxel need none".into(),
            None => "missing: without it nothing can be deconvolved".into(),
        };
        rows.push(("Reference", text));
    }
    if let Some(phase) = &sweep.facts.phase {
        rows.push(("Complex", phase.text()));
    }
    rows
}
