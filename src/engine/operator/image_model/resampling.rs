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

/// Iterations after which [`axial_ripple`] looks at the slices.
const RIPPLE_ITERATIONS: usize = 20;

/// Returns the largest deviation of a slice from 1 in the image of an object of 1 that is longer than the image: MLEM in one
/// dimension, with lines at all heights inside the image. A slice of the projector that is partly outside of the image lowers what
/// lines at the end of the image expect, and the outer slices make up for it.
pub fn axial_ripple([outer, inner]: [&Grid; 2]) -> f64 {
    let num = outer.size[2];
    let is_inside = |slice: i32| usize::try_from(slice).ok().filter(|slice| *slice < num);
    // For each slice of the projector its part inside the image, which is that of the lines through it, and the image's slices.
    let lines: Vec<(f64, Vec<(usize, f64)>)> = overlaps([outer, inner])
        .into_iter()
        .map(|(first, weights)| {
            let slices = weights.into_iter().zip(first..);
            let seen: Vec<(usize, f64)> = slices.filter_map(|(weight, slice)| Some((is_inside(slice)?, weight))).collect();
            (seen.iter().map(|(_, weight)| weight).sum(), seen)
        })
        .collect();
    let mut sensitivity = vec![0.0; num];
    for (part, seen) in &lines {
        seen.iter().for_each(|(slice, weight)| sensitivity[*slice] += part * weight);
    }
    let mut image = vec![1.0; num];
    for _ in 0..RIPPLE_ITERATIONS {
        let mut back = vec![0.0; num];
        for (part, seen) in lines.iter().filter(|(part, _)| *part > 0.0) {
            let expected: f64 = seen.iter().map(|(slice, weight)| weight * image[*slice]).sum();
            seen.iter().for_each(|(slice, weight)| back[*slice] += part * weight / expected);
        }
        image.iter_mut().zip(back.iter().zip(&sensitivity)).for_each(|(value, (back, sensitivity))| *value *= back / sensitivity);
    }
    image.iter().map(|value| (value - 1.0).abs()).fold(0.0, f64::max)
}

/// Returns for each slice of the second grid the first slice of the first grid that it meets, and the part of each in its mean.
fn overlaps([from, to]: [&Grid; 2]) -> Vec<(i32, Vec<f64>)> {
    let [outer_mm, inner_mm] = [from.voxel_mm[2], to.voxel_mm[2]];
    // Faces of the inner slices in outer ones.
    let face = |z: usize| (to.origin_mm[2] - 0.5 * inner_mm + z as f64 * inner_mm - from.origin_mm[2]) / outer_mm + 0.5;
    let row = |z: usize| {
        let [low, high] = [face(z), face(z + 1)];
        let first = low.floor();
        let slices = (0..).map(|k| first + f64::from(k)).take_while(|slice| *slice < high);
        (first as i32, slices.map(|slice| (high.min(slice + 1.0) - low.max(slice)) * outer_mm / inner_mm).collect())
    };
    (0..to.size[2]).map(row).collect()
}

/// Returns the step from one grid to the other.
pub(super) fn step([from, to]: [&Grid; 2], [from_places, to_places]: [&Arc<VoxelPlaces>; 2]) -> VoxelMap {
    let rows = overlaps([from, to]);
    let width = rows.iter().map(|(_, weights)| weights.len()).max().unwrap_or(1).max(1);
    let mut weights = vec![0.0; width * rows.len()];
    weights
        .chunks_mut(width)
        .zip(&rows)
        .for_each(|(to, (_, row))| to.iter_mut().zip(row).for_each(|(to, weight)| *to = *weight as f32));
    let band = Band { first: rows.iter().map(|(first, _)| *first).collect(), width, weights, varies: Varies::AlongIt };
    let [from, to] = [Arc::clone(from_places), Arc::clone(to_places)];
    VoxelMap::AlongAxis(AlongAxis { axis: 2, from, to, band, is_masked: false })
}
