//! Options for reading list-mode data: facts that its files lack.

use std::path::PathBuf;

use crate::data::{CtSettings, MuUnit};

/// Facts that the files of list-mode data lack.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ListOptions {
    /// The scanner's table of crystals, for formats that do not name it, or if it is not in the folder of the data.
    pub scanner: Option<PathBuf>,
    /// CASToR: a normalisation file, with the detection efficiencies of all pairs.
    pub normalization: Option<PathBuf>,
    /// The object's map of attenuation. (It concerns no reader, but who makes a study of a list.)
    pub attenuation: Option<PathBuf>,
    /// Further maps, as of a bed.
    pub added_attenuation: Vec<PathBuf>,
    /// Conversion of the object's file, if it is CT instead of a map.
    pub ct: Option<CtSettings>,
    /// Unit of the maps; `None` = that of the file, or by its values.
    pub mu_unit: Option<MuUnit>,
    /// YRT-PET: fields of an event in addition to its time and crystals, and the resolution of time of flight.
    pub yrt: YrtFields,
}

/// Fields of the events of YRT-PET data, which the file does not describe.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct YrtFields {
    /// Time of flight: its resolution (FWHM) and its step (0 = none), ps.
    pub tof_ps: Option<[f64; 2]>,
    /// Width of the range of t₁ − t₂ around 0 that is recorded, ps.
    #[serde(default)]
    pub tof_range_ps: Option<f64>,
    /// True if each event has its randoms, counts per second.
    pub has_randoms: bool,
}

impl YrtFields {
    /// Returns true if randoms are spread over an unknown range of time of flight.
    pub fn lacks_range(&self) -> bool {
        self.has_randoms && self.tof_ps.is_some() && self.tof_range_ps.is_none()
    }
}
