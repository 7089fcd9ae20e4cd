//! Files: projection data, list-mode data, EPRI acquisitions and images in and out, regions of interest, measured numbers.
//!
//! [`formats`] has the table of all formats with their readers and writers; beside these there are sensitivities of lists
//! ([`saved_sensitivity`]), acquisitions that are still being written ([`SweepFollower`]) and pictures of the window ([`write_png`]).
//!
//! Every reader checks the file's size against its header before it allocates, and every writer completes a temporary
//! file before it replaces one that exists.

mod attenuation;
pub mod bes3t;
mod blocks;
mod by_content;
pub mod calibration;
mod checksum;
pub mod crystals;
mod description;
pub mod dicom;
mod error;
mod files;
mod follow;
pub mod formats;
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

pub use attenuation::{map_beside, read_attenuation};
pub use by_content::{check_image_unit, read_projections, read_volume, write_described_volume, write_projections, write_volume};
pub use checksum::content_of;
pub use description::{ImageDescription, filter_width};
pub use error::IoError;
pub use files::{files_read, files_written, header_of, identity};
pub use follow::{SweepFollower, SweepUpdate};
pub use formats::FileKind;
pub use own_form::FormProblem;
pub use pending::{discard_unfinished, write_whole};
pub use png::{Picture, write_png};
pub use roi_problem::{RegionProblem, RoiProblem};
pub use study::{Correction, read_pair_study, read_study};
pub use sweep::{read_reference, read_sweep, read_sweep_at_phase, write_sweep};
pub use unsupported::Unsupported;
