//! Content of the file dialogs: title, formats and filters of each task.

use std::path::{Path, PathBuf};

use crate::io::formats::{self, Access, Content, described, endings, extensions};
use crate::io::{Correction, files_written};
use crate::ui::study::file_check::{STUDIES, studies};
use crate::ui::widgets::file_task::{FileTask, ListTable, ToolFile};

pub struct FileDialog {
    pub title: &'static str,
    /// Description of the formats, for the path window.
    pub formats: String,
    /// Names and endings of the filters.
    filters: Vec<Filter>,
    /// Proposed name of a new file; `None`: the task reads a file.
    new_file: Option<&'static str>,
}

type Filter = (String, Vec<String>);

fn filter(name: &str, extensions: &[&str]) -> Filter {
    (name.to_owned(), extensions.iter().map(|&extension| extension.to_owned()).collect())
}

fn of_content(content: Content, access: Access) -> Filter {
    (content.one().to_owned(), extensions(content, access))
}

fn read(title: &'static str, formats: impl Into<String>, filters: Vec<Filter>) -> FileDialog {
    FileDialog { title, formats: formats.into(), filters, new_file: None }
}

fn read_content(title: &'static str, content: Content) -> FileDialog {
    read(title, described(content, Access::Read), vec![of_content(content, Access::Read)])
}

fn write(title: &'static str, formats: impl Into<String>, filters: Vec<Filter>, new_file: &'static str) -> FileDialog {
    FileDialog { title, formats: formats.into(), filters, new_file: Some(new_file) }
}

impl FileDialog {
    pub fn of(task: FileTask) -> Self {
        let all_files = || filter("All files", &["*"]);
        match task {
            FileTask::OpenStudy => {
                let contents = STUDIES.into_iter().chain([Content::Tubes, Content::Matrix, Content::Session]);
                let each: Vec<Filter> = contents.map(|content| of_content(content, Access::Read)).collect();
                let all = each.iter().flat_map(|(_, extensions)| extensions.clone()).collect();
                let formats = format!("{} or {}", studies(), described(Content::Session, Access::Read));
                read("Open a study", formats, [vec![("Studies".to_owned(), all)], each, vec![all_files()]].concat())
            }
            FileTask::OpenTubes => read_content("Open tubes of response", Content::Tubes),
            FileTask::OpenMatrix => read_content("Open a matrix", Content::Matrix),
            FileTask::Follow => {
                let contents = [Content::ListMode, Content::Sweep];
                let [list, sweep] = contents.map(|content| described(content, Access::Follow));
                read(
                    "Follow a list or a sweep that is being acquired",
                    format!("{list} or {sweep} that is still being written"),
                    contents.map(|content| of_content(content, Access::Follow)).into(),
                )
            }
            FileTask::Reference => read(
                "Reference spectrum",
                "a spectrum without a gradient (.DSC or .npy)",
                vec![filter("Reference spectrum", &["DSC", "dsc", "npy"])],
            ),
            FileTask::Radical => read(
                "Spectrum of a radical",
                "a spectrum without a gradient (.DSC or .npy)",
                vec![filter("Spectrum", &["DSC", "dsc", "npy"])],
            ),
            FileTask::Correct(which) => {
                let title = match which {
                    Correction::Multiplicative => "Multiplicative correction",
                    Correction::Additive => "Additive correction",
                };
                let dialog = read_content(title, Content::Projections);
                Self { filters: [dialog.filters, vec![all_files()]].concat(), ..dialog }
            }
            FileTask::ListTable(ListTable::Crystals) => read(
                "Table of crystals",
                "a table of crystals (.lut, .hscan, .geom or .crystals.toml)",
                vec![filter("Table of crystals", &["lut", "hscan", "geom", "toml"])],
            ),
            FileTask::ListTable(ListTable::Normalization) => read(
                "Normalisation of a list",
                "a CASToR normalisation file (.Cdh)",
                vec![filter("CASToR normalisation", &["Cdh", "cdh"])],
            ),
            FileTask::Attenuation | FileTask::AddAttenuation => {
                let endings = endings(Content::Image, Access::Read);
                let formats = format!("an image of linear attenuation coefficients, 1/cm ({endings})");
                Self { formats, ..read_content("Map of attenuation", Content::Image) }
            }
            FileTask::Psf => read(
                "Resolution model",
                "widths by the distance from the axis (.toml)",
                vec![filter("Resolution model", &["toml"]), all_files()],
            ),
            FileTask::OpenLayer => {
                let dialog = read_content("Second image", Content::Image);
                let formats = format!("an image ({}), or a folder with a DICOM series", endings(Content::Image, Access::Read));
                Self { formats, filters: [dialog.filters, vec![all_files()]].concat(), ..dialog }
            }
            FileTask::ReferenceImage => {
                let dialog = read_content("Reference image", Content::Image);
                Self { filters: [dialog.filters, vec![all_files()]].concat(), ..dialog }
            }
            FileTask::SaveImage => {
                let endings = endings(Content::Image, Access::Write);
                let each = formats::formats(Content::Image, Access::Write)
                    .flat_map(|format| format.shown.iter().rev().map(|ending| (format.name, ending)))
                    .map(|(name, ending)| {
                        filter(&format!("{name} ({ending})"), &[ending.rsplit('.').next().unwrap_or_default()])
                    });
                let formats = format!("{endings} (.dcm is a folder): the ending chooses the format");
                write("Save the image", formats, each.collect(), "image.nii.gz")
            }
            FileTask::SendSeries => {
                let dialog = read("Send a DICOM series", "the folder of a DICOM series, or one of its files", vec![all_files()]);
                Self { filters: vec![filter("DICOM", &["dcm", "DCM", "ima", "IMA"]), all_files()], ..dialog }
            }
            FileTask::LoadRois => {
                let contents = [Content::Rois, Content::Segmentation];
                let [rois, segmentations] = contents.map(|content| endings(content, Access::Read));
                let formats = format!("{rois}, or a DICOM segmentation ({segmentations}, .dcm)");
                let filters = contents.map(|content| of_content(content, Access::Read));
                read("Load ROIs", formats, [filters.to_vec(), vec![all_files()]].concat())
            }
            FileTask::SaveRois => {
                let formats = endings(Content::Rois, Access::Write);
                write("Save ROIs", formats, vec![filter("ROIs", &["toml", "json"])], "rois.toml")
            }
            FileTask::ExportCsv => write("Export the numbers", ".csv", vec![filter("CSV", &["csv"])], "numbers.csv"),
            FileTask::SavePlot => write(
                "Save the plot",
                ".svg, .png at twice the resolution, or .csv for its numbers",
                vec![filter("SVG", &["svg"]), filter("PNG", &["png"]), filter("CSV", &["csv"])],
                "plot.svg",
            ),
            FileTask::SaveSession => write("Save the session", ".session", vec![filter("Session", &["session"])], "work.session"),
            FileTask::SavePicture(_) => {
                let formats = ".png, at twice the resolution of the window";
                write("Save a picture", formats, vec![filter("PNG", &["png"])], "picture.png")
            }
            FileTask::SaveFilm(_) => write("Save a film", ".png, an animated picture", vec![filter("PNG", &["png"])], "film.png"),
            FileTask::OfTool(ToolFile { title, formats, filter: (name, endings), new_file, .. }) => {
                let filters = [vec![filter(name, endings)], new_file.map_or_else(|| vec![all_files()], |_| Vec::new())].concat();
                Self { title, formats: (*formats).to_owned(), filters, new_file: *new_file }
            }
        }
    }

    /// Returns the proposed name of a new file; empty for a file to read.
    pub fn proposed_name(&self) -> String {
        self.new_file.unwrap_or_default().to_owned()
    }

    /// Opens the dialog of the desktop and blocks until it closes; returns the chosen path.
    pub fn ask(self) -> Option<PathBuf> {
        let dialog = rfd::FileDialog::new().set_title(self.title);
        let dialog = self.filters.into_iter().fold(dialog, |dialog, (name, extensions)| dialog.add_filter(name, &extensions));
        match self.new_file {
            Some(name) => dialog.set_file_name(name).save_file(),
            None => dialog.pick_file(),
        }
    }
}

/// Returns the existing files that a task overwrites.
pub fn overwritten(task: FileTask, path: &Path) -> Vec<PathBuf> {
    let written = match task {
        FileTask::SaveImage => files_written(path),
        _ if FileDialog::of(task).new_file.is_some() => vec![path.to_owned()],
        _ => Vec::new(),
    };
    written.into_iter().filter(|path| path.exists()).collect()
}
