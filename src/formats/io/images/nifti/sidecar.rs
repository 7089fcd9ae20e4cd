//! The JSON file of an image in BIDS, in the same folder: times of the frames and the unit.
//!
//! Source: Brain Imaging Data Structure 1.10, PET: `FrameTimesStart` and `FrameDuration` in seconds, by frame; `Units`.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::data::{Notice, Unit};
use crate::io::bytes::read_text;
use crate::io::notice;

/// Largest file that is read.
const MAX_BYTES: u64 = 1 << 22;

/// Largest relative difference of a step from a duration.
const TOLERANCE: f64 = 1e-3;

/// Keys that are read; others are not looked at.
#[derive(Default, serde::Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct Keys {
    frame_times_start: Vec<f64>,
    frame_duration: Vec<f64>,
    units: Option<String>,
}

/// Facts of an image from its JSON file.
#[derive(Default)]
pub(super) struct Sidecar {
    /// Start and duration of each image, s.
    pub times: Option<Vec<[f64; 2]>>,
    /// Unit.
    pub unit: Option<Unit>,
}

/// Returns the name of the file: that of the image with `.json` in place of its ending.
fn beside(path: &Path) -> Option<PathBuf> {
    let name = path.file_name()?.to_str()?;
    let stem = name.strip_suffix(".gz").unwrap_or(name);
    Some(path.with_file_name(stem.rsplit_once('.')?.0.to_owned() + ".json"))
}

fn keys_of(file: &Path) -> Result<Keys, String> {
    let text = read_text(file, MAX_BYTES).map_err(|error| error.to_string())?;
    let keys = match serde_json::from_str(&text) {
        Ok(object @ Value::Object(_)) => serde_json::from_value(object),
        // Regions of interest can have this name.
        Ok(_) => Ok(Keys::default()),
        Err(error) => Err(error),
    };
    keys.map_err(|error| error.to_string())
}

/// Reads the JSON file of an image with this number of frames and this step between them in its header (0 = none). A file that does not
/// read or contradicts the image is not used, with a warning.
pub(super) fn read(path: &Path, num_images: usize, step_secs: f64, notices: &mut Vec<Notice>) -> Sidecar {
    let Some(file) = beside(path).filter(|file| file.is_file()) else { return Sidecar::default() };
    let keys = keys_of(&file).unwrap_or_else(|error| {
        notices.push(notice::warning(&file, format!("it is not used: {error}")));
        Keys::default()
    });
    let Keys { frame_times_start: starts, frame_duration: durations, units } = keys;
    let times: Vec<[f64; 2]> = starts.iter().zip(&durations).map(|(start, duration)| [*start, *duration]).collect();
    let follow = times.windows(2).all(|pair| pair[1][0] >= pair[0][0] + pair[0][1] * (1.0 - TOLERANCE));
    let are_usable =
        follow && times.iter().flatten().all(|time| time.is_finite()) && durations.iter().all(|duration| *duration >= 0.0);
    let unit = units.as_deref().and_then(|label| Unit::of_label(label.trim()));
    if let (Some(label), None) = (&units, unit) {
        notices
            .push(notice::warning(&file, format!("its unit '{label}' is not known: the values have the unit of the image file")));
    }
    if starts.is_empty() && durations.is_empty() {
        return Sidecar { times: None, unit };
    }
    if [starts.len(), durations.len()] != [num_images; 2] || !are_usable {
        let [starts, durations] = [starts.len(), durations.len()];
        let order = if follow { "" } else { ", which overlap or go back" };
        let text = format!("its times are not used: {starts} starts and {durations} durations for {num_images} images{order}");
        notices.push(notice::warning(&file, text));
        return Sidecar { times: None, unit };
    }
    if num_images > 1 && step_secs > 0.0 && durations.iter().any(|secs| (secs - step_secs).abs() > TOLERANCE * step_secs) {
        let text = format!("its durations are used, not the step of {step_secs} s in the header of the image");
        notices.push(notice::warning(&file, text));
    }
    Sidecar { times: Some(times), unit }
}
