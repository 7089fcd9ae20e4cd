//! Files: projection data, list-mode data, EPRI acquisitions and images in and out, regions of interest, measured numbers.
//!
//! [`formats`] has the table of all formats with their readers and writers; beside these there are sensitivities of lists
//! ([`saved_sensitivity`]), acquisitions that are still being written ([`SweepFollower`]) and pictures of the window ([`write_png`]).
//!
//! Every reader checks the file's size against its header before it allocates, and every writer completes a temporary
//! file before it replaces one that exists.

mod sinograms;
mod images;
mod epri;
mod own;
mod bytes;
mod attenuation;
mod by_content;
mod error;
mod files;
pub mod formats;
pub mod list_mode;
mod study;
mod sweep;

pub use attenuation::{map_beside, read_attenuation};
pub use by_content::{check_image_unit, read_projections, read_volume, write_described_volume, write_projections, write_volume};
pub use bytes::checksum::content_of;
pub use images::description::{ImageDescription, filter_width};
pub use error::IoError;
pub use files::{files_read, files_written, header_of, identity};
pub use epri::follow::{SweepFollower, SweepUpdate};
pub use formats::FileKind;
pub use error::form::FormProblem;
pub use bytes::pending::{discard_unfinished, write_whole};
pub use images::png::{Picture, write_png};
pub use error::rois::{RegionProblem, RoiProblem};
pub use study::{Correction, read_pair_study, read_study};
pub use sweep::{read_reference, read_sweep, read_sweep_at_phase, write_sweep};
pub use error::unsupported::Unsupported;
