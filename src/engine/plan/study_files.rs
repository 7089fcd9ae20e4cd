//! The files of a study: measured data and corrections, a list-mode file and its attenuation map, or projections and their
//! reference spectrum. The user chooses them, or they are found in the same folder.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use strum::VariantArray as _;

use crate::coded::coded;
use crate::data::{CorrectionContent, Counts, CtSettings, EventList, MuUnit, Notice, Study, Sweep};
use crate::io::formats::Format;
use crate::io::list_mode::{ListOptions, YrtFields};
use crate::io::{
    self, Correction, CorrectionFiles, FileKind, IoError, PetricFolder, read_image_study, read_oximetry_study, read_pair_study,
    read_sweep_at_phase,
};
use crate::plan::algorithms::traits::DataKind;
use crate::plan::attenuation::factors_cache::attenuated;
use crate::plan::attenuation::maps::read_maps;
use crate::plan::error::{AttenuationError, ListError, SetupError};
use crate::plan::job::acquisition::Acquisition;
use crate::plan::job::data::Data;
use crate::plan::list_mode::study::{ListSelection, list_study};
use crate::plan::simulation::cache::Cache;
use crate::recon::field_warnings;
use crate::task::Task;

/// The files of a study of any kind that a window can reconstruct on another machine too.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StudyFiles {
    /// One file, with related files of its folder.
    File(PathBuf),
    /// Counts and their corrections.
    Counts(ScanFiles),
    /// List-mode data.
    #[serde(rename = "list")]
    Events(ListFiles),
    /// An EPRI sweep.
    Sweep(SweepFiles),
}

/// Cause of a study that could not be read.
#[derive(Debug, thiserror::Error)]
pub enum StudyError {
    /// A file could not be read, or a correction has another sampling than the data.
    #[error(transparent)]
    Io(#[from] IoError),
    /// List-mode data could not be read.
    #[error(transparent)]
    List(#[from] ListError),
    /// The attenuation of the object is not usable.
    #[error(transparent)]
    Attenuation(#[from] AttenuationError),
    /// Factors that include the attenuation, and a map of it.
    #[error(
        "the attenuation would be corrected twice: the factors of {factors} include it ({reason}), and {map} is its map; omit one of them"
    )]
    AttenuatedTwice {
        /// Name of the file of the factors.
        factors: String,
        /// Name of the map.
        map: String,
        /// Evidence for it.
        reason: String,
    },
    /// A correction in the folder of the scan could not be used.
    #[error("correction {found} of {scan}: {source}; move the file to another folder, or use --no-corrections")]
    Correction {
        /// Names of the corrections.
        found: String,
        /// Name of the scan.
        scan: String,
        /// The cause.
        source: Box<IoError>,
    },
}

coded!(StudyError = "study"; Io, List, Attenuation);

/// Returns the kind of the data in a file or folder; `None` of a file without any.
pub fn data_kind_of(path: &Path) -> Option<DataKind> {
    if PetricFolder::of(path).is_some() {
        return Some(DataKind::Projections);
    }
    match Format::of_file(path)?.kind {
        kind if kind.is_scan() => Some(DataKind::Projections),
        kind if kind.is_list() => Some(DataKind::Events),
        kind if kind.is_sweep() => Some(DataKind::Sweep),
        FileKind::Pairs => Some(DataKind::Pairs),
        FileKind::Oximetry => Some(DataKind::Oximetry),
        kind if kind.is_image() => Some(DataKind::Images),
        _ => None,
    }
}

impl StudyFiles {
    /// Reads them, and returns the study with the files that it was read from. (A file that is still being written is read as it
    /// is.) The cache stores attenuation factors.
    ///
    /// # Errors
    /// A file is not readable, or the files do not match.
    pub fn read(&self, cache: &Cache, task: &Task) -> Result<(Study<Data>, StudyFiles), StudyError> {
        let study = match self {
            Self::File(path) => match data_kind_of(path) {
                Some(DataKind::Events) => return Self::Events(ListFiles::of(path)).read(cache, task),
                Some(DataKind::Sweep) => return Self::Sweep(SweepFiles::of(path)).read(cache, task),
                Some(DataKind::Pairs) => read_pair_study(path)?.map(Data::from),
                Some(DataKind::Images) => read_image_study(path)?.map(Data::from),
                Some(DataKind::Oximetry) => read_oximetry_study(path)?.map(Data::from),
                Some(DataKind::Projections) | None => {
                    let scan = ScanFiles::uncorrected(path).with_neighbours();
                    return Ok((scan.read(cache, task)?.map(Data::from), Self::Counts(scan.files)));
                }
            },
            Self::Counts(files) => files.read(cache, task)?.map(Data::from),
            Self::Events(files) => files.read(task)?.map(Data::from),
            Self::Sweep(files) => files.read()?.map(|sweep| Data::from(Acquisition::complete(sweep))),
        };
        Ok((study, self.clone()))
    }

    /// Returns the same as files of this kind of data, where they are of another.
    pub fn of_kind(self, kind: DataKind) -> Self {
        match (self, kind) {
            (files @ Self::Counts(_), DataKind::Projections)
            | (files @ Self::Events(_), DataKind::Events)
            | (files @ Self::Sweep(_), DataKind::Sweep) => files,
            (files, DataKind::Projections) => Self::Counts(ScanFiles::uncorrected(files.measured())),
            (files, DataKind::Events) => Self::Events(ListFiles::of(files.measured())),
            (files, DataKind::Sweep) => Self::Sweep(SweepFiles::of(files.measured())),
            (files, _) => Self::File(files.measured().to_owned()),
        }
    }

    /// Returns true if they are still being written.
    pub fn are_followed(&self) -> bool {
        match self {
            Self::File(_) | Self::Counts(_) => false,
            Self::Events(files) => files.is_followed,
            Self::Sweep(files) => files.is_followed,
        }
    }

    /// Returns the paths of all files, to be changed.
    pub fn paths_mut(&mut self) -> Vec<&mut PathBuf> {
        match self {
            Self::File(path) => vec![path],
            Self::Counts(ScanFiles { measured, multiplicative, additive, attenuation, added_attenuation, .. }) => {
                let corrections = multiplicative.iter_mut().chain(additive).chain(attenuation);
                std::iter::once(measured).chain(corrections).chain(added_attenuation).collect()
            }
            Self::Events(ListFiles { list, attenuation, added_attenuation, crystals, normalization, .. }) => {
                let tables = crystals.iter_mut().chain(normalization);
                std::iter::once(list).chain(attenuation).chain(added_attenuation).chain(tables).collect()
            }
            Self::Sweep(SweepFiles { projections, reference, .. }) => std::iter::once(projections).chain(reference).collect(),
        }
    }

    /// Returns the file with the measured data.
    pub fn measured(&self) -> &Path {
        match self {
            Self::File(path)
            | Self::Counts(ScanFiles { measured: path, .. })
            | Self::Events(ListFiles { list: path, .. })
            | Self::Sweep(SweepFiles { projections: path, .. }) => path,
        }
    }
}

/// Correlation of the logarithms of factors of unknown content with the integrals of a map of attenuation above which the factors
/// include that attenuation.
const MAX_CORRELATION: f64 = 0.9;

/// Measured data and its corrections.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScanFiles {
    /// Measured data.
    pub measured: PathBuf,
    /// Factors.
    pub multiplicative: Option<PathBuf>,
    /// True if the file of the factors holds their inverse: correction factors (STIR's ACF, normalisation).
    #[serde(default)]
    pub multiplicative_inverse: bool,
    /// Background.
    pub additive: Option<PathBuf>,
    /// True if the background is added before the factors are applied (STIR's convention).
    pub additive_inside: bool,
    /// Attenuation of the object, by which the factors are multiplied: a map of µ or, with `ct`, CT.
    #[serde(default)]
    pub attenuation: Option<PathBuf>,
    /// Further maps of µ, as of a bed.
    #[serde(default)]
    pub added_attenuation: Vec<PathBuf>,
    /// Conversion of CT.
    #[serde(default)]
    pub ct: Option<CtSettings>,
    /// Unit of the maps of µ; `None` = that of each file, or by its values.
    #[serde(default)]
    pub mu_unit: Option<MuUnit>,
    /// True if corrections may name the checksum of another scan.
    #[serde(default)]
    pub of_another_scan: bool,
}

impl ScanFiles {
    /// Returns data without corrections.
    pub fn uncorrected(measured: &Path) -> Self {
        let measured = measured.to_owned();
        Self {
            measured,
            multiplicative: None,
            multiplicative_inverse: false,
            additive: None,
            additive_inside: false,
            attenuation: None,
            added_attenuation: Vec::new(),
            ct: None,
            mu_unit: None,
            of_another_scan: false,
        }
    }

    /// Returns the same files with the corrections of the same folder under their usual names; a named correction stays. A folder
    /// of PETRIC becomes its prompts.
    pub fn with_neighbours(self) -> ScanWithNeighbours {
        let (mut files, mut found) = (self, Vec::new());
        let petric = PetricFolder::of(&files.measured);
        let neighbours = match &petric {
            Some(folder) => {
                files.measured = folder.prompts();
                folder.corrections()
            }
            None => [Correction::Multiplicative, Correction::Additive]
                .map(|which| Some(which.path_beside(&files.measured)).filter(|path| path.is_file())),
        };
        for (which, neighbour) in [Correction::Multiplicative, Correction::Additive].into_iter().zip(neighbours) {
            let correction = files.correction_mut(which);
            if let (None, Some(neighbour)) = (&correction, neighbour) {
                found.push((which, file_name(&neighbour)));
                *correction = Some(neighbour);
                files.additive_inside |= petric.is_some() && which == Correction::Additive;
            }
        }
        ScanWithNeighbours { files, found }
    }

    /// Returns the same files without other files of the folder.
    pub fn alone(self) -> ScanWithNeighbours {
        ScanWithNeighbours { files: self, found: Vec::new() }
    }

    /// Returns the file of a correction.
    pub fn correction(&self, which: Correction) -> Option<&Path> {
        match which {
            Correction::Multiplicative => self.multiplicative.as_deref(),
            Correction::Additive => self.additive.as_deref(),
        }
    }

    /// Returns the file of a correction, to be changed.
    pub fn correction_mut(&mut self, which: Correction) -> &mut Option<PathBuf> {
        match which {
            Correction::Multiplicative => &mut self.multiplicative,
            Correction::Additive => &mut self.additive,
        }
    }

    /// Returns true if both corrections exist, so that their order matters.
    pub fn is_fully_corrected(&self) -> bool {
        Correction::VARIANTS.iter().all(|which| self.correction(*which).is_some())
    }

    /// Returns the corrections of these counts in words.
    pub fn corrections(&self, counts: &Counts) -> String {
        let named = |path: &PathBuf, what: &str| format!("{what}: {}", file_name(path));
        let inside = if self.additive_inside && self.is_fully_corrected() { " (inside the factors)" } else { "" };
        let inverse = if self.multiplicative_inverse { " (their inverse)" } else { "" };
        let factors = self.multiplicative.as_ref().map(|path| named(path, "multiplicative") + inverse);
        let included = || counts.additive.as_ref().map(|_| "additive: the scan's own randoms".to_owned());
        let background = self.additive.as_ref().map(|path| named(path, "additive") + inside).or_else(included);
        let attenuation = self.attenuation.as_ref().map(|path| named(path, "attenuation"));
        let attenuation = attenuation.map(|text| {
            let added = self.added_attenuation.iter().map(file_name);
            std::iter::once(text).chain(added).collect::<Vec<_>>().join(" and ")
        });
        let parts: Vec<String> = [factors, background, attenuation].into_iter().flatten().collect();
        if parts.is_empty() { "none".into() } else { parts.join("; ") }
    }

    /// Reads them.
    ///
    /// # Errors
    /// A file is not readable, a correction is sampled differently from the data, or the attenuation is not usable.
    pub fn read(&self, cache: &Cache, task: &Task) -> Result<Study<Counts>, StudyError> {
        self.attenuated(self.corrected()?, cache, task)
    }

    /// Reads the data with their factors and their background, and the images of a folder of PETRIC.
    fn corrected(&self) -> Result<Study<Counts>, IoError> {
        let (factors, background) = (self.multiplicative.as_deref(), self.additive.as_deref());
        if !self.of_another_scan {
            let mut corrections = [factors, background].into_iter().flatten();
            corrections.try_for_each(|correction| io::check_correction(correction, &self.measured))?;
        }
        let &Self { multiplicative_inverse, additive_inside, .. } = self;
        let corrections =
            CorrectionFiles { multiplicative: factors, multiplicative_inverse, additive: background, additive_inside };
        let mut study = io::read_study(&self.measured, corrections)?;
        if let Some(folder) = PetricFolder::of(&self.measured) {
            let (preset, rois, notices) = folder.read_preset()?;
            study.notices.extend(notices);
            study = Study { title: folder.title(), preset: Some(Arc::new(preset)), rois, ..study };
        }
        Ok(study)
    }

    /// Returns the name of the factors if their contents are unknown.
    ///
    /// # Errors
    /// They include the attenuation, which a map adds.
    fn check_contents(&self, map: &Path) -> Result<Option<String>, StudyError> {
        let Some(path) = &self.multiplicative else { return Ok(None) };
        match io::correction_contents(path)? {
            None => Ok(Some(file_name(path))),
            Some(contents) if contents.contains(&CorrectionContent::Attenuation) => {
                let reason = "by its header".to_owned();
                Err(StudyError::AttenuatedTwice { factors: file_name(path), map: file_name(map), reason })
            }
            Some(_) => Ok(None),
        }
    }

    /// Returns the study whose factors include the attenuation.
    fn attenuated(&self, study: Study<Counts>, cache: &Cache, task: &Task) -> Result<Study<Counts>, StudyError> {
        let Some(file) = &self.attenuation else { return Ok(study) };
        let Study { measured, mut notices, mut origin, .. } = study;
        let field = measured.geometry().default_grid().map_err(|error| AttenuationError::from(SetupError::from(error)))?;
        let (maps, found) = read_maps(file, self.ct.as_ref(), &self.added_attenuation, self.mu_unit, &field)?;
        notices.extend(found);
        let unknown = self.check_contents(file)?;
        (origin.attenuation, origin.added_attenuation) = (Some(file.clone()), self.added_attenuation.clone());
        origin.ct = maps.first().and_then(|map| map.ct);
        let (measured, found, correlation) = attenuated(cache, measured, maps, task)?;
        notices.extend(found);
        if let (Some(factors), Some(correlation)) = (unknown, correlation) {
            let map = file_name(file);
            if correlation > MAX_CORRELATION {
                let reason = format!("the correlation of their logarithms with the integrals of the map is {correlation:.3}");
                return Err(StudyError::AttenuatedTwice { factors, map, reason });
            }
            notices.push(Notice::warning(format!(
                "the factors of {factors} are multiplied by the attenuation of {map}: they must not include it"
            )));
        }
        Ok(Study { measured, notices, origin, ..study })
    }
}

/// A scan with the corrections of its folder: the rule of the window and of the command line.
#[derive(Clone, Debug, PartialEq)]
pub struct ScanWithNeighbours {
    /// The scan and all its corrections.
    pub files: ScanFiles,
    /// Corrections found in the folder, with their names.
    found: Vec<(Correction, String)>,
}

impl ScanWithNeighbours {
    /// Reads them; a notice names the corrections found in the folder of the scan.
    ///
    /// # Errors
    /// As [`ScanFiles::read`]; for a correction found in the folder, with the remedy.
    pub fn read(&self, cache: &Cache, task: &Task) -> Result<Study<Counts>, StudyError> {
        let read = self.files.corrected();
        if self.found.is_empty() {
            return self.files.attenuated(read?, cache, task);
        }
        let names: Vec<&str> = self.found.iter().map(|(_, name)| name.as_str()).collect();
        let (scan, found) = (file_name(&self.files.measured), names.join(" and "));
        let mut study = match read {
            Ok(study) => study,
            Err(source) => {
                // Without these corrections the scan and the named corrections report their own error.
                let mut named = self.files.clone();
                self.found.iter().for_each(|(which, _)| *named.correction_mut(*which) = None);
                named.corrected()?;
                return Err(StudyError::Correction { found, scan, source: Box::new(source) });
            }
        };
        study.notices.push(Notice::info(format!("{scan}: corrections of the same folder used, {found}")));
        self.files.attenuated(study, cache, task)
    }
}

/// An EPRI sweep and its reference spectrum.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SweepFiles {
    /// The projections.
    pub projections: PathBuf,
    /// The reference spectrum; `None` = the one of the same folder, if it exists.
    pub reference: Option<PathBuf>,
    /// The phase that complex projections are turned back by, degrees; `None` = their own.
    pub phase: Option<f64>,
    /// True if the file is still being written.
    pub is_followed: bool,
}

impl SweepFiles {
    /// Returns a finished sweep with the reference of its folder.
    pub fn of(projections: &Path) -> Self {
        Self { projections: projections.to_owned(), reference: None, phase: None, is_followed: false }
    }

    /// Reads them.
    ///
    /// # Errors
    /// A file is not readable, or the files do not match.
    pub fn read(&self) -> Result<Study<Sweep>, IoError> {
        let mut study = read_sweep_at_phase(&self.projections, self.reference.as_deref(), self.phase)?;
        study.notices.extend(field_warnings(&study.measured));
        Ok(study)
    }
}

/// A list-mode file, and information that its own files lack.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ListFiles {
    /// The list.
    pub list: PathBuf,
    /// Attenuation of its object: a map of µ or, with `ct`, CT.
    pub attenuation: Option<PathBuf>,
    /// Further maps of µ, as of a bed.
    #[serde(default)]
    pub added_attenuation: Vec<PathBuf>,
    /// Conversion of CT.
    #[serde(default)]
    pub ct: Option<CtSettings>,
    /// Unit of the maps of µ; `None` = that of each file, or by its values.
    #[serde(default)]
    pub mu_unit: Option<MuUnit>,
    /// The table of the scanner's crystals.
    #[serde(default)]
    pub crystals: Option<PathBuf>,
    /// CASToR: detection efficiencies of all crystal pairs.
    #[serde(default)]
    pub normalization: Option<PathBuf>,
    /// YRT-PET: what its events hold.
    #[serde(default)]
    pub yrt: YrtFields,
    /// True if the file is still being written.
    #[serde(default)]
    pub is_followed: bool,
}

impl ListFiles {
    /// Returns a list-mode file that needs no further information.
    pub fn of(list: &Path) -> Self {
        let (list, yrt) = (list.to_owned(), YrtFields::default());
        let (attenuation, added_attenuation, ct, mu_unit) = (None, Vec::new(), None, None);
        let (crystals, normalization, is_followed) = (None, None, false);
        Self { list, attenuation, added_attenuation, ct, mu_unit, crystals, normalization, yrt, is_followed }
    }

    /// Returns the information that the list-mode file lacks.
    pub fn options(&self) -> ListOptions {
        ListOptions {
            scanner: self.crystals.clone(),
            normalization: self.normalization.clone(),
            attenuation: self.attenuation.clone(),
            added_attenuation: self.added_attenuation.clone(),
            ct: self.ct,
            mu_unit: self.mu_unit,
            yrt: self.yrt,
        }
    }

    /// Reads them.
    ///
    /// # Errors
    /// A file is not readable, or the files do not match.
    pub fn read(&self, task: &Task) -> Result<Study<EventList>, ListError> {
        list_study(&self.list, &self.options(), &ListSelection::default(), task)
    }
}

fn file_name(path: impl AsRef<Path>) -> String {
    path.as_ref().file_name().unwrap_or_default().to_string_lossy().into_owned()
}
