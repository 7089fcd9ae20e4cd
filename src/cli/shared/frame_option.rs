//! `--frame N`: one image of a NIfTI file of several, as `reconstruct --frames` writes them.

use std::path::Path;

use clap::Args;

use super::error::{CliError, CliResult};
use super::notices;
use super::options::count;
use crate::data::Volume;
use crate::io::{FileKind, nifti, read_volume};
use crate::plan::{FrameRecord, Provenance};

/// Choice of an image of a file.
#[derive(Args, Clone, Copy, Debug)]
pub struct FrameOption {
    /// Image of a NIfTI file of several (4-D), counted from 1.
    #[arg(long, value_name = "N", value_parser = count::<usize>)]
    frame: Option<usize>,
}

impl FrameOption {
    /// Reads an image, and prints its notices.
    ///
    /// # Errors
    /// An unreadable image; a frame of a file without frames.
    pub fn read(self, path: &Path) -> CliResult<Volume> {
        Ok(notices::printed(match self.frame {
            None => read_volume(path)?,
            Some(frame) if FileKind::of(path) == Some(FileKind::NiftiImage) => nifti::read_frame(path, frame)?,
            Some(_) => {
                return Err(CliError::arguments(format!(
                    "--frame is for NIfTI files of several images; {} has one",
                    path.display()
                )));
            }
        }))
    }

    /// Returns the record of an image that was read, with the time of its frame.
    ///
    /// # Errors
    /// Unreadable frames.
    pub fn record(self, path: &Path, volume: &Volume) -> CliResult<Provenance> {
        let (mut record, notice) = Provenance::of_file(path, volume);
        notices::print(notice.as_slice());
        if let Some(frame) = self.frame
            && let Some(frames) = nifti::frames(path)?
        {
            let start_secs = frames.start_secs + (frame - 1) as f64 * frames.step_secs;
            record.data.frame = Some(FrameRecord {
                start_secs,
                duration_secs: frames.step_secs,
                end_secs: None,
                requested_secs: None,
                split_seed: None,
            });
        }
        Ok(record)
    }
}
