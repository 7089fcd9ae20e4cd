//! What of the user's work is kept from one day to the next: the study, the settings of its runs, regions, views and plots. The
//! images are not in it: they are reconstructed again. As a file it is TOML:
//!
//! ```toml
//! version = 1
//! saved = "2026-11-23T01:10:00Z"
//!
//! [study]
//! title = "NEMA image quality 2001, Discovery STE"
//! source.built-in = "NEMA image quality 2001, Discovery STE"  # or file = PATH, [study.source.counts], [study.source.sweep]
//! tubes = "/data/vrpet.tubes"      # a file of tubes of response that was opened for it; matrix = likewise
//!
//! [next]                           # settings of the next start; [[run]]: those of the runs that there were, oldest first
//! [view]                           # crosshair, zoom, layout, …
//! [colouring]                      # palette and window
//! [plots]                          # which curves
//! [[roi]]                          # as in a ROI file
//! ```

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::data::Roi;
use crate::io::rois::{self, RoiEntry};
use crate::io::{IoError, RoiProblem, session_text};
use crate::plan::{ListFiles, ScanFiles, StudyFiles, SweepFiles};
use crate::text::counted;
use crate::ui::plots::BottomTab;
use crate::ui::plots::plot_options::PlotOptions;
use crate::ui::rois::measured::RoiLabels;
use crate::ui::run::form::forms::Forms;
use crate::ui::run::form::settings::SettingsForm;
use crate::ui::run::form::stop_form::StopForm;
use crate::ui::slices::view::ViewState;
use crate::ui::study::loader::{BUILT_IN, Source};
use crate::ui::widgets::colour_scale::ColourScale;
use crate::ui::widgets::fields::held_within;

/// The user's work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SavedSession {
    /// Version of the form.
    pub version: u32,
    /// When it was saved.
    pub saved: String,
    /// What is reconstructed.
    pub study: SavedStudy,
    /// The left part of the bottom panel, and how regions are measured.
    pub numbers: SavedNumbers,
    /// Settings of the next start.
    pub next: SavedRun,
    /// What the slices show.
    pub view: ViewState,
    /// Palette and window.
    pub colouring: ColourScale,
    /// Which curves are drawn.
    pub plots: PlotOptions,
    /// Settings of the runs that there were, oldest first.
    #[serde(default, rename = "run")]
    pub runs: Vec<SavedRun>,
    /// The regions.
    #[serde(default)]
    pub roi: Vec<RoiEntry>,
}

/// What is reconstructed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SavedStudy {
    /// Name for people.
    pub title: String,
    /// The file of tubes of response that was opened for it.
    pub tubes: Option<PathBuf>,
    /// The file of a matrix that was opened for it.
    pub matrix: Option<PathBuf>,
    source: SavedSource,
}

/// A [`Source`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum SavedSource {
    File(PathBuf),
    Counts(ScanFiles),
    List(ListFiles),
    Sweep(SweepFiles),
    BuiltIn(String),
}

/// The left part of the bottom panel, and how regions are measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SavedNumbers {
    /// What it shows.
    pub tab: BottomTab,
    /// Beside which outlines numbers stand.
    pub labels: RoiLabels,
    /// Whether the table leaves the filter on the image out.
    pub measure_unfiltered: bool,
}

/// Settings of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SavedRun {
    /// What it was, in words; empty: it was not yet.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub title: String,
    /// FWHM of the Gaussian on what is shown, mm; 0 = none.
    #[serde(default)]
    pub post_filter_mm: f64,
    /// Of counts, until version 0.1 not of a sweep.
    #[serde(default, alias = "counts")]
    settings: SettingsForm,
    /// Of a sweep, until version 0.1.
    #[serde(default, skip_serializing)]
    sweep: Option<SettingsForm>,
    /// When it stops by itself.
    #[serde(default)]
    stop: StopForm,
}

impl SavedRun {
    /// The settings of a run.
    pub fn new(title: String, forms: &Forms, post_filter_mm: f64) -> Self {
        Self { title, post_filter_mm, settings: forms.settings.clone(), sweep: None, stop: forms.stop.clone() }
    }

    /// The forms with these settings; what the study leaves to choose from stays as it is in `forms`.
    pub fn forms(&self, forms: &Forms) -> Forms {
        let SettingsForm { bounds, subset_rule, .. } = forms.settings;
        Forms { settings: SettingsForm { bounds, subset_rule, ..self.settings.clone() }, stop: self.stop.clone() }
    }

    /// What a text can hold and no field of the window would take is put right.
    fn sanitize(&mut self) {
        self.post_filter_mm = held_within(self.post_filter_mm, 0.0, 50.0);
        self.stop.sanitize();
        if let Some(sweep) = self.sweep.take() {
            self.settings = sweep;
        }
        self.settings.sanitize();
    }
}

impl SavedStudy {
    /// A study from this source, with these files of tubes and of a matrix; files are named by their full paths. `None` where it is on
    /// another machine: the session would be opened without that.
    pub fn new(title: &str, source: &Source, tubes: Option<PathBuf>, matrix: Option<PathBuf>) -> Option<Self> {
        let full = |path: &PathBuf| std::path::absolute(path).unwrap_or_else(|_| path.clone());
        let source = match source {
            Source::Files(StudyFiles::File(path)) => SavedSource::File(full(path)),
            Source::Files(StudyFiles::Counts(files)) => SavedSource::Counts(ScanFiles {
                measured: full(&files.measured),
                multiplicative: files.multiplicative.as_ref().map(full),
                additive: files.additive.as_ref().map(full),
                ..*files
            }),
            // Another day it is whole.
            Source::Files(StudyFiles::Events(files)) => {
                SavedSource::List(ListFiles { is_followed: false, ..files.map_paths(full) })
            }
            Source::Files(StudyFiles::Sweep(files)) => SavedSource::Sweep(SweepFiles {
                projections: full(&files.projections),
                reference: files.reference.as_ref().map(full),
                ..*files
            }),
            Source::BuiltIn(study) => SavedSource::BuiltIn(study.title.to_owned()),
            Source::Elsewhere(_) => return None,
        };
        let [tubes, matrix] = [tubes, matrix].map(|path| path.as_ref().map(full));
        Some(Self { title: title.to_owned(), tubes, matrix, source })
    }

    /// Where it comes from.
    ///
    /// # Errors
    /// A built-in study that there is not.
    pub fn source(&self) -> Result<Source, String> {
        Ok(match &self.source {
            SavedSource::File(path) => Source::file(path),
            SavedSource::Counts(files) => Source::Files(StudyFiles::Counts(files.clone())),
            SavedSource::List(files) => Source::Files(StudyFiles::Events(files.clone())),
            SavedSource::Sweep(files) => Source::Files(StudyFiles::Sweep(files.clone())),
            SavedSource::BuiltIn(title) => {
                let study = BUILT_IN.iter().find(|study| study.title == title);
                Source::BuiltIn(study.ok_or_else(|| format!("there is no built-in study '{title}'"))?.clone())
            }
        })
    }

    /// Files that have gone from where they were are looked for in this folder: a session and its data may have moved together.
    fn look_in(&mut self, folder: &Path) {
        let found = |path: &mut PathBuf| {
            if let Some(beside) = path.file_name().map(|name| folder.join(name))
                && !path.exists()
                && beside.exists()
            {
                *path = beside;
            }
        };
        self.tubes.iter_mut().chain(&mut self.matrix).for_each(found);
        match &mut self.source {
            SavedSource::File(path) => found(path),
            SavedSource::Counts(ScanFiles { measured, multiplicative, additive, .. }) => {
                std::iter::once(measured).chain(multiplicative).chain(additive).for_each(found);
            }
            SavedSource::List(ListFiles { list, attenuation, crystals, normalization, .. }) => {
                std::iter::once(list).chain(attenuation).chain(crystals).chain(normalization).for_each(found);
            }
            SavedSource::Sweep(SweepFiles { projections, reference, .. }) => {
                std::iter::once(projections).chain(reference).for_each(found);
            }
            SavedSource::BuiltIn(_) => {}
        }
    }
}

impl SavedSession {
    /// Reads it from a file.
    ///
    /// # Errors
    /// The file cannot be read, is none, or has another version.
    pub fn read(path: &Path) -> Result<Self, IoError> {
        let mut session: Self = session_text::read(path)?;
        session.sanitize();
        if let Some(folder) = path.parent() {
            session.study.look_in(folder);
        }
        Ok(session)
    }

    /// Takes it out of a text.
    ///
    /// # Errors
    /// It is none, or has another version.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut session: Self = session_text::parse(text).map_err(|problem| problem.to_string())?;
        session.sanitize();
        Ok(session)
    }

    /// Its text.
    ///
    /// # Errors
    /// Something in it has no text.
    pub fn text(&self) -> Result<String, String> {
        session_text::text(self).map_err(|problem| problem.to_string())
    }

    /// Writes it.
    ///
    /// # Errors
    /// It has no text, or the file cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), IoError> {
        session_text::write(path, self)
    }

    /// The regions.
    ///
    /// # Errors
    /// Which one cannot be, and why.
    pub fn rois(&self) -> Result<Vec<Roi>, RoiProblem> {
        rois::of_entries(&self.roi)
    }

    /// Title of the study, number of runs and of regions.
    pub fn label(&self) -> String {
        format!("{}, {}, {}", self.study.title, counted(self.runs.len(), "run"), counted(self.roi.len(), "region"))
    }

    /// What a text can hold and nothing in the window would make is put right.
    fn sanitize(&mut self) {
        self.view.sanitize();
        self.colouring.sanitize();
        self.plots.sanitize();
        self.runs.iter_mut().chain([&mut self.next]).for_each(SavedRun::sanitize);
    }
}
