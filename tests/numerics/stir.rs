//! Projections against those of STIR 6.5, an independent program, on its own images.

use std::sync::Arc;

use rayon::prelude::*;
use tomoscope::data::{Michelogram, Volume};
use tomoscope::geometry::Grid;
use tomoscope::io::{read_projections, read_volume};
use tomoscope::operator::{Accumulation, AxialRuns, Siddon, Subset};
use tomoscope::scanner::{Plane, ScanGeometry, TransaxialLor};

use super::data::data_file;
use super::support::{backward, fit, forward};

/// An image and its projection by STIR. STIR counts lengths in voxels of x: its projections are ours / voxel size.
fn case(image: &str, projection: &str) -> Option<(Volume, Michelogram)> {
    let [image, projection] = [image, projection].map(|name| data_file(&format!("stir/{name}")));
    let (image, _) = read_volume(&image?).unwrap();
    let (projection, _) = read_projections(&projection?).unwrap();
    Some((image, projection))
}

/// Radius of the cylinder that STIR projects: to the centre of the last voxel.
fn stir_radius_mm(grid: &Grid) -> f64 {
    let middle = grid.size[0] / 2;
    (grid.size[0] - 1 - middle).min(middle) as f64 * grid.voxel_mm[0]
}

/// Whether a voxel's centre lies within a distance of the axis.
fn inside(grid: &Grid, largest_mm: f64) -> impl Fn(usize) -> bool + use<> {
    let grid = grid.clone();
    let [nx, ny, _] = grid.size;
    move |voxel| {
        let [x, y, _] = grid.mm_from_voxel([(voxel % nx) as f64, (voxel / nx % ny) as f64, 0.0]);
        x.hypot(y) <= largest_mm
    }
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
    let inside = inside(&grid, radius - 2.0 * grid.voxel_mm[0]);
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

/// STIR's system matrix, line by line. What sets it apart from ours is the rim: it cuts each line at a cylinder through the
/// centre of the last voxel, yet gives the first and last voxel of the cut line their whole length.
struct StirMatrix<'a> {
    grid: &'a Grid,
    geometry: &'a ScanGeometry,
    siddon: Siddon,
    rays: [Vec<Plane>; 2],
}

impl<'a> StirMatrix<'a> {
    fn new(grid: &'a Grid, geometry: &'a Arc<ScanGeometry>) -> Self {
        let everything = grid.extent_mm(0)[1].hypot(grid.extent_mm(1)[1]) * 2.0;
        let siddon = Siddon::new(Arc::clone(geometry), grid.clone(), everything, [1, 1]);
        Self { grid, geometry, siddon, rays: [0, 1].map(|ray| geometry.ray_planes(ray, 2)) }
    }

    /// Calls `visit(voxel, element)` for the elements of a bin's row.
    fn row(&self, view: usize, tangential_pos: usize, plane: usize, mut visit: impl FnMut(usize, f64)) {
        let radius = stir_radius_mm(self.grid);
        let s = self.geometry.s_mm(tangential_pos);
        if s.abs() >= radius {
            return;
        }
        let lor = self.geometry.transaxial_lor(view, tangential_pos, 0, 1);
        let half_lor = 0.5 * (lor.end[0] - lor.start[0]).hypot(lor.end[1] - lor.start[1]);
        let half_cut = (radius * radius - s * s).sqrt();
        let [nx, ny, _] = self.grid.size;
        for planes in &self.rays {
            self.siddon.walk(&self.geometry.lor(lor, planes[plane]), |voxel, length| {
                let (from, to) = chord(&lor, self.grid, [voxel % nx, voxel / nx % ny]);
                // 1 µm: a voxel that the cut line only touches is not in it, nor one entered by rounding alone.
                if length > 1e-6 && to > half_lor - half_cut + 1e-3 && from < half_lor + half_cut - 1e-3 {
                    visit(voxel, 0.5 * length / self.grid.voxel_mm[0]);
                }
            });
        }
    }
}

/// With STIR's rule at the rim in place of our field of view, the plain projector gives STIR's numbers to the digits of
/// its float arithmetic, for every line: nothing else is different.
#[test]
fn the_rest_of_a_projection_is_the_rule_at_the_rim() {
    for (image, projection) in [("test_image_5.hv", "fwd_test5.hs"), ("ecat931/asym_even100.hv", "ecat931/fwd931.hs")] {
        let Some((image, theirs)) = case(image, projection) else { return };
        let geometry = &theirs.geometry;
        let matrix = StirMatrix::new(&image.grid, geometry);
        let mut pairs = Vec::new();
        for view in (0..geometry.num_views).step_by(7) {
            for tangential_pos in 0..geometry.num_tangential {
                let first = (view * geometry.num_tangential + tangential_pos) * geometry.num_planes();
                for plane in (0..geometry.num_planes()).step_by(3) {
                    let mut sum = 0.0;
                    matrix.row(view, tangential_pos, plane, |voxel, element| sum += element * f64::from(image.as_slice()[voxel]));
                    pairs.push((sum as f32, theirs.counts[first + plane]));
                }
            }
        }
        let (scale, error) = fit(pairs.into_iter());
        println!("{projection} with STIR's rim: scale {scale:.7}, relative difference {error:.2e}");
        assert!(error <= 1e-4 && (scale - 1.0).abs() <= 1e-4);
    }
}

/// The same for MLEM, by its first iteration from an image of ones. What is left even then comes from rim voxels that a
/// cut line enters exactly at an edge, where rounding decides: 0.15 % over all voxels, 0.01 % inside.
#[test]
fn the_rest_of_mlem_is_the_rule_at_the_rim() {
    let Some((theirs, measured)) = case("mlem_1.hv", "utahgeom_synth600k.hs") else { return };
    let geometry = &measured.geometry;
    let matrix = StirMatrix::new(&theirs.grid, geometry);
    let num_voxels = theirs.grid.num_voxels();
    let zeros = || (vec![0.0f64; num_voxels], vec![0.0f64; num_voxels]);
    let per_view = geometry.num_tangential * geometry.num_planes();
    let add_view = |(mut correction, mut sensitivity): (Vec<f64>, Vec<f64>), view: usize| {
        let mut row = Vec::new();
        for (bin, &counts) in measured.counts[view * per_view..][..per_view].iter().enumerate() {
            row.clear();
            matrix
                .row(view, bin / geometry.num_planes(), bin % geometry.num_planes(), |voxel, element| row.push((voxel, element)));
            let expected: f64 = row.iter().map(|(_, element)| element).sum();
            for &(voxel, element) in &row {
                correction[voxel] += element * f64::from(counts) / expected;
                sensitivity[voxel] += element;
            }
        }
        (correction, sensitivity)
    };
    let add = |mut a: (Vec<f64>, Vec<f64>), b: (Vec<f64>, Vec<f64>)| {
        a.0.iter_mut().zip(b.0).for_each(|(a, b)| *a += b);
        a.1.iter_mut().zip(b.1).for_each(|(a, b)| *a += b);
        a
    };
    let (correction, sensitivity) =
        (0..geometry.num_views).into_par_iter().with_min_len(24).fold(zeros, add_view).reduce(zeros, add);
    let ours: Vec<f32> = correction.iter().zip(&sensitivity).map(|(c, s)| if *s > 0.0 { (c / s) as f32 } else { 0.0 }).collect();
    let pairs = |largest_mm: f64| {
        let inside = inside(&theirs.grid, largest_mm);
        ours.iter().zip(theirs.as_slice()).enumerate().filter(move |(voxel, _)| inside(*voxel)).map(|(_, (a, b))| (*a, *b))
    };
    let (scale, error) = fit(pairs(f64::INFINITY));
    let (scale_inside, error_inside) = fit(pairs(stir_radius_mm(&theirs.grid) - 2.0 * theirs.grid.voxel_mm[0]));
    println!("mlem_1.hv with STIR's rim: scale {scale:.7}, relative difference {error:.2e}");
    println!("inside: scale {scale_inside:.7}, relative difference {error_inside:.2e}");
    assert!(error <= 3e-3 && (scale - 1.0).abs() <= 1e-4);
    assert!(error_inside <= 3e-4 && (scale_inside - 1.0).abs() <= 1e-4);
}
