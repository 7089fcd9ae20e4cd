//! TODO: purpose.

pub mod description;
pub mod dicom;
pub mod nifti;
pub mod numpy_image;
pub mod png;

