//! Options for reading list-mode data: facts that its files lack.

use std::path::PathBuf;

/// What a list's own files do not tell.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ListOptions {
    /// The scanner's table of crystals, for formats that do not name it, or where it is not found beside the list.
    pub scanner: Option<PathBuf>,
    /// CASToR: a normalisation file, which tells how well all pairs count.
    pub normalization: Option<PathBuf>,
    /// The object's map of attenuation. (It concerns no reader, but who makes a study of a list.)
    pub attenuation: Option<PathBuf>,
    /// YRT-PET: which fields an event has beside its time and crystals, and how well time of flight is measured.
    pub yrt: YrtFields,
}

/// What the events of a YRT-PET list hold; the file does not say.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct YrtFields {
    /// Time of flight: its uncertainty (FWHM) and the step in which it is told (0 = none), ps.
    pub tof_ps: Option<[f64; 2]>,
    /// Width of the range of t₁ − t₂ around 0 that is recorded, ps.
    #[serde(default)]
    pub tof_range_ps: Option<f64>,
    /// Whether each has its randoms, counts per second.
    pub has_randoms: bool,
}

impl YrtFields {
    /// Whether randoms are spread over a range of time of flight that is not told.
    pub fn lacks_range(&self) -> bool {
        self.has_randoms && self.tof_ps.is_some() && self.tof_range_ps.is_none()
    }
}
