//! NEMA NU 2 image quality: the body phantom found in an image of any origin, and the figures of the standard.
//!
//! [`find`] searches for the outline of the body, the axis of the lung insert and the six spheres. It returns a
//! [`NemaPlacement`]: plain values, and each may be given instead ([`NemaKnown`]). [`analyse`] measures with the standard's
//! circles (C are means in circles, a true activities):
//!
//! ```text
//! hot sphere   Q = (C_H / C_B − 1) / (a_H / a_B − 1)      cold sphere   Q = 1 − C_C / C_B
//! variability  N = SD (n − 1) of the means of 60 circles of the sphere's size / C_B
//! lung         residual of a slice = mean in a circle of 30 mm / mean of the slice's twelve circles of 37 mm
//! ```
//!
//! Circles have the spheres' inner diameters and count voxels at their edges by the fraction inside. Sources: the common
//! definitions of three public implementations of NU 2-2007; sizes in [`crate::data::nema`].

mod analysis;
mod background;
mod body;
mod compliance;
mod placement;
mod recovery;
mod ring;

pub use analysis::{JudgedRecovery, LungSlice, NemaAnalysis, SphereFigures, analyse};
pub use compliance::{Deviation, Verdict, best_setting};
pub(super) use placement::MIN_MOVED_MM;
pub use placement::{NemaKnown, NemaPlacement, NemaSphere};
pub use recovery::{Recovery, RecoveryPoint, RecoveryRegions, SphereRecovery};

use crate::coded::coded;
use crate::data::Volume;

/// Reason for which an image is no image of the body phantom.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum NemaError {
    /// Nothing positive, or nothing finite.
    #[error("the image has no activity in which a phantom could be found")]
    Empty,
    /// Another shape.
    #[error(
        "the outline in the image is not that of the NEMA body phantom (294 mm × 224 mm): its area is {found_cm2:.0} cm² where {expected_cm2:.0} cm² are expected, and {agreement_percent:.0} % of it agree"
    )]
    NotTheBody {
        /// Area inside the outline, cm².
        found_cm2: f64,
        /// Area of the phantom's cavity, cm².
        expected_cm2: f64,
        /// Overlap of the two, %.
        agreement_percent: f64,
    },
    /// A body without spheres.
    #[error(
        "the body phantom was found, but no ring of six spheres in its background (the strongest contrast found is {contrast_percent:.0} %)"
    )]
    NoSpheres {
        /// Contrast of the largest sphere of the best ring, %.
        contrast_percent: f64,
    },
    /// The field of view ends too early.
    #[error(
        "the spheres' plane lies at z = {z_mm:.1} mm; backgrounds at ±20 mm from it must lie in the image, which reaches from {from_mm:.1} to {to_mm:.1} mm"
    )]
    CutOff {
        /// Plane of the spheres, mm.
        z_mm: f64,
        /// Lower face of the image, mm.
        from_mm: f64,
        /// Upper face of the image, mm.
        to_mm: f64,
    },
    /// A given position lies outside the image.
    #[error("{what} does not lie in the image; check the centre that was given")]
    Outside {
        /// Which circle.
        what: &'static str,
    },
    /// No true activity ratio, which recovery coefficients need.
    #[error("recovery coefficients need the true activity ratio of the hot spheres to the background; enter it")]
    NoRatio,
    /// A ratio that no hot sphere has.
    #[error("the true activity ratio of hot spheres to the background is {0}; expected a number above 1")]
    HotRatio(f64),
    /// Cold spheres.
    #[error(
        "recovery coefficients need six hot spheres; {num} of them {} colder than the background, the largest with {largest_mm} mm: scan the phantom with six hot spheres",
        if *.num == 1 { "is" } else { "are" }
    )]
    ColdSpheres {
        /// Number of the cold spheres.
        num: usize,
        /// Diameter of the largest of them, mm.
        largest_mm: f64,
    },
    /// A background that no coefficient can refer to.
    #[error("the mean of the background is {mean}; expected a positive number")]
    Background {
        /// The mean.
        mean: f64,
    },
}

coded!(NemaError = "nema");

/// Returns the body phantom in an image; values of `known` stay.
///
/// # Errors
/// There is no activity, no body phantom or no ring of spheres in it.
pub fn find(volume: &Volume, known: &NemaKnown) -> Result<NemaPlacement, NemaError> {
    let body = body::Body::find(volume)?;
    ring::placement(volume, &body, known)
}
