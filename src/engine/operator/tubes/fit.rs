//! Which scans and grids tubes of response fit.

use crate::data::TubeSet;
use crate::geometry::Grid;
use crate::operator::{Misfit, OperatorError};
use crate::scanner::{Plane, ScanGeometry};

/// Tolerance of the positions of samples, in spacings: far below the resolution of interpolated f32 values.
const TOLERANCE: f64 = 1e-6;

/// Returns the ring difference of a plane of a scan whose segments have one each.
pub fn ring_difference(geometry: &ScanGeometry, plane: &Plane) -> i32 {
    geometry.segments[plane.segment].min_ring_difference
}

/// Largest |tangential index| and |ring difference| of a scan.
pub fn largest_indices(geometry: &ScanGeometry) -> [usize; 2] {
    let radial = |tangential_pos| geometry.tangential_index(tangential_pos).unsigned_abs();
    let differences = geometry.segments.iter().map(|segment| segment.min_ring_difference.unsigned_abs() as usize);
    [radial(0).max(radial(geometry.num_tangential - 1)), differences.max().unwrap_or(0)]
}

/// Checks that every bin has a tube.
///
/// # Errors
/// Tubes of another scanner, ring differences added together, tubes missing.
pub fn tubes_fit(geometry: &ScanGeometry, tubes: &TubeSet) -> Result<(), OperatorError> {
    if tubes.scanner != geometry.scanner {
        return Err(Misfit::OtherScanner { tubes: tubes.scanner.to_string(), data: geometry.scanner.to_string() }.into());
    }
    if geometry.segments.iter().any(|segment| segment.is_spanned()) {
        return Err(Misfit::Spanned.into());
    }
    let [radial, ring_difference] = largest_indices(geometry);
    let sampling = &tubes.sampling;
    if radial >= sampling.num_radial || ring_difference >= sampling.num_ring_differences {
        return Err(Misfit::Reach {
            scanner: tubes.scanner.to_string(),
            tubes: [sampling.num_radial - 1, sampling.num_ring_differences - 1],
            data: [radial, ring_difference],
        }
        .into());
    }
    Ok(())
}

/// Checks that the samples of all tubes of a view are on one lattice, whose rows along the axis are slices of the image.
///
/// # Errors
/// As [`tubes_fit`]; lines that are not rotated copies at whole distances across; slices that are not half a ring apart with one
/// in the middle of every ring; more samples along the axis than the kernels take.
pub fn lattice_fits(geometry: &ScanGeometry, grid: &Grid, tubes: &TubeSet, max_axial: usize) -> Result<(), OperatorError> {
    tubes_fit(geometry, tubes)?;
    let ([_, _, num_axial], [_, across_mm, axial_mm]) = (tubes.sampling.num, tubes.sampling.spacing_mm);
    if num_axial > max_axial {
        return Err(Misfit::AxialSamples { found: num_axial, most: max_axial }.into());
    }
    for tangential_pos in 0..geometry.num_tangential {
        let s_mm = geometry.tangential_index(tangential_pos) as f64 * across_mm;
        let first = geometry.transaxial_lor(0, tangential_pos, 0, 1);
        let length_mm = |start: [f64; 2], end: [f64; 2]| (end[0] - start[0]).hypot(end[1] - start[1]);
        for view in 0..geometry.num_views {
            let lor = geometry.transaxial_lor(view, tangential_pos, 0, 1);
            let (sin, cos) = geometry.phi_rad(view).sin_cos();
            let off = [s_mm * cos, s_mm * sin].into_iter().zip(lor.start.iter().zip(lor.end));
            let is_on_lattice =
                off.into_iter().all(|(at, (start, end))| (0.5 * (start + end) - at).abs() <= TOLERANCE * across_mm);
            let is_along = ((lor.end[0] - lor.start[0]) * cos + (lor.end[1] - lor.start[1]) * sin).abs() <= TOLERANCE * across_mm;
            let is_as_long = (length_mm(lor.start, lor.end) - length_mm(first.start, first.end)).abs() <= TOLERANCE * across_mm;
            if !(is_on_lattice && is_along && is_as_long) {
                return Err(Misfit::OffLattice { view, tangential_pos, across_mm }.into());
            }
        }
    }
    slices_fit(geometry, grid, axial_mm)
}

fn slices_fit(geometry: &ScanGeometry, grid: &Grid, axial_mm: f64) -> Result<(), OperatorError> {
    let (slice_mm, half_ring_mm, num_slices) = (grid.voxel_mm[2], 0.5 * geometry.ring_spacing_mm, grid.size[2] as f64);
    let end = 0.5 * (geometry.num_rings as f64 - 1.0) * geometry.ring_spacing_mm;
    let [first, last] = [-end, end].map(|z_mm| (z_mm - grid.origin_mm[2]) / slice_mm);
    let is_whole = |slice: f64| (slice - slice.round()).abs() <= TOLERANCE;
    if (slice_mm - half_ring_mm).abs() > TOLERANCE * slice_mm || !is_whole(first) {
        return Err(Misfit::Slices { half_ring_mm }.into());
    }
    if first.round() < 0.0 || last.round() >= num_slices {
        return Err(Misfit::FewSlices { found: grid.size[2], needed: 2 * geometry.num_rings - 1 }.into());
    }
    if (axial_mm - slice_mm).abs() > TOLERANCE * slice_mm {
        return Err(Misfit::AxialStep { tubes_mm: axial_mm, slices_mm: slice_mm }.into());
    }
    Ok(())
}
