//! The output of `tomoscope info --json`: the figures of [`super::info`], as JSON for scripts.

use serde_json::{Value, json};

use crate::data::{Counts, Notice, PairCounts, ResponseMatrix, Roi, Study, Sweep, SweepKind, TubeSet, Volume};
use crate::geometry::Grid;
use crate::io;

pub fn projections(counts: &Counts) -> Value {
    let (data, g) = (&counts.prompts, counts.geometry().as_ref());
    let segment = |s: &crate::scanner::Segment| {
        json!({
            "min_ring_difference": s.min_ring_difference,
            "max_ring_difference": s.max_ring_difference,
            "num_axial_pos": s.num_axial_pos,
        })
    };
    json!({
        "kind": "projection-data",
        "scanner": g.scanner,
        "num_rings": g.num_rings,
        "ring_spacing_mm": g.ring_spacing_mm,
        "num_detectors_per_ring": g.num_detectors_per_ring,
        "inner_radius_mm": g.inner_radius_mm,
        "depth_of_interaction_mm": g.depth_of_interaction_mm,
        "segments": g.segments.iter().map(segment).collect::<Vec<_>>(),
        "num_planes": g.num_planes(),
        "num_views": g.num_views,
        "first_view_degrees": g.phi_rad(0).to_degrees(),
        "num_tangential": g.num_tangential,
        "bin_mm": g.central_bin_mm(),
        "is_arc_corrected": g.in_plane.bin_mm().is_some(),
        "num_bins": g.num_bins(),
        "fov_radius_mm": g.fov_radius_mm,
        "tof_bins": counts.tof_bins(),
        "total": data.total(),
        "range": range(data.counts.iter()),
        "default_image": g.default_grid().ok().as_ref().map(grid),
        "facts": counts.facts,
    })
}

pub fn image(volume: &Volume) -> Value {
    json!({
        "kind": "image",
        "grid": grid(&volume.grid),
        "unit": volume.unit.label(),
        "total": volume.sum(),
        "range": range(volume.as_slice().iter()),
        "not_finite": volume.as_slice().iter().filter(|value| !value.is_finite()).count(),
    })
}

pub fn tubes(tubes: &TubeSet) -> Value {
    json!({
        "kind": "tubes",
        "scanner": tubes.scanner,
        "num_samples": tubes.sampling.num,
        "spacing_mm": tubes.sampling.spacing_mm,
        "num_radial": tubes.sampling.num_radial,
        "num_ring_differences": tubes.sampling.num_ring_differences,
        "made": tubes.made,
    })
}

pub fn pairs(pairs: &PairCounts) -> Value {
    json!({
        "kind": "pair-counts",
        "scanner": pairs.ring.name,
        "num_crystals": pairs.ring.num_crystals(),
        "num_pairs": pairs.ring.num_lors(),
        "total": pairs.total(),
        "range": range(pairs.counts.iter()),
    })
}

pub fn matrix(matrix: &ResponseMatrix) -> Value {
    json!({
        "kind": "matrix",
        "scanner": matrix.scanner,
        "basis": matrix.basis,
        "num_basic": matrix.num_basic,
        "num_pairs": matrix.first.len() - 1,
        "num_elements": matrix.elements.len(),
        "made": matrix.made,
    })
}

pub fn sweep(study: &Study<Sweep>) -> Value {
    let sweep = &study.measured;
    let acquisition = match &sweep.kind {
        SweepKind::Pulse => json!({"kind": "pulse"}),
        SweepKind::ContinuousWave { step_mt, gradient_mt_per_mm, reference } => json!({
            "kind": "continuous-wave",
            "step_mt": step_mt,
            "gradient_mt_per_mm": gradient_mt_per_mm,
            "reference": reference.as_ref().map(|r| json!({"samples": r.values.len(), "step_mt": r.step_mt})),
        }),
    };
    json!({
        "kind": "sweep",
        "title": study.title,
        "space": sweep.space.to_string(),
        "projections": sweep.num_complete(),
        "projections_expected": sweep.num_expected,
        "samples": sweep.num_points,
        "step_mm": sweep.step_mm,
        "centre": sweep.centre,
        "half_extent_mm": sweep.half_extent_mm(),
        "total_weight": sweep.total_weight(),
        "acquisition": acquisition,
        "secs_per_projection": sweep.secs_per_projection,
        "field_of_view_mm": sweep.facts.field_of_view_mm,
        "phase": sweep.facts.phase,
        "range": range(sweep.projections.iter().flat_map(|projection| projection.values.iter())),
    })
}

pub fn rois(rois: &[Roi]) -> Value {
    json!({"kind": "regions-of-interest", "rois": rois.iter().map(io::rois::json).collect::<Vec<_>>()})
}

/// Describes a table of measured numbers with its number of rows.
pub fn measurements(num_rows: u64) -> Value {
    json!({"kind": "measured-numbers", "rows": num_rows})
}

/// Returns the description of a file with its name and notices.
pub fn whole(file: &std::path::Path, mut facts: Value, notices: &[Notice]) -> Value {
    let notice = |notice: &Notice| json!({"severity": notice.severity.to_string(), "text": notice.text});
    facts["file"] = json!(file.to_string_lossy());
    facts["notices"] = notices.iter().map(notice).collect();
    facts
}

fn grid(grid: &Grid) -> Value {
    json!({"size": grid.size, "voxel_mm": grid.voxel_mm, "origin_mm": grid.origin_mm})
}

/// Returns the smallest and the largest finite value; `None` without finite values.
pub fn range<'a>(values: impl Iterator<Item = &'a f32>) -> Option<[f32; 2]> {
    let finite = values.copied().filter(|value| value.is_finite());
    finite.map(|value| [value; 2]).reduce(|[low, high], [value, _]| [low.min(value), high.max(value)])
}
