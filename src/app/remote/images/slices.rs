//! Values of the three displayed slices of an image.

use crate::data::Volume;
use crate::geometry::Grid;

/// Returns the nearest voxel (x, y, z) on a grid.
pub fn within(at: [usize; 3], grid: &Grid) -> [usize; 3] {
    std::array::from_fn(|a| at[a].min(grid.size[a] - 1))
}

/// Returns the number of values of the three slices through a voxel.
pub fn num_in_slices(grid: &Grid) -> usize {
    let [nx, ny, nz] = grid.size;
    nx * ny + nx * nz + ny * nz
}

/// Returns the indices of the voxels of the three slices through a voxel: transaxial, coronal, sagittal.
fn indices(grid: &Grid, [x, y, z]: [usize; 3]) -> impl Iterator<Item = usize> + use<> {
    let [nx, ny, nz] = grid.size;
    let transaxial = (0..nx * ny).map(move |i| z * nx * ny + i);
    let coronal = (0..nz).flat_map(move |k| (0..nx).map(move |i| (k * ny + y) * nx + i));
    let sagittal = (0..nz).flat_map(move |k| (0..ny).map(move |j| (k * ny + j) * nx + x));
    transaxial.chain(coronal).chain(sagittal)
}

/// Returns the values of the three slices through a voxel of the grid.
pub fn slices(volume: &Volume, at: [usize; 3]) -> Vec<f32> {
    let values = volume.as_slice();
    indices(&volume.grid, at).map(|index| values[index]).collect()
}

/// Writes the values of three slices into a volume.
pub fn put_slices(volume: &mut Volume, at: [usize; 3], slices: &[f32]) {
    let indices = indices(&volume.grid, at);
    let values = volume.as_mut_slice();
    indices.zip(slices).for_each(|(index, value)| values[index] = *value);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn volume() -> Volume {
        let mut volume = Volume::filled(Grid::centred([5, 4, 3], [1.0; 3]).unwrap(), 0.0);
        volume.as_mut_slice().iter_mut().enumerate().for_each(|(i, value)| *value = i as f32);
        volume
    }

    #[test]
    fn slices_return_to_their_voxels() {
        let (whole, at) = (volume(), [3, 1, 2]);
        let mut other = Volume::filled(whole.grid.clone(), -1.0);
        let taken = slices(&whole, at);
        assert_eq!(taken.len(), num_in_slices(&whole.grid));
        put_slices(&mut other, at, &taken);
        for ((z, y, x), value) in other.values.indexed_iter() {
            let is_in = x == at[0] || y == at[1] || z == at[2];
            assert_eq!(*value, if is_in { whole.values[[z, y, x]] } else { -1.0 }, "{x} {y} {z}");
        }
        assert_eq!(within([9, 9, 0], &whole.grid), [4, 3, 0]);
    }
}
