//! Projections against those of STIR 6.5, an independent program, on its own images.

use std::path::PathBuf;
use std::sync::Arc;

use tomoscope::data::{Michelogram, Volume};
use tomoscope::geometry::Grid;
use tomoscope::io::{read_projections, read_volume};
use tomoscope::operator::{Accumulation, AxialRuns, Siddon, Subset};
use tomoscope::scanner::TransaxialLor;

use super::support::{backward, fit, forward};

/// An image and its projection by STIR. STIR counts lengths in voxels of x: its projections are ours / voxel size.
fn case(image: &str, projection: &str) -> Option<(Volume, Michelogram)> {
    let Some(data) = std::env::var_os("TOMOSCOPE_DATA") else {
        println!("skipped: TOMOSCOPE_DATA is not set");
        return None;
    };
    let folder = PathBuf::from(data).join("stir");
    let (image, _) = read_volume(&folder.join(image)).unwrap();
    let (projection, _) = read_projections(&folder.join(projection)).unwrap();
    Some((image, projection))
}

/// Radius of the cylinder that STIR projects: to the centre of the last voxel.
fn stir_radius_mm(grid: &Grid) -> f64 {
    let middle = grid.size[0] / 2;
    (grid.size[0] - 1 - middle).min(middle) as f64 * grid.voxel_mm[0]
}

/// (Ours, STIR's) for all bins of the lines that stay `margin` voxels inside STIR's cylinder.
fn inner_bins<'a>(ours: &'a [f32], theirs: &'a Michelogram, grid: &Grid, margin: f64) -> impl Iterator<Item = (f32, f32)> + 'a {
    let geometry = &theirs.geometry;
    let largest = stir_radius_mm(grid) - margin * grid.voxel_mm[0];
    ours.chunks(geometry.num_planes())
        .zip(theirs.counts.chunks(geometry.num_planes()))
        .enumerate()
        .filter(move |(transaxial, _)| geometry.s_mm(transaxial % geometry.num_tangential).abs() <= largest)
        .flat_map(|(_, (ours, theirs))| ours.iter().copied().zip(theirs.iter().copied()))
}

fn compare_forward(image: &str, projection: &str) {
    let Some((image, theirs)) = case(image, projection) else { return };
    let geometry = Arc::clone(&theirs.geometry);
    let operator = AxialRuns::new(Arc::clone(&geometry), image.grid.clone(), stir_radius_mm(&image.grid), [1, 2]).unwrap();
    let ours = forward(&operator, Subset::ALL, &image);
    let (scale, error) = fit(inner_bins(&ours, &theirs, &image.grid, 2.0));
    println!("{projection}: scale × voxel {:.6}, relative difference {error:.2e}", scale * image.grid.voxel_mm[0]);
    assert!(error <= 0.005);
    assert!((scale * image.grid.voxel_mm[0] - 1.0).abs() <= 0.002);
}

#[test]
fn forward_of_an_odd_image_arc_corrected() {
    compare_forward("test_image_5.hv", "fwd_test5.hs");
}

#[test]
fn forward_of_an_even_image_not_arc_corrected() {
    compare_forward("ecat931/asym_even100.hv", "ecat931/fwd931.hs");
}

#[test]
fn back_of_an_even_image_not_arc_corrected() {
    let Some((theirs, projection)) = case("ecat931/bck931.hv", "ecat931/fwd931.hs") else { return };
    let grid = theirs.grid.clone();
    let radius = stir_radius_mm(&grid);
    let operator = AxialRuns::new(Arc::clone(&projection.geometry), grid.clone(), radius, [1, 2]).unwrap();
    let ours = backward(&operator, Subset::ALL, projection.counts.to_vec(), Accumulation::Deterministic, &grid);
    let inside = |index: usize| {
        let [nx, ny, _] = grid.size;
        let [x, y, _] = grid.mm_from_voxel([(index % nx) as f64, (index / nx % ny) as f64, 0.0]);
        x.hypot(y) <= radius - 2.0 * grid.voxel_mm[0]
    };
    let pairs = ours.as_slice().iter().zip(theirs.as_slice()).enumerate().filter(|(index, _)| inside(*index));
    let (scale, error) = fit(pairs.map(|(_, (a, b))| (*a, *b)));
    println!("back: scale × voxel {:.6}, relative difference {error:.2e}", scale * grid.voxel_mm[0]);
    assert!(error <= 0.005);
    assert!((scale * grid.voxel_mm[0] - 1.0).abs() <= 0.002);
}

/// Part of a line inside the square of a voxel column, in mm from the line's start.
#[allow(clippy::needless_range_loop)]
fn chord(lor: &TransaxialLor, grid: &Grid, column: [usize; 2]) -> (f64, f64) {
    let length = (lor.end[0] - lor.start[0]).hypot(lor.end[1] - lor.start[1]);
    let (mut from, mut to) = (0.0f64, length);
    for a in 0..2 {
        let direction = (lor.end[a] - lor.start[a]) / length;
        let low = grid.origin_mm[a] + (column[a] as f64 - 0.5) * grid.voxel_mm[a] - lor.start[a];
        let high = low + grid.voxel_mm[a];
        if direction.abs() > 1e-12 {
            from = from.max((low / direction).min(high / direction));
            to = to.min((low / direction).max(high / direction));
        }
    }
    (from, to)
}

/// What remains of the difference to STIR is its rim: it cuts each line at a cylinder through the centre of the last
/// voxel, yet gives the first and last voxel of the cut line their whole length. With that rule in place of our field of
/// view, the plain projector gives STIR's numbers to the digits of its float arithmetic, for every line.
#[test]
fn the_rest_is_the_rule_at_the_rim() {
    for (image, projection) in [("test_image_5.hv", "fwd_test5.hs"), ("ecat931/asym_even100.hv", "ecat931/fwd931.hs")] {
        let Some((image, theirs)) = case(image, projection) else { return };
        let (grid, geometry) = (&image.grid, &theirs.geometry);
        let radius = stir_radius_mm(grid);
        let siddon = Siddon::new(Arc::clone(geometry), grid.clone(), 2.0 * radius, [1, 1]);
        let rays: Vec<_> = (0..2).map(|ray| geometry.ray_planes(ray, 2)).collect();
        let [nx, ny, _] = grid.size;
        let mut pairs = Vec::new();
        for view in (0..geometry.num_views).step_by(7) {
            for tangential_pos in 0..geometry.num_tangential {
                let s = geometry.s_mm(tangential_pos);
                let lor = geometry.transaxial_lor(view, tangential_pos, 0, 1);
                let half_lor = 0.5 * (lor.end[0] - lor.start[0]).hypot(lor.end[1] - lor.start[1]);
                let half_cut = (radius * radius - s * s).max(0.0).sqrt();
                let first = (view * geometry.num_tangential + tangential_pos) * geometry.num_planes();
                for plane in (0..geometry.num_planes()).step_by(3) {
                    let mut sum = 0.0;
                    for planes in &rays {
                        siddon.walk(&geometry.lor(lor, planes[plane]), |voxel, length| {
                            let (from, to) = chord(&lor, grid, [voxel % nx, voxel / nx % ny]);
                            // 1 µm: a voxel that the cut line only touches is not in it.
                            if to > half_lor - half_cut + 1e-3 && from < half_lor + half_cut - 1e-3 {
                                sum += 0.5 * length * f64::from(image.as_slice()[voxel]);
                            }
                        });
                    }
                    let ours = if s.abs() < radius { sum / grid.voxel_mm[0] } else { 0.0 };
                    pairs.push((ours as f32, theirs.counts[first + plane]));
                }
            }
        }
        let (scale, error) = fit(pairs.into_iter());
        println!("{projection} with STIR's rim: scale {scale:.7}, relative difference {error:.2e}");
        assert!(error <= 1e-4 && (scale - 1.0).abs() <= 1e-4);
    }
}
