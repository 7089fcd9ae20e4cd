//! The plain Siddon sum of single bins. All its terms are ≥ 0, so that its rounding is relative to the bin itself, where that of
//! axial runs is relative to the largest row integral of the LOR.

use std::sync::Arc;

use super::tof::TofRuns;
use crate::algebra::Voxels;
use crate::geometry::Line;
use crate::operator::siddon::walk_parts;
use crate::scanner::{Plane, ScanGeometry};

/// Sums of single bins in f64, voxel by voxel along each ray: for bins in which the rounding of faster sums is too large.
pub struct PlainBins {
    geometry: Arc<ScanGeometry>,
    voxels: Voxels,
    /// For each axial ray of a bin, all planes.
    ray_planes: Vec<Vec<Plane>>,
    num_tangential_rays: usize,
    tof: Option<TofRuns>,
}

impl PlainBins {
    /// Makes the sums over images of `voxels`; `rays` = rays per LOR, tangential and axial.
    pub fn new(geometry: Arc<ScanGeometry>, voxels: Voxels, rays: [usize; 2]) -> Self {
        let [num_tangential_rays, num_axial_rays] = rays.map(|rays| rays.max(1));
        let ray_planes = (0..num_axial_rays).map(|ray| geometry.ray_planes(ray, num_axial_rays)).collect();
        Self { geometry, voxels, ray_planes, num_tangential_rays, tof: None }
    }

    /// The same with bins of the time of flight.
    pub fn with_tof(self, tof: TofRuns) -> Self {
        Self { tof: Some(tof), ..self }
    }

    /// Returns the bin (view, tangential position), plane, time-of-flight bin of an image array `x`, in the order of the voxels.
    pub fn sum(&self, [view, tangential_pos]: [usize; 2], plane: usize, tof: usize, x: &[f32]) -> f32 {
        let num_rays = self.num_tangential_rays;
        let weight = 1.0 / (num_rays * self.ray_planes.len()) as f64;
        let [nx, ny, _] = self.voxels.grid().size;
        let mut sum = 0.0f64;
        for ray in 0..num_rays {
            let transaxial = self.geometry.transaxial_lor(view, tangential_pos, ray, num_rays);
            for ray_planes in &self.ray_planes {
                let line = self.geometry.lor(transaxial, ray_planes[plane]);
                let weighted_mm = weight * line.length_mm();
                let mut pieces = Vec::new();
                walk_parts(&self.voxels, &line, |voxel, [from, to], share| {
                    let value = share * (to - from) * f64::from(x[self.voxels.place(voxel)]);
                    match &self.tof {
                        None => sum += weighted_mm * value,
                        Some(_) => pieces.push(Piece { column: voxel % (nx * ny), from, to, value }),
                    }
                });
                if let Some(runs) = &self.tof {
                    sum += weighted_mm * sum_of_pieces(runs, &pieces, &line, tof);
                }
            }
        }
        sum as f32
    }
}

/// A piece of a line, in one voxel: its ends in parts of the line's length.
struct Piece {
    column: usize,
    from: f64,
    to: f64,
    value: f64,
}

/// Sum of the pieces of a line in one bin of time of flight: those in one column have the weight of their middle.
fn sum_of_pieces(runs: &TofRuns, pieces: &[Piece], line: &Line, tof: usize) -> f64 {
    let [run_mm, rise_mm] = [line.end[0] - line.start[0], line.end[2] - line.start[2]];
    let lor_mm = run_mm.hypot(line.end[1] - line.start[1]);
    let steps = pieces.chunk_by(|one, next| one.column == next.column && one.to <= next.from);
    steps
        .map(|step| {
            let middle_mm = (0.5 * (step[0].from + step[step.len() - 1].to) - 0.5) * lor_mm;
            let value: f64 = step.iter().map(|piece| piece.value).sum();
            value * runs.weight(tof, middle_mm, rise_mm, lor_mm)
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algebra::{Columns, FieldOfView};
    use crate::data::Volume;
    use crate::scanner::find;

    /// Length of a line between two planes of each axis, mm.
    fn length_in_box(line: &Line, low: [f64; 3], high: [f64; 3]) -> f64 {
        let (mut enter, mut leave) = (0.0f64, 1.0f64);
        for a in 0..3 {
            let (start, along) = (line.start[a], line.end[a] - line.start[a]);
            if along != 0.0 {
                let [first, last] = [(low[a] - start) / along, (high[a] - start) / along];
                (enter, leave) = (enter.max(first.min(last)), leave.min(first.max(last)));
            } else if start < low[a] || start > high[a] {
                return 0.0;
            }
        }
        (leave - enter).max(0.0) * line.length_mm()
    }

    #[test]
    fn a_bin_of_an_image_of_ones_is_the_mean_length_of_its_rays_in_the_grid() {
        let geometry = Arc::new(find("small").unwrap().geometry.clone());
        let grid = geometry.default_grid().unwrap();
        let [low, high] = [-0.5, 0.5].map(|half| {
            std::array::from_fn(|a| {
                let ends = if half < 0.0 { 0.0 } else { grid.size[a] as f64 - 1.0 };
                grid.origin_mm[a] + (ends + half) * grid.voxel_mm[a]
            })
        });
        let columns = Columns { classes: 2, lanes: grid.size[2].div_ceil(2) + 1, first: 1, tail: 0 };
        let voxels = Voxels::in_columns(grid.clone(), FieldOfView::new(&grid, f64::INFINITY), columns);
        let x = voxels.coefficients(&Volume::filled(grid, 1.0));
        let rays = [2, 3];
        let mut num_crossing = 0;
        let bins = PlainBins::new(Arc::clone(&geometry), voxels, rays);
        for view in (0..geometry.num_views).step_by(5) {
            for tangential_pos in (1..geometry.num_tangential).step_by(7) {
                for plane in (0..geometry.num_planes()).step_by(11) {
                    let mut expected_mm = 0.0;
                    for ray in 0..rays[0] {
                        let transaxial = geometry.transaxial_lor(view, tangential_pos, ray, rays[0]);
                        for axial in 0..rays[1] {
                            let line = geometry.lor(transaxial, geometry.ray_planes(axial, rays[1])[plane]);
                            expected_mm += length_in_box(&line, low, high) / (rays[0] * rays[1]) as f64;
                        }
                    }
                    let found_mm = f64::from(bins.sum([view, tangential_pos], plane, 0, &x));
                    assert!((found_mm - expected_mm).abs() < 1e-5, "{view} {tangential_pos} {plane}: {found_mm}, {expected_mm}");
                    num_crossing += usize::from(expected_mm > 0.0);
                }
            }
        }
        assert!(num_crossing > 100, "{num_crossing}");
    }
}
