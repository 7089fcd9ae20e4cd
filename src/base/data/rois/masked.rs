//! Regions of interest with their masks: a region is rasterised once per grid, at its first use.

use std::ops::Deref;
use std::sync::{Arc, Mutex, PoisonError};

use super::mask::RoiMask;
use super::roi::Roi;
use crate::geometry::Grid;

/// Grids for which a region keeps its masks: of the run, of the image of the run before that is still shown, of one more.
const NUM_GRIDS: usize = 3;

/// Regions of interest that share their masks with their clones and with edited versions. Two are equal if their regions are.
#[derive(Clone, Debug, Default)]
pub struct MaskedRois {
    rois: Vec<Roi>,
    /// Those of each region.
    masks: Vec<Arc<Masks>>,
}

/// The masks of one region, that of the grid used last at the end.
#[derive(Debug, Default)]
struct Masks(Mutex<Vec<(Grid, RoiMask)>>);

impl MaskedRois {
    /// Returns the edited regions: those that cover the same voxels as before share their masks.
    pub fn edited(&self, rois: &[Roi]) -> Self {
        let masks_of =
            |roi: &Roi| self.rois.iter().position(|before| before.covers_same(roi)).map(|at| Arc::clone(&self.masks[at]));
        Self { rois: rois.to_vec(), masks: rois.iter().map(|roi| masks_of(roi).unwrap_or_default()).collect() }
    }

    /// Returns the mask of each region on a grid. A call never waits for a mask that another thread is making.
    pub fn masks(&self, grid: &Grid) -> Vec<RoiMask> {
        self.rois.iter().zip(&self.masks).map(|(roi, masks)| masks.on(grid, roi)).collect()
    }
}

impl Masks {
    fn on(&self, grid: &Grid, roi: &Roi) -> RoiMask {
        let stored = self.stored(grid, None);
        // Rasterised outside the lock. Of two threads at once, the first one stores the mask for both.
        stored.unwrap_or_else(|| {
            let mask = roi.mask(grid);
            self.stored(grid, Some(&mask)).unwrap_or(mask)
        })
    }

    /// Returns the mask on a grid, and marks it as used last. A mask that is not stored yet is `new`, if any.
    fn stored(&self, grid: &Grid, new: Option<&RoiMask>) -> Option<RoiMask> {
        let mut stored = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let index = stored.iter().position(|(of, _)| of == grid);
        let used = index.map(|index| stored.remove(index)).or_else(|| Some((grid.clone(), new?.clone())))?;
        if stored.len() == NUM_GRIDS {
            stored.remove(0);
        }
        let mask = used.1.clone();
        stored.push(used);
        Some(mask)
    }
}

impl From<Vec<Roi>> for MaskedRois {
    fn from(rois: Vec<Roi>) -> Self {
        Self { masks: rois.iter().map(|_| Arc::default()).collect(), rois }
    }
}

impl Deref for MaskedRois {
    type Target = [Roi];

    fn deref(&self) -> &[Roi] {
        &self.rois
    }
}

impl PartialEq for MaskedRois {
    fn eq(&self, other: &Self) -> bool {
        self.rois == other.rois
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::rois::roi::RoiRole;
    use crate::data::rois::shape::RoiShape;

    fn ball(x_mm: f64) -> Roi {
        let shape = RoiShape::Sphere { radius_mm: 3.0 };
        Roi::new("ball", shape, [x_mm, 0.0, 0.0])
    }

    fn grid(size: usize) -> Grid {
        Grid::centred([size; 3], [1.0; 3]).unwrap()
    }

    /// For each mask whether it is the very one that another is, not only as large.
    fn are_shared(masks: &[RoiMask], others: &[RoiMask]) -> Vec<bool> {
        masks.iter().zip(others).map(|(mask, other)| Arc::ptr_eq(&mask.voxels, &other.voxels)).collect()
    }

    #[test]
    fn a_region_is_rasterised_once_whoever_asks() {
        let rois = MaskedRois::from(vec![ball(-4.0), ball(4.0)]);
        let clone = rois.clone();
        let [first, second] =
            [&rois, &clone].map(|rois| std::thread::scope(|s| s.spawn(|| rois.masks(&grid(20))).join().unwrap()));
        assert_eq!(are_shared(&first, &second), [true, true]);
        assert_eq!(first, [ball(-4.0).mask(&grid(20)), ball(4.0).mask(&grid(20))]);
    }

    #[test]
    fn only_the_region_that_was_moved_is_rasterised_again() {
        let rois = MaskedRois::from(vec![ball(-4.0), ball(0.0), ball(4.0)]);
        let before = rois.masks(&grid(20));
        let renamed = Roi { name: "other".into(), role: RoiRole::Hot, ..ball(-4.0) };
        let edited = rois.edited(&[renamed.clone(), ball(1.0), ball(4.0)]);
        let after = edited.masks(&grid(20));
        assert_eq!(are_shared(&before, &after), [true, false, true]);
        assert_eq!(after[1], ball(1.0).mask(&grid(20)));
        assert_eq!((&edited[0], edited == rois), (&renamed, false));
        // Also where the others come to stand elsewhere in the list.
        let fewer = edited.edited(&[ball(1.0), ball(4.0)]).masks(&grid(20));
        assert_eq!(are_shared(&after[1..], &fewer), [true, true]);
    }

    #[test]
    fn masks_are_stored_for_the_grids_used_last() {
        let rois = MaskedRois::from(vec![ball(0.0)]);
        let first = rois.masks(&grid(20));
        for size in 21..20 + NUM_GRIDS {
            assert_eq!(rois.masks(&grid(size)), [ball(0.0).mask(&grid(size))]);
        }
        assert_eq!(are_shared(&rois.masks(&grid(20)), &first), [true], "as many grids as are kept");
        // The one that was not used for longest goes.
        let second = rois.masks(&grid(21));
        rois.masks(&grid(40));
        rois.masks(&grid(41));
        assert_eq!(are_shared(&rois.masks(&grid(21)), &second), [true]);
        assert_eq!(are_shared(&rois.masks(&grid(20)), &first), [false]);
        assert_eq!(rois.masks[0].0.lock().unwrap().len(), NUM_GRIDS);
    }
}
