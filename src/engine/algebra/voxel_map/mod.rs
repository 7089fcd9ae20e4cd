//! Sparse linear maps between the voxels of two spaces: the steps of resolution modelling and resampling.
//!
//! A [`VoxelMap`] is a table. A [`Backend`](super::Backend) brings it to its device and applies it. Each output is gathered, so
//! that no additions meet; the transpose is another table. The code here is the definition, and the CPU's.

mod along_axis;
mod band;
mod in_plane;
mod places;

pub use along_axis::AlongAxis;
pub use band::{Band, Varies};
pub use in_plane::InPlane;
pub use places::VoxelPlaces;

/// A sparse linear map between voxels.
#[derive(Clone, Debug)]
pub enum VoxelMap {
    /// Along one axis.
    AlongAxis(AlongAxis),
    /// In every transaxial plane.
    InPlane(InPlane),
}

impl VoxelMap {
    /// Returns where its inputs lie.
    pub fn from(&self) -> &VoxelPlaces {
        match self {
            VoxelMap::AlongAxis(map) => &map.from,
            VoxelMap::InPlane(map) => &map.places,
        }
    }

    /// Returns where its outputs lie.
    pub fn to(&self) -> &VoxelPlaces {
        match self {
            VoxelMap::AlongAxis(map) => &map.to,
            VoxelMap::InPlane(map) => &map.places,
        }
    }

    /// Returns the transposed map.
    pub fn transposed(&self) -> Self {
        match self {
            VoxelMap::AlongAxis(map) => VoxelMap::AlongAxis(map.transposed()),
            VoxelMap::InPlane(map) => VoxelMap::InPlane(map.transposed()),
        }
    }

    /// Returns the bytes of its tables.
    pub fn bytes(&self) -> u64 {
        match self {
            VoxelMap::AlongAxis(map) => map.band.bytes(),
            VoxelMap::InPlane(map) => map.bytes(),
        }
    }

    /// `out` = the map of x, on the CPU. Values of `out` that are no voxels stay.
    pub(super) fn apply(&self, x: &[f32], out: &mut [f32]) {
        match self {
            VoxelMap::AlongAxis(map) => map.apply(x, out),
            VoxelMap::InPlane(map) => map.apply(x, out),
        }
    }
}

/// `out` = Σ weight · values, over terms of the same length.
fn weighted_sum(out: &mut [f32], terms: &[(f32, &[f32])]) {
    /// Values whose sums stay in registers.
    const BLOCK: usize = 32;
    let mut at = 0;
    while at < out.len() {
        let len = BLOCK.min(out.len() - at);
        let mut sums = [0.0f32; BLOCK];
        for (weight, values) in terms {
            let values = &values[at..at + len];
            match <&[f32; BLOCK]>::try_from(values) {
                Ok(values) => sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += weight * value),
                Err(_) => sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += weight * value),
            }
        }
        out[at..at + len].copy_from_slice(&sums[..len]);
        at += len;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::algebra::{Columns, FieldOfView, Voxels};
    use crate::geometry::Grid;

    /// A map as a dense matrix between `[z, y, x]` volumes, from the plain sums of its tables.
    fn dense(map: &VoxelMap) -> Vec<Vec<f64>> {
        let [from, to] = [map.from(), map.to()];
        let index = |size: [usize; 3], [x, y, z]: [usize; 3]| (z * size[1] + y) * size[0] + x;
        let mut matrix = vec![vec![0.0; from.size.iter().product()]; to.size.iter().product()];
        for [x, y, z] in to.voxels() {
            let row = &mut matrix[index(to.size, [x, y, z])];
            match map {
                VoxelMap::AlongAxis(AlongAxis { axis, band, is_masked, .. }) => {
                    if *is_masked && !to.is_seen(x, y) {
                        continue;
                    }
                    let mut at = [x, y, z];
                    let output = at[*axis];
                    let (first, weights) = band.within(output, y * to.size[0] + x, from.size[*axis]);
                    for (k, weight) in weights.iter().enumerate() {
                        at[*axis] = first + k;
                        row[index(from.size, at)] += f64::from(*weight);
                    }
                }
                VoxelMap::InPlane(in_plane) => {
                    for (column, weight) in in_plane.row(y * to.size[0] + x) {
                        row[index(from.size, [column % to.size[0], column / to.size[0], z])] += f64::from(weight);
                    }
                }
            }
        }
        matrix
    }

    #[test]
    fn every_order_of_voxels_gives_the_sums_of_the_table_and_its_transpose() {
        let grid = Grid::centred([6, 5, 7], [2.0, 2.0, 3.0]).unwrap();
        let finer = Grid::centred([6, 5, 9], [2.0, 2.0, 2.4]).unwrap();
        let fov = |grid: &Grid| FieldOfView::new(grid, 4.6);
        let spaces = |grid: &Grid| {
            let columns = [
                Columns { classes: 2, lanes: 8, first: 1, tail: 5 },
                Columns { classes: 1, lanes: grid.size[2], first: 0, tail: 0 },
            ];
            let mut spaces = vec![Voxels::new(grid.clone(), fov(grid)), Voxels::in_quads(grid.clone(), fov(grid))];
            spaces.extend(columns.map(|columns| Voxels::in_columns(grid.clone(), fov(grid), columns)));
            spaces
        };
        let mut next = 1u32;
        let mut random = move || {
            next = next.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (next >> 16) as f32 / 65536.0
        };
        let mut maps = Vec::new();
        for from in spaces(&grid) {
            let from = Arc::new(from.places());
            for axis in 0..3 {
                let first = (0..grid.size[axis]).map(|i| i as i32 - 2).collect();
                let weights = (0..5 * grid.size[axis]).map(|_| random()).collect();
                let band = Band { first, width: 5, weights, varies: Varies::AlongIt };
                for is_masked in [false, true] {
                    let (to, band) = (Arc::clone(&from), band.clone());
                    maps.push(VoxelMap::AlongAxis(AlongAxis { axis, from: Arc::clone(&from), to, band, is_masked }));
                }
            }
            let uniform = Band::around(&[0.1, 0.2, 0.5, 0.3, 0.15], 7);
            let (of_all, to) = (Arc::clone(&from), Arc::clone(&from));
            maps.push(VoxelMap::AlongAxis(AlongAxis { axis: 2, from: of_all, to, band: uniform, is_masked: false }));
            let weights = (0..3 * 30).map(|_| random()).collect();
            let band = Band { first: (0..7).map(|z| z - 1).collect(), width: 3, weights, varies: Varies::Across };
            let (of_columns, to) = (Arc::clone(&from), Arc::clone(&from));
            maps.push(VoxelMap::AlongAxis(AlongAxis { axis: 2, from: of_columns, to, band, is_masked: true }));
            let entries =
                (0..30).map(|column| (0..column % 4).map(|k| ((7 * column + 11 * k) % 30, random())).collect()).collect();
            maps.push(VoxelMap::InPlane(InPlane::new(Arc::clone(&from), entries)));
            for to in spaces(&finer) {
                let first = vec![-1, 0, 0, 1, 2, 3, 5, 5, 6];
                let weights = (0..18).map(|_| random()).collect();
                let band = Band { first, width: 2, weights, varies: Varies::AlongIt };
                let (from, to) = (Arc::clone(&from), Arc::new(to.places()));
                maps.push(VoxelMap::AlongAxis(AlongAxis { axis: 2, from, to, band, is_masked: true }));
            }
        }
        for map in &maps {
            let transposed = map.transposed();
            let (expected, back) = (dense(map), dense(&transposed));
            let is_masked = matches!(map, VoxelMap::AlongAxis(map) if map.is_masked);
            for (to, row) in expected.iter().enumerate() {
                for (from, weight) in row.iter().enumerate() {
                    // (Both set their outputs outside the field of view to zero: images are zero there.)
                    let [nx, ny, _] = grid.size;
                    let is_seen = |voxel: usize| map.from().is_seen(voxel % nx, voxel / nx % ny);
                    if !is_masked || (is_seen(from) && is_seen(to)) {
                        assert_eq!(back[from][to], *weight, "{to} {from}");
                    }
                }
            }
            for (map, matrix) in [(map, &expected), (&transposed, &back)] {
                let [from, to] = [map.from(), map.to()];
                let volume: Vec<f32> = (0..from.size.iter().product()).map(|_| random()).collect();
                let mut x = vec![0.0; from.len];
                (0..volume.len()).for_each(|voxel| x[from.place(voxel)] = volume[voxel]);
                let mut out = vec![-7.0; to.len];
                map.apply(&x, &mut out);
                let mut is_voxel = vec![false; to.len];
                for (voxel, row) in matrix.iter().enumerate() {
                    let sum: f64 = row.iter().zip(&volume).map(|(weight, value)| weight * f64::from(*value)).sum();
                    let found = out[to.place(voxel)];
                    assert!((f64::from(found) - sum).abs() < 1e-5, "voxel {voxel}: {found} and {sum}\n{map:?}");
                    is_voxel[to.place(voxel)] = true;
                }
                let others = out.iter().zip(&is_voxel).filter(|(_, is_voxel)| !**is_voxel);
                assert!(others.clone().all(|(value, _)| *value == -7.0 || *value == 0.0), "values that are no voxels");
            }
        }
    }
}
