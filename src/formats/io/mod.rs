//! Files: projection data, list-mode data, EPRI acquisitions and images in and out, regions of interest, measured numbers.
//!
//! [`formats`] has the table of all formats with their readers and writers. Other files are sensitivities of list-mode data
//! ([`saved_sensitivity`]), acquisitions that are still being written ([`SweepFollower`]) and screenshots ([`write_png`]).
//!
//! Every reader checks the file's size against its header before it allocates, and every writer completes a temporary file before
//! it replaces one that exists.
//!
//! Folders and files are in rows as the modules of the crate: imports go only to lower rows. `tests/project/layers.rs` reads this
//! table and enforces it:
//!
//! ```text
//! row 1: error notice
//! row 2: bytes foreign image_problem
//! row 3: own
//! row 4: epri images sinograms
//! row 5: list_mode
//! row 6: readers
//! row 7: formats
//! row 8: by_content companions files sweep
//! row 9: attenuation petric study
//! ```

mod attenuation;
mod by_content;
mod bytes;
mod companions;
mod epri;
mod error;
mod files;
mod foreign;
pub mod formats;
mod image_problem;
mod images;
pub mod list_mode;
mod notice;
mod own;
mod petric;
mod readers;
mod sinograms;
mod study;
mod sweep;

pub use attenuation::read_attenuation;
pub use by_content::{
    check_image_unit, is_on_gradient_axes, open_list_mode, read_epri_images, read_epri_volume, read_geometry, read_images,
    read_projections, read_regions, read_volume, source_series, write_described_volume, write_projections,
    write_projections_with, write_series, write_volume,
};
pub use bytes::{OutputLock, content_of, discard_unfinished, write_whole};
pub use companions::{
    Correction, calibration_beside, check_correction, checksum_of_scan, correction_contents, map_beside, stale_companions,
    store_calibration,
};
pub use epri::follow::{SweepFollower, SweepUpdate};
pub use epri::plausibility::cut_off;
pub use error::{Excess, IoError, Mismatch, Refusal};
pub use files::{before_ending, files_read, files_written, header_of, identity};
pub use foreign::foreign;
pub use formats::FileKind;
pub use images::description::{ImageDescription, filter_width};
pub use images::dicom::DicomProblem;
pub use images::film::FilmWriter;
pub use images::png::{Picture, write_png};
pub use images::{dicom, nifti, numpy_image};
pub use own::{
    calibration, crystals, measurements, oximetry, oxygen, provenance, psf, recovery, rois, saved_factors, saved_matrix,
    saved_pairs, saved_sensitivity, saved_tubes, session_text,
};
pub use petric::{BACKGROUND_REGION, PetricFolder, WHOLE_OBJECT, petric_regions};
pub use sinograms::interfile::OwnFacts;
pub use study::{CorrectionFiles, check_series, read_image_study, read_oximetry_study, read_pair_study, read_study};
pub use sweep::{
    ReferenceChoice, field_notice, follow_sweep, radical_spectra, read_reference, read_sweep, read_sweep_at_phase, write_sweep,
};
