//! Images of several bed positions as one.
//!
//! A bed counts at the height z of its image with the weight w(z) = max(0, r − |z|), where r is the reach of the scanner from its
//! middle along the axis: beyond r it has no sensitivity. The stitched image is Σ w f / Σ w. Where two beds overlap the weight
//! goes over from one to the other linearly, as their sensitivities do; where one bed alone has sensitivity its image is
//! unchanged.

use rayon::prelude::*;

use crate::coded::coded;
use crate::data::Volume;
use crate::geometry::{Grid, GridError};

/// The image of one bed position.
#[derive(Clone, Copy, Debug)]
pub struct Bed<'a> {
    /// Its image, z = 0 being the middle of the scanner.
    pub image: &'a Volume,
    /// Where that middle was in the object, mm.
    pub middle_mm: f64,
}

/// Reason of the refusal to stitch beds.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum StitchError {
    /// There are none.
    #[error("there is no bed to stitch")]
    NoBed,
    /// Their grids differ.
    #[error("bed {0} has other voxels than the first one; reconstruct all beds on one grid")]
    Grids(usize),
    /// The whole image is invalid.
    #[error(transparent)]
    Grid(#[from] GridError),
}

coded!(StitchError = "stitch"; Grid);

/// Returns the image of all beds, from the lowest end to the highest; 0 where no bed sees. `reach_mm` is how far the scanner sees
/// from its middle along the axis. Between the slices of a bed its image is interpolated linearly.
///
/// # Errors
/// No bed, grids that differ, an invalid image.
pub fn stitched(beds: &[Bed], reach_mm: f64) -> Result<Volume, StitchError> {
    let first = beds.first().ok_or(StitchError::NoBed)?;
    let grid = &first.image.grid;
    if let Some(other) = beds.iter().position(|bed| !bed.image.grid.same_as(grid)) {
        return Err(StitchError::Grids(other + 1));
    }
    let middles = || beds.iter().map(|bed| bed.middle_mm);
    let (lowest, highest) = (middles().fold(f64::INFINITY, f64::min), middles().fold(f64::NEG_INFINITY, f64::max));
    let ([nx, ny, nz], [.., dz]) = (grid.size, grid.voxel_mm);
    let [x, y, z] = grid.origin_mm;
    let num_slices = nz + ((highest - lowest) / dz - 1e-6).ceil().max(0.0) as usize;
    let whole = Grid::new([nx, ny, num_slices], grid.voxel_mm, [x, y, z + lowest])?;
    let mut volume = Volume { unit: first.image.unit, ..Volume::filled(whole.clone(), 0.0) };
    let num_in_slice = nx * ny;
    volume.as_mut_slice().par_chunks_mut(num_in_slice).enumerate().for_each(|(number, slice)| {
        let z_mm = whole.mm_from_voxel([0.0, 0.0, number as f64])[2];
        let mut sum = 0.0;
        for bed in beds {
            let of_bed_mm = z_mm - bed.middle_mm;
            let at = (of_bed_mm - z) / dz;
            let weight = reach_mm - of_bed_mm.abs();
            if weight <= 0.0 || !(-0.5..=nz as f64 - 0.5).contains(&at) {
                continue;
            }
            sum += weight;
            let at = at.clamp(0.0, nz as f64 - 1.0);
            let (below, above) = (at.floor() as usize, at.ceil() as usize);
            let share = at - at.floor();
            let [below, above] = [below, above].map(|k| &bed.image.as_slice()[k * num_in_slice..][..num_in_slice]);
            for ((value, low), high) in slice.iter_mut().zip(below).zip(above) {
                *value += (weight * (f64::from(*low) * (1.0 - share) + f64::from(*high) * share)) as f32;
            }
        }
        if sum > 0.0 {
            slice.iter_mut().for_each(|value| *value /= sum as f32);
        }
    });
    Ok(volume)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Unit;

    /// 10 slices of 2 mm, which hold `value(z)`.
    fn image(value: impl Fn(f64) -> f64) -> Volume {
        let grid = Grid::centred([3, 2, 10], [1.0, 1.0, 2.0]).unwrap();
        let mut volume = Volume { unit: Unit::DecaysPerMm3, ..Volume::filled(grid.clone(), 0.0) };
        for ((z, _, x), to) in volume.values.indexed_iter_mut() {
            *to = (value(grid.mm_from_voxel([0.0, 0.0, z as f64])[2]) + x as f64) as f32;
        }
        volume
    }

    fn along_z(volume: &Volume) -> Vec<f32> {
        volume.values.outer_iter().map(|slice| slice[[0, 0]]).collect()
    }

    /// Beds 16 mm apart that see 9 mm either way: 2 mm overlap.
    #[test]
    fn the_weight_goes_over_from_bed_to_bed_and_unseen_slices_do_not_count() {
        // The outermost slices, at ±9 mm, are not seen: what they hold must not matter.
        let seen = |value: f64| image(move |z| if z.abs() < 8.5 { value } else { 1e6 });
        let (low, high) = (seen(1.0), seen(5.0));
        let found = stitched(&[Bed { image: &high, middle_mm: 8.0 }, Bed { image: &low, middle_mm: -8.0 }], 9.0).unwrap();
        assert_eq!((found.grid.size, found.unit), ([3, 2, 18], Unit::DecaysPerMm3));
        assert_eq!(found.grid.extent_mm(2), [-18.0, 18.0]);
        let along = along_z(&found);
        assert_eq!((along[0], along[17]), (0.0, 0.0));
        assert!(along[1..8].iter().all(|v| *v == 1.0) && along[10..17].iter().all(|v| *v == 5.0), "{along:?}");
        // At −1 mm and at 1 mm: on the last slice that the other bed does not see any more.
        assert_eq!([along[8], along[9]], [1.0, 5.0]);
        // A wider view: at ∓1 mm the bed that is nearer weighs 10.5 − 7 = 3.5, the other 1.5.
        let found = stitched(&[Bed { image: &low, middle_mm: -8.0 }, Bed { image: &high, middle_mm: 8.0 }], 10.5);
        let found = along_z(&found.unwrap());
        assert!((found[8] - (3.5 + 1.5 * 1e6) / 5.0).abs() < 1.0, "{found:?}");
    }

    /// A straight line stays one, on whole slices and between them.
    #[test]
    fn beds_of_one_object_give_that_object() {
        for apart_mm in [12.0, 13.1] {
            let middles = [0.0, 1.0, 2.0].map(|k| apart_mm * (k - 1.0));
            let images = middles.map(|middle| image(move |z| 100.0 + z + middle));
            let beds: Vec<Bed> = images.iter().zip(middles).map(|(image, middle_mm)| Bed { image, middle_mm }).collect();
            let found = stitched(&beds, 9.0).unwrap();
            let of = |number: usize| found.grid.mm_from_voxel([0.0, 0.0, number as f64])[2];
            let seen = along_z(&found).into_iter().enumerate().filter(|(_, value)| *value != 0.0);
            let seen: Vec<_> = seen.map(|(number, value)| (f64::from(value) - 100.0 - of(number)).abs()).collect();
            assert!(seen.len() >= 20 && seen.iter().all(|off| *off < 1e-4), "{seen:?}");
        }
    }

    #[test]
    fn what_is_no_row_of_beds_is_refused() {
        assert_eq!(stitched(&[], 9.0), Err(StitchError::NoBed));
        let (one, other) = (image(|_| 1.0), Volume::filled(Grid::centred([3, 2, 9], [1.0, 1.0, 2.0]).unwrap(), 1.0));
        let beds = [Bed { image: &one, middle_mm: 0.0 }, Bed { image: &other, middle_mm: 10.0 }];
        assert!(stitched(&beds, 9.0).unwrap_err().to_string().starts_with("bed 2 has other voxels"));
    }
}
