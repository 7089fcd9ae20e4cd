//! Noise-free scans of NEMA phantoms on rings that are just large enough for them.

use std::path::Path;
use std::sync::Arc;

use tomoscope::io::write_projections;
use tomoscope::phantom::{Noise, SimulationOptions, by_name, simulate};
use tomoscope::scanner::{InPlane, ScanGeometry, Segment};
use tomoscope::task::Task;

/// Writes a scan of the body phantom on a ring that is just large enough for it.
pub fn write_scan(path: &Path) {
    write_scan_of("nema-iq-2018", 300.0, 3.2, (24, 6.0), path);
}

/// Writes a scan of a phantom on a ring of this radius with 107 bins of this size, and so many rings in this distance, mm.
pub fn write_scan_of(phantom: &str, inner_radius_mm: f64, bin_mm: f64, (num_rings, ring_spacing_mm): (usize, f64), path: &Path) {
    let geometry = ScanGeometry {
        scanner: "round".into(),
        num_rings,
        ring_spacing_mm,
        num_detectors_per_ring: 400,
        inner_radius_mm,
        depth_of_interaction_mm: 5.0,
        num_views: 100,
        num_tangential: 107,
        view_offset_deg: 0.0,
        in_plane: InPlane::ArcCorrected { bin_mm },
        segments: vec![Segment::full(-1, 1, num_rings)],
        fov_radius_mm: 52.5 * bin_mm,
    };
    let geometry = Arc::new(geometry.validate().unwrap());
    let phantom = by_name(phantom, &geometry).unwrap();
    assert_eq!(phantom.size, 1.0);
    let options = SimulationOptions { counts: 1e8, noise: Noise::None, ..SimulationOptions::default() };
    let study = simulate(&phantom, geometry, &options, &Task::new()).unwrap();
    write_projections(path, &study.measured.prompts).unwrap();
}
