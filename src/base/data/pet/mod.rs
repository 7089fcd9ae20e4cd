//! PET scans: their facts, positron emitters, decay.

pub mod decay;
pub mod exam;
pub mod nuclide;
pub mod plausible;
pub mod scan;
pub mod suv;
