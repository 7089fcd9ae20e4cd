//! What is measured and what is reconstructed: volumes, michelograms, regions of interest, studies.

mod michelogram;
mod notice;
mod roi;
mod study;
mod volume;

pub use michelogram::{Michelogram, MichelogramError};
pub use notice::{Notice, Severity};
pub use roi::{Roi, RoiMask, RoiPlane, RoiRole, RoiShape, RoiSums};
pub use study::{Study, StudyError};
pub use volume::{Unit, Volume};
