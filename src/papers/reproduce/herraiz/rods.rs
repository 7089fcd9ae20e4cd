//! Modulation of the rods of a Derenzo phantom, and noise of the image.
//!
//! For each diameter d: the mean of the image in the middles of the rods and that halfway between neighbours of a row, 2d apart,
//! over the slices of the middle third; modulation = (rods − between) / (rods + between), 100 % in truth. Noise = standard
//! deviation of the difference of two scans over √2, in % of the mean, over the same middles.

use serde::{Deserialize, Serialize};

use crate::data::{RoiShape, Volume};
use crate::geometry::Point;
use crate::phantom::Phantom;

/// Rows of rods of a sector at most.
const MAX_ROWS: usize = 32;

/// The rods of one diameter.
#[derive(Clone, Debug, PartialEq)]
pub struct Rods {
    pub diameter_mm: f64,
    middles: Vec<[f64; 2]>,
    gaps: Vec<[f64; 2]>,
}

/// Measurements of the rods of one diameter.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Resolved {
    pub diameter_mm: f64,
    pub modulation_percent: f64,
    pub noise_percent: f64,
}

impl Rods {
    /// Returns the rods of a phantom whose regions are the first rods of its sectors, in rows that widen from the axis outwards.
    pub fn of(phantom: &Phantom) -> Vec<Self> {
        phantom
            .rois
            .iter()
            .filter_map(|roi| {
                let RoiShape::Circle { radius_mm, .. } = roi.shape else { return None };
                let [x, y, _] = roi.centre_mm;
                let pitch_mm = x.hypot(y);
                let (sin, cos) = (y / pitch_mm, x / pitch_mm);
                let middle = |row: usize, column: f64| {
                    let along = pitch_mm * (1.0 + row as f64 * 0.75f64.sqrt());
                    let across = pitch_mm * (column - 0.5 * row as f64);
                    [along * cos - across * sin, along * sin + across * cos]
                };
                let is_rod = |at: [f64; 2]| phantom.material_at([at[0], at[1], 0.0]).activity > 0.0;
                let positions = || (0..MAX_ROWS).flat_map(|row| (0..=row).map(move |column| (row, column as f64)));
                let middles = positions().map(|(row, column)| middle(row, column)).filter(|at| is_rod(*at)).collect();
                let is_pair = |(row, column): &(usize, f64)| {
                    *column < *row as f64 && is_rod(middle(*row, *column)) && is_rod(middle(*row, column + 1.0))
                };
                let gaps = positions().filter(is_pair).map(|(row, column)| middle(row, column + 0.5)).collect();
                Some(Self { diameter_mm: 2.0 * radius_mm, middles, gaps })
            })
            .collect()
    }

    /// Returns their modulation in the mean of two images and the noise of one.
    pub fn resolved(&self, images: [&Volume; 2]) -> Resolved {
        let values =
            |points: &[[f64; 2]]| -> Vec<[f64; 2]> { points.iter().flat_map(|at| in_middle_third(images, *at)).collect() };
        let mean = |values: &[[f64; 2]]| values.iter().map(|[a, b]| 0.5 * (a + b)).sum::<f64>() / values.len().max(1) as f64;
        let (rods, gaps) = (values(&self.middles), values(&self.gaps));
        let (peak, valley) = (mean(&rods), mean(&gaps));
        let difference = rods.iter().map(|[a, b]| (a - b).powi(2)).sum::<f64>() / rods.len().max(1) as f64;
        Resolved {
            diameter_mm: self.diameter_mm,
            modulation_percent: 100.0 * (peak - valley) / (peak + valley),
            noise_percent: 100.0 * (0.5 * difference).sqrt() / peak,
        }
    }
}

/// Returns the values of two images nearest to a position, in the slices of the middle third.
fn in_middle_third(images: [&Volume; 2], [x, y]: [f64; 2]) -> Vec<[f64; 2]> {
    let grid = &images[0].grid;
    let [nx, ny, nz] = grid.size;
    let point: Point = [x, y, 0.0];
    let [i, j, _] = grid.voxel_from_mm(point).map(|at| at.round());
    if !((0.0..nx as f64).contains(&i) && (0.0..ny as f64).contains(&j)) {
        return Vec::new();
    }
    let index = |z: usize| (z * ny + j as usize) * nx + i as usize;
    (nz / 3..nz - nz / 3).map(|z| images.map(|image| f64::from(image.as_slice()[index(z)]))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::phantom;
    use crate::scanner;
    use crate::task::Task;

    #[test]
    fn the_true_image_is_fully_modulated_and_an_even_one_not_at_all() {
        let geometry = &scanner::find("vrpet").unwrap().geometry;
        let phantom = phantom::by_name("derenzo", geometry).unwrap();
        let rods = Rods::of(&phantom);
        assert_eq!(rods.len(), 6);
        assert!(rods.iter().all(|rods| rods.middles.len() >= 3 && !rods.gaps.is_empty()));
        let mut grid = geometry.default_grid().unwrap();
        grid = crate::geometry::Grid::centred(
            [4 * grid.size[0], 4 * grid.size[1], 3],
            [0.25 * grid.voxel_mm[0], 0.25 * grid.voxel_mm[1], 1.0],
        )
        .unwrap();
        let truth = phantom.truth(&grid, 1.0, &Task::new()).unwrap();
        let even = Volume::filled(grid, 2.0);
        for rods in &rods {
            let [truth, even] = [&truth, &even].map(|image| rods.resolved([image, image]));
            assert!(truth.modulation_percent > 95.0 && truth.noise_percent == 0.0, "{truth:?}");
            assert_eq!((even.modulation_percent, even.noise_percent), (0.0, 0.0));
        }
    }
}
