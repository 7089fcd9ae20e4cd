//! Files: projection data and images in and out, regions of interest, measured numbers.
//!
//! | what | format | module |
//! |---|---|---|
//! | projection data | Interfile (`.hs` + `.s`), as STIR writes it | [`interfile`] |
//! | images | Interfile (`.hv` + `.v`), NIfTI-1 (`.nii`, `.nii.gz`) | [`interfile`], [`nifti`] |
//! | | NumPy arrays (`.npy`) | [`numpy_image`] |
//! | | DICOM PET series, only written (`.dcm`, a folder) | [`dicom`] |
//! | EPRI sweeps | Bruker BES3T (`.DSC` + `.DTA`) | [`bes3t`] |
//! | | NumPy arrays (`NAME-proj.npy`, …) | [`numpy_sweep`] |
//! | | the program's own (`.sweep` + `.f32`) | [`saved_sweep`] |
//! | | those still being written | [`SweepFollower`] |
//! | tubes of response | the program's own (`.tubes` + `.tubes.f32`) | [`saved_tubes`] |
//! | counts of pairs of crystals | the program's own (`.pairs` + `.pairs.f32`) | [`saved_pairs`] |
//! | stored matrices | the program's own (`.matrix` + `.matrix.u32`) | [`saved_matrix`] |
//! | sensitivities of lists | the program's own (`.sensitivity` + `.sensitivity.f32`) | [`saved_sensitivity`] |
//! | crystals of scanners | TOML (`.crystals.toml`) | [`crystals`] |
//! | lists of events | PETSIRD, CASToR, Siemens, YRT-PET | [`list_mode`] |
//! | regions of interest | TOML, JSON | [`rois`] |
//! | sessions of the window | TOML (`.session`) | [`session_text`] |
//! | measured numbers | CSV, long form | [`measurements`] |
//! | what made an image or numbers | JSON | [`provenance`] |
//! | calibrations of scans | TOML | [`calibration`] |
//! | pictures of the window | PNG, only written | [`write_png`] |
//!
//! Every reader checks the file's size against its header before it allocates, and every writer completes a temporary
//! file before it replaces one that exists.

mod any;
mod attenuation;
pub mod bes3t;
mod blocks;
pub mod calibration;
mod checksum;
pub mod crystals;
mod description;
pub mod dicom;
mod error;
mod files;
mod follow;
mod gzip;
pub mod interfile;
pub mod list_mode;
pub mod measurements;
pub mod nifti;
mod npy;
mod numbers;
pub mod numpy_image;
pub mod numpy_sweep;
mod own_form;
mod pair;
mod pending;
mod phase;
mod png;
pub mod provenance;
mod records;
mod roi_entry;
mod roi_problem;
pub mod rois;
pub mod saved_matrix;
pub mod saved_pairs;
pub mod saved_sensitivity;
pub mod saved_sweep;
pub mod saved_tubes;
pub mod session_text;
mod study;
mod sweep;
mod sweep_space;
mod toml_text;
mod unsupported;

pub use any::{
    FileKind, check_image_unit, read_projections, read_volume, write_described_volume, write_projections, write_volume,
};
pub use attenuation::{map_beside, read_attenuation};
pub use checksum::content_of;
pub use description::{ImageDescription, filter_width};
pub use error::IoError;
pub use files::{files_read, files_written, header_of, identity};
pub use follow::{SweepFollower, SweepUpdate};
pub use own_form::FormProblem;
pub use pending::{discard_unfinished, write_whole};
pub use png::{Picture, write_png};
pub use roi_problem::{RegionProblem, RoiProblem};
pub use study::{Correction, read_pair_study, read_study};
pub use sweep::{read_reference, read_sweep, read_sweep_at_phase, write_sweep};
pub use unsupported::Unsupported;
