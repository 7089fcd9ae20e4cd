//! Content of a session: the study, the settings of its runs, regions, views and plots. Images are reconstructed again. The
//! file format is TOML:
//!
//! ```toml
//! version = 1
//! saved = "2026-11-23T01:10:00Z"
//!
//! [study]
//! title = "NEMA image quality 2001, Discovery STE"
//! source.built-in = "NEMA image quality 2001, Discovery STE"  # or the files of the study: file = PATH, [study.source.counts], …
//! tubes = "/data/vrpet.tubes"      # opened file of tubes of response; matrix = likewise
//!
//! [next]                           # settings of the next run; [[run]]: of earlier runs, oldest first
//! [view]                           # crosshair, zoom, layout, …
//! [colouring]                      # palette and window
//! [plots]                          # curves
//! [layer]                          # second image: path, display, registration
//! [lesions]                        # their threshold, liver and baseline
//! [images]                         # unit and changed facts of images of another program
//! [[roi]]                          # as in a ROI file
//! ```

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::data::Roi;
use crate::io::rois::{self, RoiEntry};
use crate::io::{IoError, session_text};
use crate::plan::{ListFiles, StudyFiles};
use crate::text::counted;
use crate::ui::layer::second_image::SavedLayer;
use crate::ui::rois::measured::RoiLabels;
use crate::ui::run::form::forms::Forms;
use crate::ui::run::form::settings::SettingsForm;
use crate::ui::run::form::stop_form::StopForm;
use crate::ui::run::plot_options::PlotOptions;
use crate::ui::slices::view::ViewState;
use crate::ui::study::open::open_images::ImageChanges;
use crate::ui::study::source::{BUILT_IN, Source};
use crate::ui::widgets::colour_scale::ColourScale;
use crate::ui::widgets::fields::held_within;

/// Parts of the tools by their keys.
pub type SavedTools = BTreeMap<String, toml::Value>;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SavedSession {
    pub version: u32,
    /// Time of saving.
    pub saved: String,
    pub study: SavedStudy,
    /// Left part of the bottom panel, and measurement of the regions.
    pub numbers: SavedNumbers,
    /// Settings of the next run.
    pub next: SavedRun,
    pub view: ViewState,
    pub colouring: ColourScale,
    pub plots: PlotOptions,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layer: Option<SavedLayer>,
    /// Parts of the tools, and fields without a tool.
    #[serde(flatten)]
    pub tools: SavedTools,
    /// Unit and changed facts of images of another program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub images: Option<ImageChanges>,
    /// Settings of earlier runs, oldest first.
    #[serde(default, rename = "run")]
    pub runs: Vec<SavedRun>,
    #[serde(default)]
    pub roi: Vec<RoiEntry>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SavedStudy {
    pub title: String,
    /// Opened file of tubes of response.
    pub tubes: Option<PathBuf>,
    /// Opened file of a system matrix.
    pub matrix: Option<PathBuf>,
    source: SavedSource,
}

/// [`Source`] of a session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", expecting = "unknown source of the study, or a missing or unknown key of its files")]
enum SavedSource {
    /// Title of the built-in study.
    BuiltIn(String),
    #[serde(untagged)]
    Files(StudyFiles),
}

/// Left part of the bottom panel, and measurement of the regions.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SavedNumbers {
    #[serde(default = "regions")]
    pub tab: String,
    /// Outlines with numbers.
    pub labels: RoiLabels,
    /// True if the table measures the unfiltered image.
    pub measure_unfiltered: bool,
}

/// Returns the key of the table of the regions.
fn regions() -> String {
    "rois".to_owned()
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SavedRun {
    /// Title of the run; empty for the next run.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub title: String,
    /// FWHM of the post-filter, mm; 0: none.
    #[serde(default)]
    pub post_filter_mm: f64,
    /// Settings; until version 0.1 not of an EPRI acquisition.
    #[serde(default, alias = "counts")]
    settings: SettingsForm,
    /// Settings of an EPRI acquisition until version 0.1.
    #[serde(default, skip_serializing)]
    sweep: Option<SettingsForm>,
    #[serde(default)]
    stop: StopForm,
}

impl SavedRun {
    pub fn new(title: String, forms: &Forms, post_filter_mm: f64) -> Self {
        Self { title, post_filter_mm, settings: forms.settings.clone(), sweep: None, stop: forms.stop.clone() }
    }

    /// Returns the forms with these settings; bounds and subset rule of the study remain those of `forms`.
    pub fn forms(&self, forms: &Forms) -> Forms {
        let SettingsForm { bounds, subset_rule, preset_grid, .. } = forms.settings.clone();
        Forms { settings: SettingsForm { bounds, subset_rule, preset_grid, ..self.settings.clone() }, stop: self.stop.clone() }
    }

    /// Replaces values outside the bounds of the fields.
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
    /// Returns the study of a source with absolute paths; `None` for a remote study, because sessions are opened locally.
    pub fn new(title: &str, source: &Source, tubes: Option<PathBuf>, matrix: Option<PathBuf>) -> Option<Self> {
        let source = match source {
            // The file will be complete.
            Source::Files(StudyFiles::Events(files)) => {
                SavedSource::Files(StudyFiles::Events(ListFiles { is_followed: false, ..files.clone() }))
            }
            Source::Files(files) => SavedSource::Files(files.clone()),
            Source::BuiltIn(study) => SavedSource::BuiltIn(study.title.to_owned()),
            Source::Elsewhere(_) => return None,
        };
        let mut study = Self { title: title.to_owned(), tubes, matrix, source };
        for path in study.paths_mut() {
            *path = std::path::absolute(&*path).unwrap_or_else(|_| path.clone());
        }
        Some(study)
    }

    /// Returns its source.
    ///
    /// # Errors
    /// Unknown built-in study.
    pub fn source(&self) -> Result<Source, String> {
        Ok(match &self.source {
            SavedSource::Files(files) => Source::Files(files.clone()),
            SavedSource::BuiltIn(title) => {
                let study = BUILT_IN.iter().find(|study| study.title == title);
                Source::BuiltIn(study.ok_or_else(|| format!("there is no built-in study '{title}'"))?.clone())
            }
        })
    }

    fn paths_mut(&mut self) -> impl Iterator<Item = &mut PathBuf> {
        let files = if let SavedSource::Files(files) = &mut self.source { files.paths_mut() } else { Vec::new() };
        files.into_iter().chain(&mut self.tubes).chain(&mut self.matrix)
    }
}

impl SavedSession {
    /// Searches missing files in this folder: session and data may have moved together.
    fn find_moved_files(&mut self, folder: &Path) {
        let layer = self.layer.iter_mut().map(|layer| &mut layer.path);
        let radicals = self.next.settings.radicals.iter_mut().map(|radical| &mut radical.file);
        for path in self.study.paths_mut().chain(layer).chain(radicals) {
            if let Some(moved) = path.file_name().map(|name| folder.join(name))
                && !path.exists()
                && moved.exists()
            {
                *path = moved;
            }
        }
    }

    /// Reads a file.
    ///
    /// # Errors
    /// Reading failed, or the file is no session or has another version.
    pub fn read(path: &Path) -> Result<Self, IoError> {
        let mut session: Self = session_text::read(path)?;
        session.sanitize();
        if let Some(folder) = path.parent() {
            session.find_moved_files(folder);
        }
        Ok(session)
    }

    /// Parses a text.
    ///
    /// # Errors
    /// The text is no session or has another version.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut session: Self = session_text::parse(text).map_err(|problem| problem.to_string())?;
        session.sanitize();
        Ok(session)
    }

    /// Returns its text.
    ///
    /// # Errors
    /// A value has no text form.
    pub fn text(&self) -> Result<String, String> {
        session_text::text(self).map_err(|problem| problem.to_string())
    }

    /// Writes a file.
    ///
    /// # Errors
    /// A value has no text form, or writing failed.
    pub fn write(&self, path: &Path) -> Result<(), IoError> {
        session_text::write(path, self)
    }

    /// Returns the regions.
    ///
    /// # Errors
    /// A region is invalid.
    pub fn rois(&self) -> Result<Vec<Roi>, rois::RoiProblem> {
        rois::of_entries(&self.roi)
    }

    /// Returns title of the study, number of runs and number of regions.
    pub fn label(&self) -> String {
        format!("{}, {}, {}", self.study.title, counted(self.runs.len(), "run"), counted(self.roi.len(), "region"))
    }

    /// Replaces values that the window cannot make.
    fn sanitize(&mut self) {
        self.view.sanitize();
        self.colouring.sanitize();
        self.layer.iter_mut().for_each(SavedLayer::sanitize);
        self.images.iter_mut().for_each(ImageChanges::sanitize);
        self.runs.iter_mut().chain([&mut self.next]).for_each(SavedRun::sanitize);
    }
}
