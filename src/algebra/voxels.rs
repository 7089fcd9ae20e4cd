//! Voxels as the basis of an image, in the order that suits an operator.

use rayon::prelude::*;

use super::{Backend, FieldOfView, ImageSpace};
use crate::data::Volume;
use crate::geometry::Grid;

/// The voxels of a grid that lie in a field of view; all others are 0.
#[derive(Clone, Debug, PartialEq)]
pub struct Voxels {
    grid: Grid,
    fov: FieldOfView,
    columns: Option<Columns>,
}

/// The order `[y][x][column]`: all z of an (x, y) lie together, those of one class z mod `classes` next to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Columns {
    /// Number of classes.
    pub classes: usize,
    /// Places of a class in a column.
    pub lanes: usize,
    /// Place of the first z of a class.
    pub first: usize,
    /// Zeros behind the last column.
    pub tail: usize,
}

impl Columns {
    /// Values of a column.
    pub fn len(&self) -> usize {
        self.classes * self.lanes
    }

    /// Whether a column has no values.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Where z lies in a column.
    pub fn place(&self, z: usize) -> usize {
        (z % self.classes) * self.lanes + self.first + z / self.classes
    }

    /// The places of a column that hold none of `nz`.
    fn padding(&self, nz: usize) -> Vec<usize> {
        let mut is_padding = vec![true; self.len()];
        (0..nz).for_each(|z| is_padding[self.place(z)] = false);
        (0..self.len()).filter(|&place| is_padding[place]).collect()
    }
}

impl Voxels {
    /// In the order of a volume, `[z, y, x]`.
    pub fn new(grid: Grid, fov: FieldOfView) -> Self {
        Self { grid, fov, columns: None }
    }

    /// All voxels of a grid in the order of a volume.
    pub fn whole(grid: Grid) -> Self {
        let fov = FieldOfView::new(&grid, f64::INFINITY);
        Self::new(grid, fov)
    }

    /// In columns along z.
    pub fn in_columns(grid: Grid, fov: FieldOfView, columns: Columns) -> Self {
        Self { grid, fov, columns: Some(columns) }
    }

    /// The grid.
    pub fn grid(&self) -> &Grid {
        &self.grid
    }

    /// Which voxels can be seen.
    pub fn fov(&self) -> &FieldOfView {
        &self.fov
    }

    /// Number of values of an array.
    pub fn len(&self) -> usize {
        let [nx, ny, nz] = self.grid.size;
        self.columns.map_or(nx * ny * nz, |columns| nx * ny * columns.len() + columns.tail)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Sets to zero what is no voxel in the field of view.
    pub fn zero_unseen(&self, image: &mut [f32]) {
        let [nx, ny, nz] = self.grid.size;
        let Some(columns) = self.columns else {
            return image.par_chunks_mut(nx).enumerate().for_each(|(row, values)| {
                let inside = self.fov.row(row % ny);
                values[..inside.start].fill(0.0);
                values[inside.end..].fill(0.0);
            });
        };
        let (column_len, padding) = (columns.len(), columns.padding(nz));
        let end = image.len() - columns.tail;
        image[end..].fill(0.0);
        image[..end].par_chunks_mut(nx * column_len).enumerate().for_each(|(y, row)| {
            let inside = self.fov.row(y);
            row[..inside.start * column_len].fill(0.0);
            row[inside.end * column_len..].fill(0.0);
            for column in row[inside.start * column_len..inside.end * column_len].chunks_exact_mut(column_len) {
                padding.iter().for_each(|&place| column[place] = 0.0);
            }
        });
    }

    /// Values of an array from those of a volume.
    pub fn coefficients(&self, volume: &Volume) -> Vec<f32> {
        let Some(columns) = self.columns else {
            let mut image = volume.as_slice().to_vec();
            self.zero_unseen(&mut image);
            return image;
        };
        let (column_len, [nx, _, _]) = (columns.len(), self.grid.size);
        let mut image = vec![0.0; self.len()];
        let end = image.len() - columns.tail;
        image[..end].par_chunks_mut(nx * column_len).enumerate().for_each(|(y, row)| {
            for (z, plane) in volume.values.outer_iter().enumerate() {
                let place = columns.place(z);
                for x in self.fov.row(y) {
                    row[x * column_len + place] = plane[[y, x]];
                }
            }
        });
        image
    }

    /// Where the voxel of index `voxel` in a `[z, y, x]` volume lies in an array.
    pub fn place(&self, voxel: usize) -> usize {
        let num_columns = self.grid.size[0] * self.grid.size[1];
        match self.columns {
            None => voxel,
            Some(columns) => (voxel % num_columns) * columns.len() + columns.place(voxel / num_columns),
        }
    }

    /// Writes `scale` times the values of an array into a volume of the grid.
    pub fn write(&self, values: &[f32], scale: f32, volume: &mut Volume) {
        let Some(columns) = self.columns else {
            return volume.as_mut_slice().iter_mut().zip(values).for_each(|(to, value)| *to = scale * value);
        };
        let [nx, ny, _] = self.grid.size;
        volume.as_mut_slice().par_chunks_mut(nx * ny).enumerate().for_each(|(z, plane)| {
            let place = columns.place(z);
            for (value, column) in plane.iter_mut().zip(values.chunks_exact(columns.len())) {
                *value = scale * column[place];
            }
        });
    }
}

impl<B: Backend> ImageSpace<B> for Voxels {
    fn len(&self) -> usize {
        self.len()
    }

    fn grid(&self) -> &Grid {
        self.grid()
    }

    fn coefficients(&self, volume: &Volume) -> Vec<f32> {
        self.coefficients(volume)
    }

    fn place(&self, voxel: usize) -> usize {
        self.place(voxel)
    }

    fn write(&self, voxels: &[f32], scale: f32, volume: &mut Volume) {
        self.write(voxels, scale, volume);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_order_is_a_permutation_of_the_voxels_that_are_seen() {
        let grid = Grid::centred([5, 4, 7], [1.0, 1.0, 2.0]).unwrap();
        let orders = [
            None,
            Some(Columns { classes: 1, lanes: 8, first: 0, tail: 16 }),
            Some(Columns { classes: 2, lanes: 6, first: 1, tail: 0 }),
            Some(Columns { classes: 4, lanes: 3, first: 1, tail: 3 }),
        ];
        for (columns, radius_mm) in orders.into_iter().flat_map(|order| [(order, 1.6), (order, f64::INFINITY)]) {
            let fov = FieldOfView::new(&grid, radius_mm);
            let voxels = columns
                .map_or(Voxels::new(grid.clone(), fov.clone()), |columns| Voxels::in_columns(grid.clone(), fov.clone(), columns));
            let mut volume = Volume::filled(grid.clone(), 0.0);
            volume.as_mut_slice().iter_mut().enumerate().for_each(|(i, value)| *value = 1.0 + i as f32);
            let image = voxels.coefficients(&volume);
            assert_eq!(image.len(), voxels.len());
            let mut back = Volume::filled(grid.clone(), f32::NAN);
            voxels.write(&image, 1.0, &mut back);
            let mut num_seen = 0;
            for voxel in 0..grid.num_voxels() {
                let is_seen = fov.contains(voxel % 5, voxel / 5 % 4);
                let expected = if is_seen { 1.0 + voxel as f32 } else { 0.0 };
                assert_eq!((image[voxels.place(voxel)], back.as_slice()[voxel]), (expected, expected), "{columns:?} {voxel}");
                num_seen += usize::from(is_seen);
            }
            assert_eq!(image.iter().filter(|value| **value != 0.0).count(), num_seen);
            let mut full = vec![7.0; voxels.len()];
            voxels.zero_unseen(&mut full);
            assert!(full.iter().zip(&image).all(|(value, seen)| (*value == 7.0) == (*seen != 0.0)), "{columns:?}");
        }
    }
}
