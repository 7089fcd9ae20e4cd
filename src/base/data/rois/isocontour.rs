//! An isocontour: the voxels around a maximum above a threshold, frozen when they are found.
//!
//! Its voxels depend on the image. So that a region is the same on every iterate, they are frozen together with their recipe;
//! `measure::isocontour` finds them.

use super::voxels::Voxels;

/// Threshold of an isocontour.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ContourThreshold {
    /// A part of the maximum, counted from the background.
    OfMaximum {
        /// The part, %.
        percent: f64,
        /// The value that counts as 0 %: the background's mean, or `None` for 0 itself.
        background: Option<f64>,
    },
    /// A fixed value, in the unit of the image.
    Value(f64),
}

impl ContourThreshold {
    /// Returns the threshold at a part of the maximum, counted from 0.
    pub fn percent(percent: f64) -> Self {
        Self::OfMaximum { percent, background: None }
    }

    /// Returns the value that a voxel must reach.
    pub fn value(self, maximum: f64) -> f64 {
        match self {
            Self::OfMaximum { percent, background } => {
                let zero = background.unwrap_or(0.0);
                zero + percent / 100.0 * (maximum - zero)
            }
            Self::Value(value) => value,
        }
    }
}

/// Recipe of an isocontour: voxels connected with the maximum within a ball, and not below a threshold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IsocontourRecipe {
    /// The threshold.
    pub threshold: ContourThreshold,
    /// Radius of the ball in which the maximum is searched, mm.
    pub seed_radius_mm: f64,
}

/// An isocontour that was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Isocontour {
    /// Its recipe.
    pub recipe: IsocontourRecipe,
    /// The value that its voxels reached, in the unit of the image.
    pub threshold: f64,
    /// The voxels that it encloses.
    pub voxels: Voxels,
}

impl Isocontour {
    /// Returns it scaled by `factor`.
    pub(in crate::data) fn scaled(&self, factor: f64) -> Self {
        let seed_radius_mm = factor * self.recipe.seed_radius_mm;
        Self {
            recipe: IsocontourRecipe { seed_radius_mm, ..self.recipe },
            threshold: self.threshold,
            voxels: self.voxels.scaled(factor),
        }
    }

    /// Returns its image in the plane x = 0.
    pub(in crate::data) fn mirrored_x(&self) -> Self {
        Self { recipe: self.recipe, threshold: self.threshold, voxels: self.voxels.mirrored_x() }
    }
}
