//! Resampling along the axis, from the slices of an image to those that the projector axial-runs can have: the mean of the image
//! over each of them, R_ij = |slice i ∩ slice j| / height of i.

use std::sync::Arc;

use crate::algebra::{AlongAxis, Band, Varies, VoxelMap, VoxelPlaces};
use crate::geometry::Grid;
use crate::scanner::ScanGeometry;
use crate::statistics::FWHM_PER_SIGMA;

/// Returns the grid of the same extent whose height divides the distance of the planes by a power of two, for which GPUs have kernels,
/// and is neither coarser than that of `grid` nor than half that distance, with the fewest slices; `None` without planes. (With the whole
/// distance projections of the NEMA phantom are off by 2 %, with half of it by 0.6 to 1.2 %, with less of it by hardly less: a line that
/// stays in a plane meets one slice of the image or its neighbour.)
pub fn inner_grid(geometry: &ScanGeometry, grid: &Grid) -> Option<Grid> {
    let steps =
        geometry.segments.iter().filter(|segment| segment.num_axial_pos > 1).map(|segment| geometry.axial_sampling_mm(segment));
    let planes_mm = steps.fold(f64::INFINITY, f64::min);
    let ([nx, ny, nz], [dx, dy, dz]) = (grid.size, grid.voxel_mm);
    if !planes_mm.is_finite() {
        return None;
    }
    // (A quotient that is whole up to rounding must not cost slices.)
    let least = (planes_mm / dz.min(0.5 * planes_mm) * (1.0 - 1e-9)).ceil();
    let inner_mm = planes_mm / f64::exp2(least.log2().ceil());
    let num = (nz as f64 * dz / inner_mm * (1.0 - 1e-9)).ceil().max(1.0);
    let middle_mm = grid.origin_mm[2] + 0.5 * (nz as f64 - 1.0) * dz;
    let [x, y, _] = grid.origin_mm;
    Grid::new([nx, ny, num as usize], [dx, dy, inner_mm], [x, y, middle_mm - 0.5 * (num - 1.0) * inner_mm]).ok()
}

/// Returns the width of a Gaussian that blurs as much along the axis as slices of this height do.
pub fn resampling_fwhm_mm(inner_mm: f64) -> f64 {
    // The variance of a box.
    FWHM_PER_SIGMA * inner_mm / 12f64.sqrt()
}

/// Returns the step from one grid to the other.
pub(super) fn step([from, to]: [&Grid; 2], [from_places, to_places]: [&Arc<VoxelPlaces>; 2]) -> VoxelMap {
    let [outer_mm, inner_mm] = [from.voxel_mm[2], to.voxel_mm[2]];
    // Faces of the inner slices in outer ones.
    let face = |z: usize| (to.origin_mm[2] - 0.5 * inner_mm + z as f64 * inner_mm - from.origin_mm[2]) / outer_mm + 0.5;
    let rows = (0..to.size[2]).map(|z| {
        let [low, high] = [face(z), face(z + 1)];
        let first = low.floor();
        let weights: Vec<f32> = (0..)
            .map(|k| first + f64::from(k))
            .take_while(|slice| *slice < high)
            .map(|slice| ((high.min(slice + 1.0) - low.max(slice)) * outer_mm / inner_mm) as f32)
            .collect();
        (first as i32, weights)
    });
    let rows: Vec<(i32, Vec<f32>)> = rows.collect();
    let width = rows.iter().map(|(_, weights)| weights.len()).max().unwrap_or(1).max(1);
    let mut weights = vec![0.0; width * rows.len()];
    weights.chunks_mut(width).zip(&rows).for_each(|(to, (_, row))| to[..row.len()].copy_from_slice(row));
    let band = Band { first: rows.iter().map(|(first, _)| *first).collect(), width, weights, varies: Varies::AlongIt };
    let [from, to] = [Arc::clone(from_places), Arc::clone(to_places)];
    VoxelMap::AlongAxis(AlongAxis { axis: 2, from, to, band, is_masked: false })
}
