//! From the image to the lattice of a view, and back: bilinear interpolation, and its transpose.

use std::ops::Range;

use crate::geometry::Grid;

/// The points of a view seen from above: rows along its lines, columns across them.
#[derive(Clone, Debug)]
pub struct Lattice<'a> {
    /// The image.
    pub grid: &'a Grid,
    /// sin φ and cos φ of the view.
    pub sin_cos: (f64, f64),
    /// Distance of each row from the middle of the lines, mm.
    pub along_mm: &'a [f64],
    /// Number of columns; the one in the middle goes through the axis.
    pub num_columns: usize,
    /// Distance between columns, mm.
    pub across_mm: f64,
    /// Points farther from the axis see nothing, mm.
    pub radius_mm: f64,
    /// Values of an image column and of a cell.
    pub cell_len: usize,
}

impl Lattice<'_> {
    /// Returns the image columns around a point and their weights; of those that do not exist there are none.
    #[inline(always)]
    fn corners(&self, row: usize, column: usize) -> impl Iterator<Item = ([usize; 2], f32)> {
        let (along, across) = (self.along_mm[row], (column as f64 - (self.num_columns / 2) as f64) * self.across_mm);
        let (sin, cos) = self.sin_cos;
        let [x, y, _] = self.grid.voxel_from_mm([across * cos + along * sin, across * sin - along * cos, 0.0]);
        let (low, high) = ([x.floor(), y.floor()], [x - x.floor(), y - y.floor()]);
        let num = if along * along + across * across < self.radius_mm * self.radius_mm { 4 } else { 0 };
        (0..num).filter_map(move |corner: usize| {
            let up = [corner % 2, corner / 2];
            let at = [low[0] as isize + up[0] as isize, low[1] as isize + up[1] as isize];
            let is_there = (0..2).all(|axis| (0..self.grid.size[axis] as isize).contains(&at[axis]));
            let weight = |axis: usize| if up[axis] == 1 { high[axis] } else { 1.0 - high[axis] };
            is_there.then_some((at.map(|index| index as usize), (weight(0) * weight(1)) as f32))
        })
    }

    /// The cells of a row from the image.
    #[inline(always)]
    pub fn resample(&self, row: usize, image: &[f32], cells: &mut [f32]) {
        for (column, cell) in cells.chunks_exact_mut(self.cell_len).enumerate() {
            cell.fill(0.0);
            for ([x, y], weight) in self.corners(row, column) {
                let values = &image[(y * self.grid.size[0] + x) * self.cell_len..][..self.cell_len];
                for (sum, value) in cell.iter_mut().zip(values) {
                    *sum += weight * value;
                }
            }
        }
    }

    /// The transpose, restricted to the image rows `ys`, whose columns `image` holds.
    #[inline(always)]
    pub fn spread(&self, row: usize, cells: &[f32], ys: &Range<usize>, image: &mut [f32]) {
        for (column, cell) in cells.chunks_exact(self.cell_len).enumerate() {
            for ([x, y], weight) in self.corners(row, column) {
                if ys.contains(&y) {
                    let values = &mut image[((y - ys.start) * self.grid.size[0] + x) * self.cell_len..][..self.cell_len];
                    for (sum, value) in values.iter_mut().zip(cell) {
                        *sum += weight * value;
                    }
                }
            }
        }
    }
}
