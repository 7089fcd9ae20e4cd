//! The program's own forms, and tables: headers in TOML with numbers in a data file, provenance records, regions of interest, CSV.

pub mod calibration;
pub mod crystals;
pub mod measurements;
pub mod oximetry;
pub mod oxygen;
pub mod provenance;
pub mod psf;
pub mod recovery;
pub mod roi_entry;
pub mod rois;
pub mod saved_factors;
pub mod saved_matrix;
pub mod saved_pairs;
pub mod saved_sensitivity;
pub mod saved_tubes;
pub mod session_text;
pub mod toml_text;
