//! Blobs or polar voxels on a polar grid, ordered by the symmetries of a ring.

use std::f64::consts::{PI, TAU};
use std::ops::Range;

use rayon::prelude::*;

use super::{BackendError, Blob, Host, HostArray, Image, ImageSpace};
use crate::data::Volume;
use crate::geometry::{Grid, Point};

/// A polar grid that turns by 2π / `num_turns`, the mirror y → −y and the mirror z → −z carry into itself: rings of width Δ, cut
/// into cells, in slices of height Δ. The cells of one wedge (half a turn, the upper half of the slices) are *basic*; the others are
/// their images under the symmetries, which first mirror, then flip, then turn.
///
/// Ring k of the wedge has max(1, round(inner arc / Δ)) cells.
#[derive(Clone, Debug, PartialEq)]
pub struct PolarGrid {
    num_turns: usize,
    spacing_mm: f64,
    num_half_slices: usize,
    /// Cells of each ring of the wedge.
    num_cells: Vec<usize>,
    /// The first cell of each ring, and how many there are in all.
    first: Vec<usize>,
}

/// A cell of the grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cell {
    /// Number in the wedge's slice.
    in_slice: usize,
    /// Number of the symmetry that keeps the slice: `[mirrored][turn]`.
    transaxial: usize,
}

/// A slice of the grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Slice {
    /// Number among those of the upper half.
    number: usize,
    is_flipped: bool,
}

impl PolarGrid {
    /// The grid of cells about `spacing_mm` wide in a cylinder.
    pub fn new(num_turns: usize, spacing_mm: f64, radius_mm: f64, half_length_mm: f64) -> Self {
        let count = |length_mm: f64| (length_mm / spacing_mm - 1e-9).ceil().max(1.0) as usize;
        let wedge_rad = PI / num_turns as f64;
        let cells = |ring: usize| ((ring as f64 * wedge_rad).round() as usize).max(1);
        let num_cells: Vec<usize> = (0..count(radius_mm)).map(cells).collect();
        let mut first = vec![0];
        num_cells.iter().for_each(|num| first.push(first[first.len() - 1] + num));
        Self { num_turns, spacing_mm, num_half_slices: count(half_length_mm), num_cells, first }
    }

    /// Δ, mm.
    pub fn spacing_mm(&self) -> f64 {
        self.spacing_mm
    }

    /// Number of basic cells.
    pub fn num_basic(&self) -> usize {
        self.num_half_slices * self.num_in_slice()
    }

    /// Number of symmetries.
    pub fn num_symmetries(&self) -> usize {
        4 * self.num_turns
    }

    /// Number of cells: `[basic][symmetry]`, symmetries as a ring numbers them, `[flipped][mirrored][turn]`.
    pub fn len(&self) -> usize {
        self.num_basic() * self.num_symmetries()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of slices above the middle.
    pub fn num_half_slices(&self) -> usize {
        self.num_half_slices
    }

    /// Cells of each ring of the wedge.
    pub fn cells_of_rings(&self) -> &[usize] {
        &self.num_cells
    }

    /// The first cell of each ring in the wedge's slice, and how many there are in all.
    pub fn first_cells(&self) -> &[usize] {
        &self.first
    }

    /// Outer radius and half the length, mm.
    pub fn extent_mm(&self) -> [f64; 2] {
        [self.num_cells.len(), self.num_half_slices].map(|num| num as f64 * self.spacing_mm)
    }

    /// Number of basic cells in a slice.
    pub fn num_in_slice(&self) -> usize {
        self.first[self.num_cells.len()]
    }

    /// The number of a cell.
    fn index(&self, cell: Cell, slice: Slice) -> usize {
        self.in_plane_offset(cell) + self.slice_offset(slice)
    }

    fn in_plane_offset(&self, cell: Cell) -> usize {
        cell.in_slice * self.num_symmetries() + cell.transaxial
    }

    fn slice_offset(&self, slice: Slice) -> usize {
        let flipped = if slice.is_flipped { 2 * self.num_turns } else { 0 };
        slice.number * self.num_in_slice() * self.num_symmetries() + flipped
    }

    /// Middle of the basic cell of this number, mm.
    fn basic_middle_mm(&self, basic: usize) -> [f64; 3] {
        let (slice, in_slice) = (basic / self.num_in_slice(), basic % self.num_in_slice());
        let ring = self.first.partition_point(|first| *first <= in_slice) - 1;
        let radius_mm = (ring as f64 + 0.5) * self.spacing_mm;
        let angle_rad = ((in_slice - self.first[ring]) as f64 + 0.5) * self.cell_angle_rad(ring);
        [radius_mm * angle_rad.cos(), radius_mm * angle_rad.sin(), (slice as f64 + 0.5) * self.spacing_mm]
    }

    /// Middle of a cell, mm.
    pub fn middle_mm(&self, index: usize) -> [f64; 3] {
        let (basic, symmetry) = (index / self.num_symmetries(), index % self.num_symmetries());
        let [x, y, z] = self.basic_middle_mm(basic);
        let (turn, rest) = (symmetry % self.num_turns, symmetry / self.num_turns);
        let (y, z) = (if rest % 2 == 1 { -y } else { y }, if rest / 2 == 1 { -z } else { z });
        let (sin, cos) = (TAU * turn as f64 / self.num_turns as f64).sin_cos();
        [x * cos - y * sin, x * sin + y * cos, z]
    }

    /// Volume of a cell, mm³.
    pub fn volume_mm3(&self, index: usize) -> f64 {
        let in_slice = index / self.num_symmetries() % self.num_in_slice();
        let ring = self.first.partition_point(|first| *first <= in_slice) - 1;
        let square = (2 * ring + 1) as f64 * self.spacing_mm.powi(2);
        0.5 * self.cell_angle_rad(ring) * square * self.spacing_mm
    }

    fn cell_angle_rad(&self, ring: usize) -> f64 {
        PI / (self.num_turns * self.num_cells[ring]) as f64
    }

    /// The cell of a ring that begins `number` cell angles from the x axis, all the way round.
    fn cell(&self, ring: usize, number: i64) -> Cell {
        let num = self.num_cells[ring];
        let number = number.rem_euclid((2 * self.num_turns * num) as i64) as usize;
        let (half_turn, at) = (number / num, number % num);
        let is_mirrored = half_turn % 2 == 1;
        let turn = half_turn.div_ceil(2) % self.num_turns;
        let at = if is_mirrored { num - 1 - at } else { at };
        Cell { in_slice: self.first[ring] + at, transaxial: usize::from(is_mirrored) * self.num_turns + turn }
    }

    /// The slice of this number from the lowest.
    fn slice(&self, number: usize) -> Slice {
        let half = self.num_half_slices;
        if number < half {
            Slice { number: half - 1 - number, is_flipped: true }
        } else {
            Slice { number: number - half, is_flipped: false }
        }
    }

    /// The slices whose middles are closer than `reach_mm` to a height, each with the square of its distance, mm².
    fn slices_near(&self, z_mm: f64, reach_mm: f64) -> impl Iterator<Item = (Slice, f64)> + '_ {
        let place = |mm: f64| mm / self.spacing_mm + self.num_half_slices as f64 - 0.5;
        let last = place(z_mm + reach_mm).floor().min(2.0 * self.num_half_slices as f64 - 1.0);
        let first = place(z_mm - reach_mm).ceil().max(0.0);
        let numbers: Range<usize> = if last < first { 0..0 } else { first as usize..last as usize + 1 };
        numbers.map(move |number| {
            let middle_mm = (number as f64 + 0.5 - self.num_half_slices as f64) * self.spacing_mm;
            (self.slice(number), (z_mm - middle_mm).powi(2))
        })
    }

    /// The cells of a slice whose middles are closer than `reach_mm` to a point, each with the square of its distance, mm².
    fn cells_near(&self, [x, y]: [f64; 2], reach_mm: f64) -> impl Iterator<Item = (Cell, f64)> + '_ {
        let (radius_mm, angle_rad) = (x.hypot(y), y.atan2(x));
        let place = |mm: f64| mm / self.spacing_mm - 0.5;
        let last = place(radius_mm + reach_mm).floor().min(self.num_cells.len() as f64 - 1.0);
        let first = place(radius_mm - reach_mm).ceil().max(0.0);
        let rings: Range<usize> = if last < first { 0..0 } else { first as usize..last as usize + 1 };
        rings.flat_map(move |ring| {
            let ring_mm = (ring as f64 + 0.5) * self.spacing_mm;
            // Law of cosines: how far round the ring the reach goes.
            let cosine = (radius_mm.powi(2) + ring_mm.powi(2) - reach_mm.powi(2)) / (2.0 * radius_mm * ring_mm);
            let each_rad = self.cell_angle_rad(ring);
            let whole = (2 * self.num_turns * self.num_cells[ring]) as i64;
            let numbers = if cosine > -1.0 {
                let half_rad = cosine.min(1.0).acos();
                let from = ((angle_rad - half_rad) / each_rad - 0.5).ceil() as i64;
                from..((angle_rad + half_rad) / each_rad - 0.5).floor() as i64 + 1
            } else {
                0..whole
            };
            numbers.map(move |number| {
                let off_rad = (number as f64 + 0.5) * each_rad - angle_rad;
                let square = radius_mm.powi(2) + ring_mm.powi(2) - 2.0 * radius_mm * ring_mm * off_rad.cos();
                (self.cell(ring, number), square.max(0.0))
            })
        })
    }

    /// The cell that a point lies in.
    fn cell_of(&self, [x, y]: [f64; 2]) -> Option<Cell> {
        let ring = (x.hypot(y) / self.spacing_mm) as usize;
        (ring < self.num_cells.len()).then(|| self.cell(ring, (y.atan2(x) / self.cell_angle_rad(ring)).floor() as i64))
    }

    fn slice_of(&self, z_mm: f64) -> Option<Slice> {
        let number = (z_mm / self.spacing_mm).floor() + self.num_half_slices as f64;
        (0.0..2.0 * self.num_half_slices as f64).contains(&number).then(|| self.slice(number as usize))
    }
}

/// What stands in the cells.
#[derive(Clone, Debug, PartialEq)]
enum Function {
    /// A blob about the middle of each.
    Blobs(Blob),
    /// 1 inside the cell.
    Cells,
}

/// An image as a sum of functions, one for each cell of a polar grid.
#[derive(Clone, Debug)]
pub struct PolarBasis {
    cells: PolarGrid,
    function: Function,
    grid: Grid,
    /// For each (x, y) of the grid where its functions begin, and how many there are in all.
    first: Vec<usize>,
    /// Place in the plane's coefficients, and the square of the distance, mm².
    near: Vec<(u32, f32)>,
}

impl PolarBasis {
    /// Blobs (Matej and Lewitt 1996) in the middles of the cells; their sums are shown on `grid`.
    pub fn blobs(cells: PolarGrid, grid: Grid) -> Self {
        let blob = Blob::for_spacing(cells.spacing_mm);
        Self::new(cells, Function::Blobs(blob), grid)
    }

    /// The cells themselves.
    pub fn cells(cells: PolarGrid, grid: Grid) -> Self {
        Self::new(cells, Function::Cells, grid)
    }

    fn new(cells: PolarGrid, function: Function, grid: Grid) -> Self {
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
    pub fn polar_grid(&self) -> &PolarGrid {
        &self.cells
    }

    /// For each (x, y) of the grid where its functions begin in the list beside it, and how many there are in all: the place of a
    /// function in the coefficients of a slice, and the square of its distance, mm².
    pub fn near(&self) -> (&[usize], &[(u32, f32)]) {
        (&self.first, &self.near)
    }

    /// The slices of functions near a slice of the grid: where their coefficients begin, and the square of the distance, mm².
    pub fn slices_of(&self, z: usize) -> impl Iterator<Item = (usize, f64)> + '_ {
        let z_mm = self.grid.mm_from_voxel([0.0, 0.0, z as f64])[2];
        let (near, of) = match &self.function {
            Function::Blobs(blob) => (Some(self.cells.slices_near(z_mm, blob.radius_mm())), None),
            Function::Cells => (None, self.cells.slice_of(z_mm).map(|slice| (slice, 0.0))),
        };
        near.into_iter().flatten().chain(of).map(|(slice, above)| (self.cells.slice_offset(slice), above))
    }

    /// The function's values at evenly spaced squares of distances, and how many of them a mm² has; none where functions are cells.
    pub fn table(&self) -> (&[f32], f64) {
        match &self.function {
            Function::Blobs(blob) => (blob.table(), (blob.table().len() - 2) as f64 / (blob.radius_mm() * blob.radius_mm())),
            Function::Cells => (&[], 0.0),
        }
    }

    /// How many basic functions are those of the two central slices: the first ones.
    pub fn num_central(&self) -> usize {
        self.cells.num_in_slice()
    }

    /// How far from a function's middle it reaches beyond its cell, mm.
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

    /// A function's value at the square of a distance, where it is near.
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

impl ImageSpace<Host> for PolarBasis {
    fn len(&self) -> usize {
        self.cells.len()
    }

    fn grid(&self) -> &Grid {
        &self.grid
    }

    /// The value of the nearest voxel, times what makes functions with it add up to 1.
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

    fn madpet2() -> PolarGrid {
        PolarGrid::new(18, 0.5, 35.5, 10.0)
    }

    fn distance(a: Point, b: Point) -> f64 {
        (0..3).map(|i| (a[i] - b[i]).powi(2)).sum::<f64>().sqrt()
    }

    #[test]
    fn the_grid_of_the_paper_has_its_numbers() {
        let grid = madpet2();
        assert_eq!((grid.num_basic(), grid.num_half_slices, grid.num_in_slice(), grid.len()), (8740, 20, 437, 629_280));
        let volume: f64 = (0..grid.len()).map(|index| grid.volume_mm3(index)).sum();
        assert!((volume / (PI * 35.5f64.powi(2) * 20.0) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn cells_are_found_where_they_are() {
        let grid = PolarGrid::new(18, 1.5, 10.0, 5.0);
        for index in 0..grid.len() {
            let [x, y, z] = grid.middle_mm(index);
            let found = grid.cell_of([x, y]).zip(grid.slice_of(z)).map(|(cell, slice)| grid.index(cell, slice));
            assert_eq!(found, Some(index));
        }
    }

    #[test]
    fn the_functions_at_a_point_are_those_whose_middles_are_near() {
        let grid = PolarGrid::new(18, 1.0, 8.0, 4.0);
        let shown = Grid::centred([4, 4, 4], [1.0; 3]).unwrap();
        let basis = PolarBasis::blobs(grid.clone(), shown);
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

    /// std / mean of a uniform image beyond 6 mm from the axis, from 3 to 6 mm, where a cell of the wedge is up to 1 mm wide (4.2 %), and
    /// within.
    #[test]
    fn a_uniform_image_is_flat() {
        let basis = PolarBasis::blobs(madpet2(), Grid::centred([142, 142, 40], [0.5; 3]).unwrap());
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
        let basis = PolarBasis::cells(PolarGrid::new(18, 1.0, 8.0, 4.0), Grid::centred([15, 14, 7], [1.0; 3]).unwrap());
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
