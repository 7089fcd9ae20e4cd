//! The header of CASToR data (`.Cdh`), and the layout of their entries.

use std::path::{Path, PathBuf};

use super::keys::Keys;
use crate::io::error::IoError;
use crate::io::list_mode::castor::problem::CastorProblem;

/// Keys whose numbers scale or place the events.
const NUMBERS: [&str; 5] =
    ["Number of events", "Start time (s)", "Duration (s)", "Calibration factor", "Maximum axial difference mm"];

/// Content of the entries of a data file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Mode {
    #[default]
    List,
    Histogram,
    Normalization,
}

/// Time of flight, ps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Tof {
    /// A number in a range of this width, in steps if the header has them.
    List { fwhm_ps: f64, range_ps: f64, step_ps: Option<f64> },
    /// In bins.
    Histogram { fwhm_ps: f64, num_bins: usize, bin_ps: f64 },
}

/// A header.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Header {
    pub(super) path: PathBuf,
    /// Its scanner's name.
    pub(super) scanner: String,
    /// The data file.
    pub(super) data: PathBuf,
    pub(super) num_events: u64,
    pub(super) mode: Mode,
    pub(super) start_secs: f64,
    pub(super) duration_secs: f64,
    /// Most pairs that an entry has.
    pub(super) max_lines: usize,
    pub(super) calibration: f64,
    pub(super) has_attenuation: bool,
    pub(super) has_normalization: bool,
    pub(super) has_scatter: bool,
    pub(super) has_randoms: bool,
    pub(super) has_kind: bool,
    /// Pairs farther apart along the axis are not in coincidence.
    pub(super) max_axial_mm: Option<f64>,
    pub(super) isotope: Option<String>,
    pub(super) tof: Option<Tof>,
}

/// Where an entry has what, bytes from its beginning.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Layout {
    /// Bytes of an entry.
    pub(super) size: usize,
    pub(super) time: Option<usize>,
    pub(super) attenuation: Option<usize>,
    pub(super) scatter: Option<usize>,
    pub(super) randoms: Option<usize>,
    pub(super) normalization: Option<usize>,
    /// Time of flight, or the bins of a histogram.
    pub(super) measured: Option<usize>,
    /// Number of pairs.
    pub(super) num_lines: Option<usize>,
    pub(super) lines: usize,
}

impl Header {
    /// Reads a header.
    ///
    /// # Errors
    /// A key that is missing or has an invalid value; unsupported content.
    pub(super) fn read(path: &Path) -> Result<Self, IoError> {
        let keys = Keys::read(path)?;
        keys.refuse_different(&NUMBERS)?;
        let mode = mode(&keys)?;
        match keys.required("Data type")? {
            "PET" => {}
            found => return Err(keys.invalid("Data type", found, "PET")),
        }
        if keys.text("POI capability").is_some() || keys.text("POI correction flag").is_some_and(|flag| flag != "0") {
            return Err(IoError::unsupported(path, CastorProblem::DepthOfInteraction));
        }
        let data_name = keys.required("Data filename")?;
        let max_lines: usize = keys.one("Maximum number of lines per event", Some(1))?;
        if !(1..=usize::from(u16::MAX)).contains(&max_lines) {
            return Err(keys.invalid("Maximum number of lines per event", &max_lines.to_string(), "1 to 65535"));
        }
        // A normalisation is of no time.
        let no_time = (mode == Mode::Normalization).then_some(0.0);
        let header = Self {
            path: path.to_owned(),
            scanner: keys.required("Scanner name")?.to_owned(),
            data: path.parent().unwrap_or(Path::new("")).join(data_name),
            num_events: keys.one("Number of events", None)?,
            mode,
            start_secs: keys.one("Start time (s)", no_time)?,
            duration_secs: keys.one("Duration (s)", no_time)?,
            max_lines,
            calibration: keys.positive("Calibration factor", Some(1.0))?,
            has_attenuation: keys.flag("Attenuation correction flag")?,
            has_normalization: keys.flag("Normalization correction flag")?,
            has_scatter: keys.flag("Scatter correction flag")?,
            has_randoms: keys.flag("Random correction flag")?,
            has_kind: keys.flag("Coincidence kind flag")?,
            max_axial_mm: Some(keys.one("Maximum axial difference mm", Some(-1.0))?).filter(|mm| *mm >= 0.0),
            isotope: keys.text("Isotope").filter(|name| !name.is_empty() && *name != "unknown").map(str::to_owned),
            tof: tof(&keys, mode)?,
        };
        header.check(&keys)?;
        Ok(header)
    }

    fn check(&self, keys: &Keys) -> Result<(), IoError> {
        if self.has_kind && self.mode != Mode::List {
            return Err(keys.invalid("Coincidence kind flag", "1", "0, for only the events of a list have one,"));
        }
        if !self.start_secs.is_finite() {
            return Err(keys.invalid("Start time (s)", &self.start_secs.to_string(), "a number"));
        }
        let has_rates = self.has_scatter || self.has_randoms;
        let is_duration = (0.0..=1e9).contains(&self.duration_secs) && (self.duration_secs > 0.0 || !has_rates);
        if !is_duration {
            let expected = "a number of seconds (above 0 where there are counts per second)";
            return Err(keys.invalid("Duration (s)", &self.duration_secs.to_string(), expected));
        }
        Ok(())
    }

    /// Returns the layout of the entries.
    pub(super) fn layout(&self) -> Layout {
        let mut layout = Layout::default();
        let mut size = 0;
        let mut take = |is_present: bool, bytes: usize| {
            let offset = size;
            size += if is_present { bytes } else { 0 };
            is_present.then_some(offset)
        };
        let (is_list, is_histogram) = (self.mode == Mode::List, self.mode == Mode::Histogram);
        layout.time = take(is_list || is_histogram, 4);
        layout.attenuation = take(self.has_attenuation, 4);
        take(self.has_kind, 1);
        layout.scatter = take(is_list && self.has_scatter, 4);
        layout.randoms = take((is_list || is_histogram) && self.has_randoms, 4);
        layout.normalization = take(self.has_normalization, 4);
        layout.measured = take(is_list && self.tof.is_some(), 4);
        if is_histogram {
            layout.measured = take(true, self.num_tof_bins() * self.bytes_per_tof_bin());
        }
        layout.num_lines = take(self.max_lines > 1, 2);
        layout.lines = take(true, 8 * self.max_lines).unwrap_or_default();
        Layout { size, ..layout }
    }

    /// Bins that an entry of a histogram has.
    pub(super) fn num_tof_bins(&self) -> usize {
        match self.tof {
            Some(Tof::Histogram { num_bins, .. }) => num_bins,
            _ => 1,
        }
    }

    /// Returns the bytes of each: its counts, and scatter.
    pub(super) fn bytes_per_tof_bin(&self) -> usize {
        if self.has_scatter { 8 } else { 4 }
    }
}

fn mode(keys: &Keys) -> Result<Mode, IoError> {
    let found = keys.required("Data mode")?;
    match found.to_lowercase().as_str() {
        "list" | "listmode" | "list-mode" => Ok(Mode::List),
        "histogram" => Ok(Mode::Histogram),
        "normalization" => Ok(Mode::Normalization),
        _ => Err(keys.invalid("Data mode", found, "list-mode, histogram or normalization")),
    }
}

fn tof(keys: &Keys, mode: Mode) -> Result<Option<Tof>, IoError> {
    if mode == Mode::Normalization || !keys.flag("TOF information flag")? {
        return Ok(None);
    }
    let fwhm_ps = keys.positive("TOF resolution (ps)", None)?;
    if mode == Mode::List {
        let range_ps = keys.positive("List TOF measurement range (ps)", None)?;
        let step = "List TOF quantization bin size (ps)";
        let step_ps = keys.text(step).map(|_| keys.positive(step, None)).transpose()?;
        return Ok(Some(Tof::List { fwhm_ps, range_ps, step_ps }));
    }
    const NUM: &str = "Histo TOF number of bins";
    let num_bins: usize = keys.one(NUM, None)?;
    if !(2..=usize::from(u16::MAX)).contains(&num_bins) {
        return Err(keys.invalid(NUM, &num_bins.to_string(), "a number from 2 to 65535"));
    }
    Ok(Some(Tof::Histogram { fwhm_ps, num_bins, bin_ps: keys.positive("Histo TOF bin size (ps)", None)? }))
}
