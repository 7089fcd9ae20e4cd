//! Facts of sinograms.

use std::path::Path;

use super::list_facts::join_corrections;
use super::open::open_counts::OpenCounts;
use super::open::open_kind::OpenKind;
use crate::data::Counts;
use crate::operator::Accumulation;
use crate::scanner::{self, InPlane};
use crate::ui::widgets::format;

impl OpenKind for OpenCounts {
    fn facts(&self) -> Vec<(&'static str, String)> {
        let geometry = self.counts.geometry();
        let known = scanner::find_by_originating_system(&geometry.scanner);
        let bins = match geometry.in_plane {
            InPlane::ArcCorrected { .. } => "arc-corrected",
            InPlane::Detectors | InPlane::DetectorPairs => "not arc-corrected",
            InPlane::Heads { .. } => "arc-corrected, rotating heads",
        };
        let (views, tangential, planes) = (geometry.num_views, geometry.num_tangential, geometry.num_planes());
        let files = self.files.as_ref();
        let tof = self.counts.tof_bins().map(|bins| ("Time of flight", bins.text()));
        let facts = vec![
            ("Scanner", known.map_or_else(|| geometry.scanner.clone(), |scanner| scanner.title.clone())),
            ("Counts", format::count(self.total)),
            ("Bins", format::count(geometry.num_bins() as f64)),
            (
                "Sampling",
                format!("{views} views × {tangential} × {planes} planes in {} segments, {bins}", geometry.segments.len()),
            ),
            ("Corrections", files.map_or_else(|| corrections(&self.counts), |files| files.corrections(&self.counts))),
        ];
        facts.into_iter().chain(tof).collect()
    }

    fn measured_file(&self) -> Option<&Path> {
        self.files.as_ref().map(|files| &*files.measured)
    }

    fn accumulations(&self) -> &'static [Accumulation] {
        Accumulation::OF_LINES
    }
}

fn corrections(counts: &Counts) -> String {
    join_corrections([
        counts.multiplicative.as_ref().map(|_| "attenuation and normalisation".to_owned()),
        counts.additive.as_ref().map(|_| "scatter and randoms".to_owned()),
    ])
}
