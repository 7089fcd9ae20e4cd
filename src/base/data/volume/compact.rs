//! Image that is displayed and measured only: CT takes 16 bits for each voxel.

use std::sync::Arc;

use rayon::prelude::*;

use super::{Unit, Volume};
use crate::geometry::{Grid, Point};

/// Values of a compact image in order z, y, x (x fastest).
#[derive(Clone, Debug)]
pub enum CompactValues {
    /// Any values.
    Float(Arc<Volume>),
    /// Whole numbers of 16 bits, such as Hounsfield units.
    Integer(Vec<i16>),
}

/// Image that is displayed and measured only.
#[derive(Clone, Debug)]
pub struct CompactVolume {
    /// Where the voxels are.
    pub grid: Grid,
    /// Unit of the values.
    pub unit: Unit,
    /// Smallest and largest finite value.
    pub range: [f32; 2],
    values: CompactValues,
}

impl CompactVolume {
    /// Returns an image: as 16-bit integers if all its values are some, else as it is.
    pub fn new(volume: Arc<Volume>) -> Self {
        let (low, high) = volume.range();
        let is_integer = |value: &f32| f32::from(*value as i16) == *value;
        let values = match volume.as_slice().par_iter().all(is_integer) {
            true => CompactValues::Integer(volume.as_slice().par_iter().map(|value| *value as i16).collect()),
            false => CompactValues::Float(Arc::clone(&volume)),
        };
        Self { grid: volume.grid.clone(), unit: volume.unit, range: [low, high], values }
    }

    /// Returns the values.
    pub fn values(&self) -> &CompactValues {
        &self.values
    }

    /// Returns the value at a point, linear between the voxel centres around it and constant in the outer half voxels; `None`
    /// outside the voxels.
    pub fn interpolated_mm(&self, point: Point) -> Option<f64> {
        match &self.values {
            CompactValues::Float(volume) => volume.interpolated_mm(point),
            CompactValues::Integer(values) => {
                let [nx, ny, _] = self.grid.size;
                self.grid.interpolated_mm(point, |[x, y, z]| f64::from(values[(z * ny + y) * nx + x]))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_take_two_bytes_and_have_the_same_values() {
        let grid = Grid::new([4, 3, 5], [1.0, 2.0, 3.0], [5.0, -4.0, 1.0]).unwrap();
        let volume = |scale: f32, low: f32| {
            let values = (0..60).map(|index| low + scale * ((index * 37) % 61) as f32).collect();
            Arc::new(Volume::from_vec(grid.clone(), values, Unit::Hounsfield).unwrap())
        };
        for (scale, low, is_integer) in
            [(1.0, -1024.0, true), (500.0, -3024.0, true), (0.5, 0.0, false), (1000.0, 0.0, false), (f32::NAN, 0.0, false)]
        {
            let volume = volume(scale, low);
            let compact = CompactVolume::new(Arc::clone(&volume));
            assert_eq!(matches!(compact.values(), CompactValues::Integer(_)), is_integer, "{scale}");
            assert_eq!((compact.range[0], compact.range[1]), volume.range());
            for point in [[5.0, -4.0, 1.0], [6.3, -2.5, 7.7], [8.4, 0.9, 14.2], [9.0, 0.0, 0.0]] {
                let [found, expected] = [compact.interpolated_mm(point), volume.interpolated_mm(point)];
                assert!(found == expected || scale.is_nan(), "{found:?}, not {expected:?}");
            }
        }
    }
}
