//! Files: projection data and images in and out, regions of interest, measured numbers.
//!
//! | what | format | module |
//! |---|---|---|
//! | projection data | Interfile (`.hs` + `.s`), as STIR writes it | [`interfile`] |
//! | images | Interfile (`.hv` + `.v`), NIfTI-1 (`.nii`, `.nii.gz`) | [`interfile`], [`nifti`] |
//! | regions of interest | TOML | [`rois`] |
//! | measured numbers | CSV, long form | [`measurements`] |
//!
//! Every reader checks the file's size against its header before it allocates, and every writer completes a temporary
//! file before it replaces one that exists.

mod any;
mod blocks;
mod error;
pub mod interfile;
pub mod measurements;
pub mod nifti;
mod numbers;
mod pending;
pub mod rois;
mod study;

pub use any::{FileKind, read_projections, read_volume, write_projections, write_volume};
pub use error::IoError;
pub use study::{Correction, read_study};
