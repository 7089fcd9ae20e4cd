//! Voxels as the basis of an image, in the order that suits an operator.

use std::ops::Range;

use rayon::prelude::*;

use super::image_space::{ColumnLayout, ImageSpace};
use super::{Backend, FieldOfView, VoxelPlaces};
use crate::data::Volume;
use crate::geometry::Grid;

/// The voxels of a grid that lie in a field of view; all others are 0.
#[derive(Clone, Debug, PartialEq)]
pub struct Voxels {
    grid: Grid,
    fov: FieldOfView,
    order: Order,
}

/// Order of the values of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    /// `[z, y, x]`.
    Volume,
    /// In columns along z.
    Columns(Columns),
    /// `[y / 2][x / 2][z][y % 2][x % 2]`.
    Quads,
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
    /// Returns the values of a column.
    pub fn len(&self) -> usize {
        self.classes * self.lanes
    }

    /// Returns true if a column has no values.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Where z lies in a column.
    pub fn place(&self, z: usize) -> usize {
        (z % self.classes) * self.lanes + self.first + z / self.classes
    }

    /// Returns the places of a column that hold none of `nz`.
    fn padding(&self, nz: usize) -> Vec<usize> {
        let mut is_padding = vec![true; self.len()];
        (0..nz).for_each(|z| is_padding[self.place(z)] = false);
        (0..self.len()).filter(|&place| is_padding[place]).collect()
    }
}

impl Voxels {
    /// In the order of a volume, `[z, y, x]`.
    pub fn new(grid: Grid, fov: FieldOfView) -> Self {
        Self { grid, fov, order: Order::Volume }
    }

    /// Makes all voxels of a grid in the order of a volume.
    pub fn whole(grid: Grid) -> Self {
        let fov = FieldOfView::new(&grid, f64::INFINITY);
        Self::new(grid, fov)
    }

    /// In columns along z.
    pub fn in_columns(grid: Grid, fov: FieldOfView, columns: Columns) -> Self {
        Self { grid, fov, order: Order::Columns(columns) }
    }

    /// In quads, `[y / 2][x / 2][z][y % 2][x % 2]`: four voxels that are neighbours across the axis lie together. A last row or
    /// column that has no neighbour has zeros instead.
    pub fn in_quads(grid: Grid, fov: FieldOfView) -> Self {
        Self { grid, fov, order: Order::Quads }
    }

    /// Returns the grid.
    pub fn grid(&self) -> &Grid {
        &self.grid
    }

    /// Which voxels can be seen.
    pub fn fov(&self) -> &FieldOfView {
        &self.fov
    }

    /// Returns the number of values of an array.
    pub fn len(&self) -> usize {
        let [nx, ny, nz] = self.grid.size;
        match self.order {
            Order::Volume => nx * ny * nz,
            Order::Columns(columns) => nx * ny * columns.len() + columns.tail,
            Order::Quads => nx.div_ceil(2) * ny.div_ceil(2) * nz * 4,
        }
    }

    /// Returns true without values.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Where the values of each (x, y) lie.
    pub fn column_layout(&self) -> ColumnLayout {
        let [nx, ny, nz] = self.grid.size;
        match self.order {
            Order::Volume => ColumnLayout { count: nx * ny, len: nz, width: nx * ny },
            Order::Columns(columns) => ColumnLayout { count: nx * ny, len: columns.len(), width: 1 },
            Order::Quads => ColumnLayout { count: nx.div_ceil(2) * ny.div_ceil(2) * 4, len: nz, width: 4 },
        }
    }

    /// Sets all values to zero that are not voxels in the field of view.
    pub fn zero_outside_fov(&self, image: &mut [f32]) {
        let [nx, ny, nz] = self.grid.size;
        let columns = match self.order {
            Order::Columns(columns) => columns,
            Order::Quads => {
                return self.for_quads(image, |[x, y, _], value| {
                    if x >= nx || y >= ny || !self.fov.contains(x, y) {
                        *value = 0.0;
                    }
                });
            }
            Order::Volume => {
                return image.par_chunks_mut(nx).enumerate().for_each(|(row, values)| {
                    let inside = self.fov.row(row % ny);
                    values[..inside.start].fill(0.0);
                    values[inside.end..].fill(0.0);
                });
            }
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

    /// The places of an array that are voxels in the field of view: as many at a time as lie next to each other, in their order.
    pub fn fov_ranges(&self) -> Vec<Range<usize>> {
        let mut is_seen = vec![1.0; self.len()];
        self.zero_outside_fov(&mut is_seen);
        let mut end = 0;
        let runs = is_seen.chunk_by(|a, b| a == b).map(|run| {
            end += run.len();
            (run[0], end - run.len()..end)
        });
        runs.filter(|(is_seen, _)| *is_seen > 0.0).map(|(_, places)| places).collect()
    }

    /// Returns the values of an array from those of a volume.
    pub fn coefficients(&self, volume: &Volume) -> Vec<f32> {
        let [nx, ny, _] = self.grid.size;
        let mut image = vec![0.0; self.len()];
        let columns = match self.order {
            Order::Columns(columns) => columns,
            Order::Quads => {
                self.for_quads(&mut image, |[x, y, z], value| {
                    if x < nx && y < ny && self.fov.contains(x, y) {
                        *value = volume.values[[z, y, x]];
                    }
                });
                return image;
            }
            Order::Volume => {
                image.copy_from_slice(volume.as_slice());
                self.zero_outside_fov(&mut image);
                return image;
            }
        };
        let column_len = columns.len();
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
        let [nx, ny, nz] = self.grid.size;
        let (column, z) = (voxel % (nx * ny), voxel / (nx * ny));
        match self.order {
            Order::Volume => voxel,
            Order::Columns(columns) => column * columns.len() + columns.place(z),
            Order::Quads => {
                let (x, y) = (column % nx, column / nx);
                (((y / 2) * nx.div_ceil(2) + x / 2) * nz + z) * 4 + (y % 2) * 2 + x % 2
            }
        }
    }

    /// Returns the places of all voxels as sums of parts for x, y and z, and the field of view.
    pub fn places(&self) -> VoxelPlaces {
        let [nx, ny, nz] = self.grid.size;
        let along = |num: usize, step: usize| (0..num).map(|at| self.place(at * step) as u32).collect::<Vec<u32>>();
        // (Voxel 0 may lie behind padding: the part for z has its place, the others begin at 0.)
        let from_first = |places: Vec<u32>| places.iter().map(|place| place - places[0]).collect();
        let inside = |y: usize| [self.fov.row(y).start as u32, self.fov.row(y).end as u32];
        VoxelPlaces {
            size: self.grid.size,
            along: [from_first(along(nx, 1)), from_first(along(ny, nx)), along(nz, nx * ny)],
            len: self.len(),
            fov_rows: (0..ny).map(inside).collect(),
            order: match self.order {
                Order::Volume => Some([2, 1, 0]),
                Order::Columns(_) => Some([1, 0, 2]),
                Order::Quads => None,
            },
        }
    }

    /// Calls `visit([x, y, z], value)` for each value of an image in quads; x and y can lie one beyond the grid.
    fn for_quads(&self, image: &mut [f32], visit: impl Fn([usize; 3], &mut f32) + Sync) {
        let [nx, _, nz] = self.grid.size;
        image.par_chunks_mut(nx.div_ceil(2) * nz * 4).enumerate().for_each(|(row, values)| {
            for (place, value) in values.iter_mut().enumerate() {
                let (quad, voxel) = (place / 4, place % 4);
                visit([quad / nz * 2 + voxel % 2, row * 2 + voxel / 2, quad % nz], value);
            }
        });
    }

    /// Writes `scale` times the values of an array into a volume of the grid.
    pub fn write(&self, values: &[f32], scale: f32, volume: &mut Volume) {
        let [nx, ny, _] = self.grid.size;
        let columns = match self.order {
            Order::Columns(columns) => columns,
            Order::Volume | Order::Quads => {
                let voxels = volume.as_mut_slice().par_iter_mut().enumerate();
                return voxels.for_each(|(voxel, to)| *to = scale * values[self.place(voxel)]);
            }
        };
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

    fn column_layout(&self) -> Option<ColumnLayout> {
        Some(self.column_layout())
    }

    fn places(&self) -> Option<VoxelPlaces> {
        Some(self.places())
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
            Order::Volume,
            Order::Columns(Columns { classes: 1, lanes: 8, first: 0, tail: 16 }),
            Order::Columns(Columns { classes: 2, lanes: 6, first: 1, tail: 0 }),
            Order::Columns(Columns { classes: 4, lanes: 3, first: 1, tail: 3 }),
            Order::Quads,
        ];
        for (order, radius_mm) in orders.into_iter().flat_map(|order| [(order, 1.6), (order, f64::INFINITY)]) {
            let fov = FieldOfView::new(&grid, radius_mm);
            let voxels = Voxels { grid: grid.clone(), fov: fov.clone(), order };
            let mut volume = Volume::filled(grid.clone(), 0.0);
            volume.as_mut_slice().iter_mut().enumerate().for_each(|(i, value)| *value = 1.0 + i as f32);
            let image = voxels.coefficients(&volume);
            assert_eq!(image.len(), voxels.len());
            let mut back = Volume::filled(grid.clone(), f32::NAN);
            voxels.write(&image, 1.0, &mut back);
            let layout = voxels.column_layout();
            for voxel in 0..grid.num_voxels() {
                let column = voxel % 20;
                let in_column = (0..layout.len).any(|k| (0..layout.count).any(|c| layout.place(c, k) == voxels.place(voxel)));
                let neighbours = (0..layout.count).find(|&c| (0..layout.len).any(|k| layout.place(c, k) == voxels.place(voxel)));
                let of_first = (0..layout.count).find(|&c| (0..layout.len).any(|k| layout.place(c, k) == voxels.place(column)));
                assert!(in_column && neighbours == of_first, "{order:?}: a column holds all z of an (x, y)");
            }
            let mut num_seen = 0;
            for voxel in 0..grid.num_voxels() {
                let is_seen = fov.contains(voxel % 5, voxel / 5 % 4);
                let expected = if is_seen { 1.0 + voxel as f32 } else { 0.0 };
                assert_eq!((image[voxels.place(voxel)], back.as_slice()[voxel]), (expected, expected), "{order:?} {voxel}");
                num_seen += usize::from(is_seen);
            }
            assert_eq!(image.iter().filter(|value| **value != 0.0).count(), num_seen);
            let mut full = vec![7.0; voxels.len()];
            voxels.zero_outside_fov(&mut full);
            assert!(full.iter().zip(&image).all(|(value, seen)| (*value == 7.0) == (*seen != 0.0)), "{order:?}");
            let seen = voxels.fov_ranges();
            assert!(seen.windows(2).all(|runs| runs[0].end < runs[1].start), "{order:?}: {seen:?}");
            let seen: Vec<usize> = seen.into_iter().flatten().collect();
            assert_eq!(seen, (0..image.len()).filter(|&place| image[place] != 0.0).collect::<Vec<_>>(), "{order:?}");
        }
    }
}
