//! Names of files to write, checked by their endings before the work, not after it.

use std::path::PathBuf;

use crate::io::FileKind;

/// The path, if it ends as `kinds` do.
fn file_of(text: &str, kinds: &[FileKind], endings: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(text);
    match FileKind::of(&path) {
        Some(kind) if kinds.contains(&kind) => Ok(path),
        _ => Err(format!("the name must end in {endings}")),
    }
}

/// A path of projection data.
pub fn projections_file(text: &str) -> Result<PathBuf, String> {
    file_of(text, &[FileKind::InterfileProjections], ".hs")
}

/// A path of projection data or of a sweep.
pub fn simulated_file(text: &str) -> Result<PathBuf, String> {
    let kinds = [FileKind::InterfileProjections, FileKind::SavedSweep, FileKind::Pairs];
    file_of(text, &kinds, ".hs (.sweep with --epri, .pairs for rings of crystals)")
}

/// A path of an image.
pub fn image_file(text: &str) -> Result<PathBuf, String> {
    file_of(text, &[FileKind::InterfileImage, FileKind::NiftiImage], ".hv, .nii or .nii.gz")
}

/// A path of regions of interest.
pub fn rois_file(text: &str) -> Result<PathBuf, String> {
    file_of(text, &[FileKind::Rois], ".toml")
}

/// A path of tubes of response.
pub fn tubes_file(text: &str) -> Result<PathBuf, String> {
    file_of(text, &[FileKind::Tubes], ".tubes")
}

/// A path of a stored matrix.
pub fn matrix_file(text: &str) -> Result<PathBuf, String> {
    file_of(text, &[FileKind::Matrix], ".matrix")
}
