//! Blobs, polar voxels or cubes on a grid, ordered by the symmetries of a ring.

mod grid;
mod in_plane;

use std::f64::consts::TAU;

use rayon::prelude::*;

use super::{BackendError, Blob, Host, HostArray, Image, ImageSpace};
use crate::data::Volume;
use crate::geometry::{Grid, Point};
pub use grid::RingGrid;
use in_plane::Cell;

/// Functions in the cells.
#[derive(Clone, Debug, PartialEq)]
enum Function {
    /// A blob about the middle of each.
    Blobs(Blob),
    /// 1 inside the cell.
    Cells,
}

/// An image as a sum of functions, one for each cell of a grid.
#[derive(Clone, Debug)]
pub struct RingBasis {
    cells: RingGrid,
    function: Function,
    grid: Grid,
    /// For each (x, y) of the grid where its functions begin, and how many there are in all.
    first: Vec<usize>,
    /// Place in the plane's coefficients, and the square of the distance, mm².
    near: Vec<(u32, f32)>,
}

impl RingBasis {
    /// Blobs (Matej and Lewitt 1996) in the middles of polar cells; their sums are shown on `grid`.
    pub fn blobs(cells: RingGrid, grid: Grid) -> Self {
        let blob = Blob::for_spacing(cells.spacing_mm());
        Self::new(cells, Function::Blobs(blob), grid)
    }

    /// Makes the cells themselves.
    pub fn voxels(cells: RingGrid, grid: Grid) -> Self {
        Self::new(cells, Function::Cells, grid)
    }

    fn new(cells: RingGrid, function: Function, grid: Grid) -> Self {
        let [nx, ny, _] = grid.size;
        let (mut first, mut near) = (vec![0], Vec::new());
        for voxel in 0..nx * ny {
            let [x, y, _] = grid.mm_from_voxel([(voxel % nx) as f64, (voxel / nx) as f64, 0.0]);
            let entry = |(cell, square): (Cell, f64)| (cells.in_plane_offset(cell) as u32, square as f32);
            match &function {
                Function::Blobs(blob) => near.extend(cells.cells_near([x, y], blob.radius_mm()).map(entry)),
                Function::Cells => near.extend(cells.cell_of([x, y]).map(|cell| entry((cell, 0.0)))),
            }
            first.push(near.len());
        }
        Self { cells, function, grid, first, near }
    }

    /// Where the functions stand.
    pub fn cells(&self) -> &RingGrid {
        &self.cells
    }

    /// Returns, for each (x, y) of the grid, the index of its first function in the list that follows, and at last the length of
    /// the list: the place of each function in the coefficients of a slice, and the square of its distance, mm².
    pub fn near(&self) -> (&[usize], &[(u32, f32)]) {
        (&self.first, &self.near)
    }

    /// Returns the slices of functions near a slice of the grid: where their coefficients begin, and the square of the distance,
    /// mm².
    pub fn slices_of(&self, z: usize) -> impl Iterator<Item = (usize, f64)> + '_ {
        let z_mm = self.grid.mm_from_voxel([0.0, 0.0, z as f64])[2];
        let (near, of) = match &self.function {
            Function::Blobs(blob) => (Some(self.cells.slices_near(z_mm, blob.radius_mm())), None),
            Function::Cells => (None, self.cells.slice_of(z_mm).map(|slice| (slice, 0.0))),
        };
        near.into_iter().flatten().chain(of).map(|(slice, above)| (self.cells.slice_offset(slice), above))
    }

    /// Returns the function's values at evenly spaced squares of distances, and how many of them a mm² has; none where functions
    /// are cells.
    pub fn table(&self) -> (&[f32], f64) {
        match &self.function {
            Function::Blobs(blob) => (blob.table(), (blob.table().len() - 2) as f64 / (blob.radius_mm() * blob.radius_mm())),
            Function::Cells => (&[], 0.0),
        }
    }

    /// Returns the number of basic functions of the two central slices, which come first.
    pub fn num_central(&self) -> usize {
        self.cells.num_in_slice()
    }

    /// Returns the radius of a function that reaches beyond its cell, mm.
    pub fn reach_mm(&self) -> f64 {
        match &self.function {
            Function::Blobs(blob) => blob.radius_mm(),
            Function::Cells => 0.0,
        }
    }

    /// Calls `visit(index, value)` for every function that is not 0 at a point.
    pub fn at(&self, [x, y, z]: Point, mut visit: impl FnMut(usize, f64)) {
        match &self.function {
            Function::Blobs(blob) => {
                for (slice, above) in self.cells.slices_near(z, blob.radius_mm()) {
                    let reach_mm = (blob.radius_mm().powi(2) - above).max(0.0).sqrt();
                    for (cell, square) in self.cells.cells_near([x, y], reach_mm) {
                        let value = blob.at_square(square + above);
                        if value > 0.0 {
                            visit(self.cells.index(cell, slice), value);
                        }
                    }
                }
            }
            Function::Cells => {
                if let (Some(cell), Some(slice)) = (self.cells.cell_of([x, y]), self.cells.slice_of(z)) {
                    visit(self.cells.index(cell, slice), 1.0);
                }
            }
        }
    }

    /// Calls `visit(basic, symmetry, value)` for all basic functions that are not 0 at an image of a point under the symmetries
    /// of a ring of `num_turns` modules: g b is not 0 there, `symmetry` being the ring's number of g.
    ///
    /// Where the functions have fewer turns than the ring, the images of the point under the others are looked at one by one.
    pub fn at_images(&self, num_turns: usize, [x, y, z]: Point, mut visit: impl FnMut(usize, usize, f64)) {
        let (of_grid, num_symmetries) = (self.cells.num_turns(), self.cells.num_symmetries());
        for turn in 0..num_turns / of_grid {
            let (sin, cos) = (TAU * turn as f64 / num_turns as f64).sin_cos();
            self.at([x * cos - y * sin, x * sin + y * cos, z], |index, value| {
                let (basic, symmetry) = (index / num_symmetries, index % num_symmetries);
                // The function s b is not 0 at the point turned by t: t⁻¹ s b is not 0 at the point.
                let back = (symmetry % of_grid) * (num_turns / of_grid) + num_turns - turn;
                visit(basic, symmetry / of_grid * num_turns + back % num_turns, value);
            });
        }
    }

    /// Returns a function's value at the square of a distance, where it is near.
    #[inline]
    fn value(&self, square_mm2: f64) -> f64 {
        match &self.function {
            Function::Blobs(blob) => blob.at_square(square_mm2),
            Function::Cells => 1.0,
        }
    }

    /// Coefficient of an image that is 1 about a function: cells fill space, so that Σ_j (volume_j / ∫ψ) ψ(r − r_j) ≈ 1.
    fn unit(&self, index: usize) -> f64 {
        match &self.function {
            Function::Blobs(blob) => self.cells.volume_mm3(index) / blob.integral_mm3(),
            Function::Cells => 1.0,
        }
    }
}

impl ImageSpace<Host> for RingBasis {
    fn len(&self) -> usize {
        self.cells.len()
    }

    fn grid(&self) -> &Grid {
        &self.grid
    }

    /// Returns the value of the nearest voxel, times what makes functions with it add up to 1.
    fn coefficients(&self, volume: &Volume) -> Vec<f32> {
        let [nx, ny, nz] = self.grid.size;
        let unit: Vec<f64> = (0..self.cells.num_in_slice()).map(|cell| self.unit(cell * self.cells.num_symmetries())).collect();
        let of = |index: usize| {
            let at = self.grid.voxel_from_mm(self.cells.middle_mm(index));
            let [x, y, z] = [0, 1, 2].map(|a| at[a].round().clamp(0.0, ([nx, ny, nz][a] - 1) as f64) as usize);
            (f64::from(volume.values[[z, y, x]]) * unit[index / self.cells.num_symmetries() % unit.len()]) as f32
        };
        (0..self.cells.len()).into_par_iter().map(of).collect()
    }

    fn evaluated_len(&self) -> Option<usize> {
        Some(self.grid.num_voxels())
    }

    fn evaluate(&self, _: &mut Host, x: &HostArray<Image>, out: &mut HostArray<Image>) -> Result<(), BackendError> {
        let plane = self.first.len() - 1;
        out.values_mut().par_chunks_mut(plane).enumerate().for_each(|(z, out)| {
            out.fill(0.0);
            for (offset, above) in self.slices_of(z) {
                let x = &x[offset..];
                for (out, range) in out.iter_mut().zip(self.first.windows(2)) {
                    let of = |(at, square): &(u32, f32)| f64::from(x[*at as usize]) * self.value(f64::from(*square) + above);
                    *out += self.near[range[0]..range[1]].iter().map(of).sum::<f64>() as f32;
                }
            }
        });
        Ok(())
    }

    fn place(&self, voxel: usize) -> usize {
        voxel
    }

    fn write(&self, voxels: &[f32], scale: f32, volume: &mut Volume) {
        volume.as_mut_slice().iter_mut().zip(voxels).for_each(|(to, value)| *to = scale * value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algebra::Backend as _;
    use crate::geometry::Vector;

    fn madpet2() -> RingGrid {
        RingGrid::polar(18, 0.5, 35.5, 10.0)
    }

    fn distance(a: Point, b: Point) -> f64 {
        (Vector::from(a) - Vector::from(b)).norm()
    }

    #[test]
    fn the_grid_of_the_paper_has_its_numbers() {
        let grid = madpet2();
        assert_eq!((grid.num_basic(), grid.num_half_slices(), grid.num_in_slice(), grid.len()), (8740, 20, 437, 629_280));
        let volume: f64 = (0..grid.len()).map(|index| grid.volume_mm3(index)).sum();
        assert!((volume / (std::f64::consts::PI * 35.5f64.powi(2) * 20.0) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn cells_are_found_where_they_are() {
        for grid in [RingGrid::polar(18, 1.5, 10.0, 5.0), RingGrid::cubes(1.5, 9.0, 13.0, 5.0)] {
            for index in 0..grid.len() {
                let [x, y, z] = grid.middle_mm(index);
                let found = grid.cell_of([x, y]).zip(grid.slice_of(z));
                let found = found.map(|(cell, slice)| grid.index(cell, slice));
                assert_eq!(found, Some(index));
            }
        }
    }

    #[test]
    fn the_functions_at_a_point_are_those_whose_middles_are_near() {
        let grid = RingGrid::polar(18, 1.0, 8.0, 4.0);
        let shown = Grid::centred([4, 4, 4], [1.0; 3]).unwrap();
        let basis = RingBasis::blobs(grid.clone(), shown);
        let blob = Blob::for_spacing(1.0);
        for point in [[0.0, 0.0, 0.0], [0.2, -0.1, 3.9], [3.3, -5.5, 0.4], [-6.9, 0.01, -2.2], [-9.0, 0.3, -4.5], [1.0, 0.0, 0.5]]
        {
            let mut found: Vec<(usize, f64)> = Vec::new();
            basis.at(point, |index, value| found.push((index, value)));
            found.sort_by_key(|(index, _)| *index);
            let value = |index: usize| blob.at_square(distance(grid.middle_mm(index), point).powi(2));
            let expected: Vec<(usize, f64)> =
                (0..grid.len()).map(|index| (index, value(index))).filter(|(_, value)| *value > 0.0).collect();
            assert_eq!(found.len(), expected.len(), "{point:?}");
            for (found, expected) in found.iter().zip(&expected) {
                assert!(found.0 == expected.0 && (found.1 - expected.1).abs() < 1e-9, "{point:?}: {found:?} {expected:?}");
            }
        }
    }

    /// std / mean of a uniform image beyond 6 mm from the axis, from 3 to 6 mm, where a cell of the wedge is up to 1 mm wide (4.2
    /// %), and within.
    #[test]
    fn a_uniform_image_is_flat() {
        let basis = RingBasis::blobs(madpet2(), Grid::centred([142, 142, 40], [0.5; 3]).unwrap());
        let x: HostArray<Image> = basis.uniform().into();
        let mut out = Host.zeros(basis.evaluated_len().unwrap()).unwrap();
        basis.evaluate(&mut Host, &x, &mut out).unwrap();
        let mut values: [Vec<f64>; 3] = Default::default();
        for (voxel, value) in out.iter().enumerate() {
            let [x, y, z] = basis.grid.mm_from_voxel([voxel % 142, voxel / 142 % 142, voxel / 142 / 142].map(|i| i as f64));
            let radius_mm = x.hypot(y);
            if radius_mm < 34.0 && z.abs() < 8.5 {
                values[if radius_mm > 6.0 {
                    0
                } else if radius_mm > 3.0 {
                    1
                } else {
                    2
                }]
                .push(f64::from(*value));
            }
        }
        let [[mean, outer], [_, middle], [inner_mean, inner]] = values.map(|values| {
            let mean = values.iter().sum::<f64>() / values.len() as f64;
            [mean, (values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / values.len() as f64).sqrt() / mean]
        });
        println!("beyond 6 mm {outer:.4}, 3 to 6 mm {middle:.4}, within {inner:.4} of {inner_mean:.4}");
        assert!((mean - 1.0).abs() < 2e-3 && outer < 0.005 && middle < 0.045, "{mean} {outer} {middle}");
    }

    #[test]
    fn polar_voxels_show_the_cell_that_a_voxel_lies_in() {
        let basis = RingBasis::voxels(RingGrid::polar(18, 1.0, 8.0, 4.0), Grid::centred([15, 14, 7], [1.0; 3]).unwrap());
        let values: Vec<f32> = (0..basis.len()).map(|index| index as f32).collect();
        let mut out = Host.zeros(basis.evaluated_len().unwrap()).unwrap();
        basis.evaluate(&mut Host, &values.into(), &mut out).unwrap();
        for (voxel, value) in out.iter().enumerate() {
            let at = basis.grid.mm_from_voxel([voxel % 15, voxel / 15 % 14, voxel / 15 / 14].map(|i| i as f64));
            let mut expected = 0.0;
            basis.at(at, |index, _| expected = index as f32);
            assert_eq!(*value, expected);
        }
    }
}
