//! Reasons why images give no map of oxygen.

use crate::coded::{PassedOn, coded};
use crate::data::RelaxationRate;
use crate::task::Stopped;

/// Images or times that give no map of oxygen.
#[derive(Debug, PartialEq, thiserror::Error)]
pub enum OximetryError {
    /// Another number of images than of times.
    #[error("{num_images} images for {num_times} times; give one image for each time, in the same order")]
    NumImages {
        /// Number of images.
        num_images: usize,
        /// Number of times.
        num_times: usize,
    },
    /// Fewer times than the model has parameters.
    #[error("{found} times for a fit of {} with {needed} parameters; add at least {}", .rate.label(), .needed - .found)]
    FewTimes {
        /// The rate.
        rate: RelaxationRate,
        /// Number of times.
        found: usize,
        /// Number of parameters.
        needed: usize,
    },
    /// A time that is negative or not finite.
    #[error("time {number} is {time_us} µs; expected at least 0")]
    Time {
        /// Its number, from 1.
        number: usize,
        /// The time, µs.
        time_us: f64,
    },
    /// The same time twice.
    #[error("two times are {0} µs; each must be another one")]
    SameTimes(f64),
    /// Images of different sizes.
    #[error("image {0} has another number of voxels than the first one")]
    Sizes(usize),
    /// An image of zeros, by its number.
    #[error("image {0} is zero in all voxels: it was not measured; leave it and its time out")]
    ZeroImage(usize),
    /// Equal images at two times, by their numbers.
    #[error("images {0} and {1} are equal: was a file named twice?")]
    SameImages(usize, usize),
    /// No voxel above the mask's limit.
    #[error("no voxel of the image at {time_us} µs is above 0, so that there is no mask")]
    EmptyMask {
        /// Time of the image that makes the mask, µs.
        time_us: f64,
    },
    /// Stopped by the user.
    #[error("the fit was {0}")]
    Stopped(#[from] Stopped),
    /// The device failed.
    #[error(transparent)]
    Device(PassedOn),
}

coded!(OximetryError = "oximetry"; Stopped, Device);
