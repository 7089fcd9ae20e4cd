//! The voxels that a region covers, and sums over them.

use std::ops::RangeInclusive;
use std::sync::Arc;

use super::figure::{Body, Figure, Turn};
use super::roi::Roi;
use super::voxels::{Overlaps, Voxels};
use crate::geometry::Grid;

/// The voxels of a ROI on one grid, with the fraction of each that lies inside. Clones share them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RoiMask {
    /// Voxel index in a `[z, y, x]` volume and weight in (0, 1].
    pub voxels: Arc<[(u32, f32)]>,
}

/// Weighted sums over a ROI: all that its statistics need.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct RoiSums {
    /// Σ w.
    pub weight: f64,
    /// Σ w v.
    pub sum: f64,
    /// Σ w v².
    pub sum_of_squares: f64,
    /// Smallest value of any voxel in it.
    pub min: f32,
    /// Largest value of any voxel in it.
    pub max: f32,
    /// Number of voxels touched.
    pub num_voxels: usize,
}

impl RoiSums {
    /// Sums over no voxel.
    pub const NONE: Self =
        Self { weight: 0.0, sum: 0.0, sum_of_squares: 0.0, min: f32::INFINITY, max: f32::NEG_INFINITY, num_voxels: 0 };
}

/// Adds a part of a region.
impl std::ops::AddAssign for RoiSums {
    fn add_assign(&mut self, part: Self) {
        self.weight += part.weight;
        self.sum += part.sum;
        self.sum_of_squares += part.sum_of_squares;
        self.min = self.min.min(part.min);
        self.max = self.max.max(part.max);
        self.num_voxels += part.num_voxels;
    }
}

/// Points per voxel side at which a shape is sampled for the inside fraction of an edge voxel.
const SUBSAMPLES: usize = 8;

impl Roi {
    /// Returns the voxels of `grid` that the ROI covers. Empty where it lies outside the grid.
    pub fn mask(&self, grid: &Grid) -> RoiMask {
        let mut voxels = match self.body() {
            Body::Prism { figure, plane, thickness_mm } => {
                let (axes, normal) = plane.axes();
                self.prism(grid, &figure, (axes, normal), &self.slices(grid, normal, thickness_mm))
            }
            Body::Ellipsoid { half_mm, plane } => self.ellipsoid(grid, half_mm, plane.axes()),
            Body::Voxels(voxels) => self.covered(grid, voxels),
        };
        // Sums go through the image as it lies in memory.
        voxels.sort_unstable_by_key(|(index, _)| *index);
        RoiMask { voxels: voxels.into() }
    }

    /// Returns the part of the ROI that lies in a grid, 0 … 1. Nothing lies beyond an axis of one voxel.
    pub fn part_inside(&self, grid: &Grid) -> f64 {
        let mut wide = grid.clone();
        for axis in (0..3).filter(|&axis| grid.size[axis] > 1) {
            wide.origin_mm[axis] -= grid.size[axis] as f64 * grid.voxel_mm[axis];
            wide.size[axis] *= 3;
        }
        let [inside, whole] =
            [grid, &wide].map(|grid| self.mask(grid).voxels.iter().map(|(_, weight)| f64::from(*weight)).sum::<f64>());
        if whole > 0.0 { (inside / whole).min(1.0) } else { 0.0 }
    }

    /// The voxels of a figure that is in some slices with a part of each.
    fn prism(
        &self,
        grid: &Grid,
        figure: &Figure,
        (axes, normal): ([usize; 2], usize),
        slices: &[(usize, f64)],
    ) -> Vec<(u32, f32)> {
        let turn = self.turn();
        let [low, high] = figure.bounds(turn);
        let [Some(range_a), Some(range_b)] = [0, 1].map(|k| self.range(grid, axes[k], [low[k], high[k]])) else {
            return Vec::new();
        };
        let mut voxels = Vec::new();
        for b in range_b {
            for a in range_a.clone() {
                let mut voxel = [0; 3];
                (voxel[axes[0]], voxel[axes[1]]) = (a, b);
                let centre = grid.mm_from_voxel(voxel.map(|i| i as f64));
                let offset = axes.map(|axis| centre[axis] - self.centre_mm[axis]);
                let fraction = fraction_of_area(figure, turn, offset, axes.map(|axis| grid.voxel_mm[axis]));
                if fraction > 0.0 {
                    for &(slice, part) in slices {
                        voxel[normal] = slice;
                        voxels.push((index(grid, voxel), (fraction * part) as f32));
                    }
                }
            }
        }
        voxels
    }

    /// Returns the slices that a flat shape is in, and which part of each.
    fn slices(&self, grid: &Grid, normal: usize, thickness_mm: Option<f64>) -> Vec<(usize, f64)> {
        let half = 0.5 * thickness_mm.unwrap_or(0.0);
        let Some(range) = self.range(grid, normal, [-half, half]) else { return Vec::new() };
        let part = |slice: usize| {
            if thickness_mm.is_none() {
                return 1.0;
            }
            let distance = grid.origin_mm[normal] + slice as f64 * grid.voxel_mm[normal] - self.centre_mm[normal];
            let half_slice = 0.5 * grid.voxel_mm[normal];
            let overlap = (distance + half_slice).min(half) - (distance - half_slice).max(-half);
            overlap / grid.voxel_mm[normal]
        };
        range.map(|slice| (slice, part(slice))).filter(|(_, part)| *part > 0.0).collect()
    }

    /// Returns the voxels of an ellipsoid.
    fn ellipsoid(&self, grid: &Grid, half_mm: [f64; 3], ([a, b], normal): ([usize; 2], usize)) -> Vec<(u32, f32)> {
        let turn = self.turn();
        let [low, high] = Figure::Ellipse([half_mm[a], half_mm[b]]).bounds(turn);
        let bounds = |axis: usize| match axis {
            _ if axis == a => [low[0], high[0]],
            _ if axis == b => [low[1], high[1]],
            _ => [-half_mm[axis], half_mm[axis]],
        };
        let contains =
            |u: f64, v: f64, w: f64| (u / half_mm[a]).powi(2) + (v / half_mm[b]).powi(2) + (w / half_mm[normal]).powi(2) <= 1.0;
        let [du, dv] = turn.around([0.5 * grid.voxel_mm[a], 0.5 * grid.voxel_mm[b]]);
        let dw = 0.5 * grid.voxel_mm[normal];
        let fraction = |offset: [f64; 3]| {
            let [u, v] = turn.inverted([offset[a], offset[b]]);
            let w = offset[normal];
            // Convex and symmetric about its planes: the nearest and the farthest point of a box around the voxel decide.
            if !contains((u.abs() - du).max(0.0), (v.abs() - dv).max(0.0), (w.abs() - dw).max(0.0)) {
                return 0.0;
            }
            if contains(u.abs() + du, v.abs() + dv, w.abs() + dw) {
                return 1.0;
            }
            let mut inside = 0usize;
            for j in samples(offset[b], grid.voxel_mm[b]) {
                for i in samples(offset[a], grid.voxel_mm[a]) {
                    let [u, v] = turn.inverted([i, j]);
                    inside += samples(w, grid.voxel_mm[normal]).filter(|w| contains(u, v, *w)).count();
                }
            }
            inside as f64 / SUBSAMPLES.pow(3) as f64
        };
        self.solid(grid, bounds, fraction)
    }

    /// Returns the voxels of a body with these bounds about the centre, mm, from the fraction of a voxel with a given centre.
    fn solid(&self, grid: &Grid, bounds: impl Fn(usize) -> [f64; 2], fraction: impl Fn([f64; 3]) -> f64) -> Vec<(u32, f32)> {
        let [Some(range_x), Some(range_y), Some(range_z)] = [0, 1, 2].map(|a| self.range(grid, a, bounds(a))) else {
            return Vec::new();
        };
        let mut voxels = Vec::new();
        for z in range_z {
            for y in range_y.clone() {
                for x in range_x.clone() {
                    let centre = grid.mm_from_voxel([x, y, z].map(|i| i as f64));
                    let weight = fraction(std::array::from_fn(|a| centre[a] - self.centre_mm[a]));
                    if weight > 0.0 {
                        voxels.push((index(grid, [x, y, z]), weight as f32));
                    }
                }
            }
        }
        voxels
    }

    /// Returns the voxels that voxels of another grid cover.
    fn covered(&self, grid: &Grid, voxels: &Voxels) -> Vec<(u32, f32)> {
        // The overlaps along an axis are the same at all positions along the others.
        let [x, y, z] = [0, 1, 2].map(|axis| {
            let range = self.range(grid, axis, voxels.grid().extent_mm(axis)).into_iter().flatten();
            let centre = |at: usize| grid.origin_mm[axis] + at as f64 * grid.voxel_mm[axis] - self.centre_mm[axis];
            let overlaps = |at: usize| (at, voxels.overlaps(axis, centre(at), 0.5 * grid.voxel_mm[axis]));
            range.map(overlaps).collect::<Vec<(usize, Overlaps)>>()
        });
        let mut covered = Vec::new();
        for (k, in_z) in &z {
            for (j, in_y) in &y {
                for (i, in_x) in &x {
                    let part = voxels.part_inside([in_x, in_y, in_z]);
                    if part > 0.0 {
                        covered.push((index(grid, [*i, *j, *k]), part as f32));
                    }
                }
            }
        }
        covered
    }

    /// Returns the voxels along an axis that bounds about the centre, mm, reach; `None` where they lie outside the grid.
    fn range(&self, grid: &Grid, axis: usize, [low, high]: [f64; 2]) -> Option<RangeInclusive<usize>> {
        let centre = grid.voxel_from_mm(self.centre_mm)[axis];
        let [from, to] = [low, high].map(|end| (centre + end / grid.voxel_mm[axis]).round());
        let last = grid.size[axis] as f64 - 1.0;
        // NaN is not inside.
        let meets = from.is_finite() && to.is_finite() && to >= 0.0 && from <= last;
        meets.then(|| from.max(0.0) as usize..=to.min(last) as usize)
    }
}

/// Returns the place of a voxel `[x, y, z]` in a `[z, y, x]` volume.
fn index(grid: &Grid, [x, y, z]: [usize; 3]) -> u32 {
    ((z * grid.size[1] + y) * grid.size[0] + x) as u32
}

/// Returns the places along a side of a voxel at which a shape is sampled.
fn samples(centre: f64, side_mm: f64) -> impl Iterator<Item = f64> {
    (0..SUBSAMPLES).map(move |k| centre + side_mm * ((k as f64 + 0.5) / SUBSAMPLES as f64 - 0.5))
}

/// Returns the fraction of a voxel's face, of these sides and with its centre there, that lies in a turned figure.
fn fraction_of_area(figure: &Figure, turn: Turn, centre: [f64; 2], sides_mm: [f64; 2]) -> f64 {
    if let Some(is_inside) = figure.contains_rectangle(turn.inverted(centre), turn.around(sides_mm.map(|side| 0.5 * side))) {
        return f64::from(u8::from(is_inside));
    }
    let mut inside = 0usize;
    for v in samples(centre[1], sides_mm[1]) {
        inside += samples(centre[0], sides_mm[0]).filter(|u| figure.contains(turn.inverted([*u, v]))).count();
    }
    inside as f64 / SUBSAMPLES.pow(2) as f64
}

impl RoiMask {
    /// Returns the weighted sums of a volume's values (`[z, y, x]` order).
    pub fn sums(&self, values: &[f32]) -> RoiSums {
        self.sums_with(|voxel| values.get(voxel).copied())
    }

    /// Returns the weighted sums of the values that `value` gives for voxel indices of a `[z, y, x]` volume; voxels without one
    /// are left out.
    pub fn sums_with(&self, value: impl Fn(usize) -> Option<f32>) -> RoiSums {
        let mut sums = RoiSums { num_voxels: self.voxels.len(), ..RoiSums::NONE };
        for &(index, weight) in self.voxels.iter() {
            let Some(value) = value(index as usize) else { continue };
            let (w, v) = (f64::from(weight), f64::from(value));
            sums.weight += w;
            sums.sum += w * v;
            sums.sum_of_squares += w * v * v;
            sums.min = sums.min.min(value);
            sums.max = sums.max.max(value);
        }
        sums
    }
}
#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::data::rois::shape::{RoiPlane, RoiShape};

    /// All points of all voxels, without the short way for those wholly inside or outside.
    #[test]
    fn voxels_wholly_inside_or_outside_need_no_points() {
        let grid = Grid::centred([24, 22, 20], [1.3, 1.7, 2.1]).unwrap();
        let plane = RoiPlane::Coronal;
        let points_mm: Arc<[[f64; 2]]> = [[-8.0, -6.0], [9.0, -7.0], [2.0, 1.0], [7.0, 9.0], [-5.0, 6.0]].into();
        let figures = [
            RoiShape::Circle { radius_mm: 7.1, plane },
            RoiShape::Ellipse { size_mm: [15.0, 9.0], plane },
            RoiShape::Rectangle { size_mm: [9.0, 11.5], plane },
            RoiShape::Polygon { points_mm, plane },
        ];
        for (shape, angle_deg) in figures.into_iter().flat_map(|shape| [(shape.clone(), 0.0), (shape, 33.0)]) {
            let roi = Roi { angle_deg, ..Roi::new("", shape, [1.1, -0.7, 0.4]) };
            let mask = roi.mask(&grid);
            let Body::Prism { figure, .. } = roi.body() else { panic!("not flat") };
            let turn = roi.turn();
            for (z, x) in (0..20).flat_map(|z| (0..24).map(move |x| (z, x))) {
                let centre = grid.mm_from_voxel([x as f64, 0.0, z as f64]);
                let offset = [centre[0] - 1.1, centre[2] - 0.4];
                let inside = samples(offset[1], 2.1)
                    .flat_map(|v| samples(offset[0], 1.3).map(move |u| [u, v]))
                    .filter(|point| figure.contains(turn.inverted(*point)))
                    .count();
                let at = index(&grid, [x, 10, z]);
                let weight = mask.voxels.iter().find(|(voxel, _)| *voxel == at).map_or(0.0, |(_, weight)| *weight);
                assert_eq!(weight, inside as f32 / 64.0, "{:?} turned by {angle_deg} at {x}, {z}", roi.shape);
            }
            assert!(mask.voxels.iter().all(|(voxel, _)| voxel / 24 % 22 == 10), "only the nearest slice");
        }
    }

    #[test]
    fn a_ball_needs_no_points_where_it_is_whole() {
        let grid = Grid::centred([24, 22, 20], [1.3, 1.7, 2.1]).unwrap();
        let plane = RoiPlane::Sagittal;
        for shape in [RoiShape::Sphere { radius_mm: 8.3 }, RoiShape::Ellipsoid { size_mm: [15.0, 8.0, 19.0], plane }] {
            let roi = Roi { angle_deg: 40.0, ..Roi::new("", shape, [1.1, -0.7, 0.4]) };
            let mask = roi.mask(&grid);
            let Body::Ellipsoid { half_mm, .. } = roi.body() else { panic!("no ellipsoid") };
            let contains = |[x, y, z]: [f64; 3]| {
                let [v, w] = if roi.shape.can_turn() { roi.turned_back([y, z]) } else { [y, z] };
                [x, v, w].iter().zip(half_mm).map(|(p, half)| (p / half).powi(2)).sum::<f64>() <= 1.0
            };
            for at in 0..24 * 22 * 20 {
                let centre = grid.mm_from_voxel([at % 24, at / 24 % 22, at / 528].map(f64::from));
                let mut inside = 0;
                for z in samples(centre[2] - 0.4, 2.1) {
                    for y in samples(centre[1] + 0.7, 1.7) {
                        inside += samples(centre[0] - 1.1, 1.3).filter(|x| contains([*x, y, z])).count();
                    }
                }
                let weight = mask.voxels.iter().find(|(voxel, _)| *voxel == at).map_or(0.0, |(_, weight)| *weight);
                assert!((weight - inside as f32 / 512.0).abs() < 0.004, "{:?} at {at}: {weight} {inside}", roi.shape);
            }
        }
    }
}
