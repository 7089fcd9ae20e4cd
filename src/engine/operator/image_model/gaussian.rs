//! Resolution model: a Gaussian point spread function in the image (Reader et al. 2003, IEEE Trans Nucl Sci 50:1392).
//!
//! A Gaussian of one width is separable: along each axis g_k ∝ exp(−(k d)² / 2σ²), sampled at the middles of voxels of side
//! d, σ = FWHM / (2 √(2 ln 2)), to 4 σ, with Σ g_k = 1. The image is zero outside the field of view, without a renormalisation at
//! its border, so that G is symmetric. Sampled so, the width is that asked for to 1 % from 1.5 voxels on; below, the weights tend
//! to a single one.
//!
//! A Gaussian whose width depends on the distance from the axis belongs to the voxel that *emits*: an ellipse along the direction
//! away from the axis and across it, the same in all planes, times a Gaussian along the axis. Each column of G sums to 1, but for what
//! leaves the field of view; its transpose gathers with the same weights.

use std::sync::Arc;

use crate::algebra::{AlongAxis, Band, InPlane, Varies, VoxelMap, VoxelPlaces};
use crate::data::Psf;
use crate::geometry::Grid;
use crate::statistics::FWHM_PER_SIGMA;

/// Reach of the kernel in standard deviations.
const REACH_SIGMAS: f64 = 4.0;

/// Narrowest width that is modelled to 1 %, voxels.
const LEAST_VOXELS: f64 = 1.5;

/// Returns the weights of a Gaussian of this width, voxels, about the middle one.
fn sampled(fwhm: f64) -> Vec<f64> {
    let sigma = fwhm / FWHM_PER_SIGMA;
    let reach = (REACH_SIGMAS * sigma).ceil() as i32;
    // (Of a width of 0 the only weight.)
    let weights: Vec<f64> =
        (-reach..=reach).map(|k| if k == 0 { 1.0 } else { (-0.5 * (f64::from(k) / sigma).powi(2)).exp() }).collect();
    let sum: f64 = weights.iter().sum();
    weights.into_iter().map(|weight| weight / sum).collect()
}

/// Returns the width that a Gaussian has once it is sampled, from its variance, mm.
pub fn effective_fwhm_mm(fwhm_mm: f64, voxel_mm: f64) -> f64 {
    let weights = sampled(fwhm_mm / voxel_mm);
    let middle = (weights.len() / 2) as f64;
    let variance: f64 = weights.iter().enumerate().map(|(k, weight)| weight * (k as f64 - middle).powi(2)).sum();
    FWHM_PER_SIGMA * variance.sqrt() * voxel_mm
}

/// Returns true if a width is not modelled to 1 % with such voxels.
pub fn is_coarse(fwhm_mm: f64, voxel_mm: f64) -> bool {
    fwhm_mm > 0.0 && fwhm_mm < LEAST_VOXELS * voxel_mm * (1.0 - 1e-9)
}

/// Returns the steps of the model.
pub(super) fn steps(psf: &Psf, grid: &Grid, places: &Arc<VoxelPlaces>) -> Vec<VoxelMap> {
    match psf {
        Psf::Everywhere(fwhm_mm) => {
            let step = |axis: usize| {
                let weights: Vec<f32> =
                    sampled(fwhm_mm[axis] / grid.voxel_mm[axis]).iter().map(|weight| *weight as f32).collect();
                along(axis, places, Band::around(&weights, grid.size[axis]))
            };
            [2, 0, 1].into_iter().filter(|axis| fwhm_mm[*axis] > 0.0).map(step).collect()
        }
        Psf::ByRadius(_) => vec![axial(psf, grid, places), in_plane(psf, grid, places)],
    }
}

fn along(axis: usize, places: &Arc<VoxelPlaces>, band: Band) -> VoxelMap {
    VoxelMap::AlongAxis(AlongAxis { axis, from: Arc::clone(places), to: Arc::clone(places), band, is_masked: false })
}

/// Returns the distance of a column from the axis, and the direction away from it.
fn polar(grid: &Grid, [x, y]: [usize; 2]) -> (f64, [f64; 2]) {
    let [x_mm, y_mm, _] = grid.mm_from_voxel([x as f64, y as f64, 0.0]);
    let radius_mm = x_mm.hypot(y_mm);
    (radius_mm, if radius_mm > 0.0 { [x_mm / radius_mm, y_mm / radius_mm] } else { [1.0, 0.0] })
}

/// Along the axis, by the distance of each column.
fn axial(psf: &Psf, grid: &Grid, places: &Arc<VoxelPlaces>) -> VoxelMap {
    let [nx, ny, nz] = grid.size;
    let [_, widest_mm] = psf.widest_mm();
    let width = sampled(widest_mm / grid.voxel_mm[2]).len();
    let mut weights = vec![0.0; nx * ny * width];
    for (column, weights) in weights.chunks_mut(width).enumerate() {
        let (radius_mm, _) = polar(grid, [column % nx, column / nx]);
        let row = sampled(psf.at(radius_mm)[2] / grid.voxel_mm[2]);
        let start = (width - row.len()) / 2;
        weights[start..].iter_mut().zip(row).for_each(|(to, weight)| *to = weight as f32);
    }
    let reach = (width / 2) as i32;
    let first = (0..nz as i32).map(|z| z - reach).collect();
    along(2, places, Band { first, width, weights, varies: Varies::Across })
}

/// In the planes, from each column in the field of view to those about it.
fn in_plane(psf: &Psf, grid: &Grid, places: &Arc<VoxelPlaces>) -> VoxelMap {
    let [nx, ny, _] = grid.size;
    let [dx, dy, _] = grid.voxel_mm;
    let mut terms = vec![Vec::new(); nx * ny];
    for column in 0..nx * ny {
        let [x, y] = [column % nx, column / nx];
        if !places.is_seen(x, y) {
            continue;
        }
        let (radius_mm, [cos, sin]) = polar(grid, [x, y]);
        let [radial_mm, tangential_mm, _] = psf.at(radius_mm).map(|fwhm_mm| fwhm_mm / FWHM_PER_SIGMA);
        let reach_mm = REACH_SIGMAS * radial_mm.max(tangential_mm);
        let [reach_x, reach_y] = [dx, dy].map(|side_mm| (reach_mm / side_mm).ceil() as isize);
        // (Across a width of 0 lies nothing but the middle.)
        let square = |mm: f64, sigma_mm: f64| if mm == 0.0 { 0.0 } else { (mm / sigma_mm).powi(2) };
        let mut near = Vec::new();
        for (j, i) in (-reach_y..=reach_y).flat_map(|j| (-reach_x..=reach_x).map(move |i| (j, i))) {
            let [x_mm, y_mm] = [i as f64 * dx, j as f64 * dy];
            let squares = square(cos * x_mm + sin * y_mm, radial_mm) + square(cos * y_mm - sin * x_mm, tangential_mm);
            if squares <= REACH_SIGMAS * REACH_SIGMAS {
                near.push((x as isize + i, y as isize + j, (-0.5 * squares).exp()));
            }
        }
        let sum: f64 = near.iter().map(|(.., weight)| weight).sum();
        for (x, y, weight) in near {
            let is_there = (0..nx as isize).contains(&x) && (0..ny as isize).contains(&y);
            if is_there && places.is_seen(x as usize, y as usize) {
                terms[y as usize * nx + x as usize].push((column, (weight / sum) as f32));
            }
        }
    }
    VoxelMap::InPlane(InPlane::new(Arc::clone(places), terms))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sampled_gaussian_has_the_width_that_is_asked_for() {
        // Published weights: FWHM 4.5 mm, voxels of 2 mm, to 3 voxels (here to 4).
        let weights = sampled(4.5 / 2.0);
        let middle = weights.len() / 2;
        for (k, expected) in [0.417_582_62, 0.241_485_77, 0.046_702_38, 0.003_020_54].into_iter().enumerate() {
            assert!((weights[middle + k] - expected).abs() < 1e-4, "{k}: {}", weights[middle + k]);
            assert_eq!(weights[middle + k], weights[middle - k]);
        }
        for fwhm in [1.5, 1.7, 2.0, 3.0, 4.7, 10.0] {
            assert!((effective_fwhm_mm(2.0 * fwhm, 2.0) / (2.0 * fwhm) - 1.0).abs() < 0.01, "{fwhm}");
            assert!(!is_coarse(2.0 * fwhm, 2.0));
        }
        assert!(is_coarse(2.9, 2.0) && effective_fwhm_mm(1.0, 2.0) < 0.2);
        assert_eq!(sampled(0.0), [1.0]);
    }
}
