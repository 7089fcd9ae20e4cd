//! Files without the patient's identity, by one setting of the window: the effect of `--anonymise` of the command line.

use std::path::{Path, PathBuf};

use crate::data::{ImageChoice, Notice};
use crate::io::dicom::{self, Patient, SeriesContext};
use crate::io::{read_images, write_described_volume};
use crate::pacs::Instance;
use crate::plan::Provenance;
use crate::text::counted;
use crate::ui::study::open::open_study::OpenStudy;
use crate::ui::workspace::state::Workspace;

/// Title of an anonymous image in reports and pictures.
const ANONYMOUS_IMAGE: &str = "anonymous image";

const ANONYMOUS_BASELINE: &str = "the baseline";

impl Workspace {
    /// Returns true if written and sent files have no identity of the patient.
    pub fn is_anonymous(&self) -> bool {
        self.preferences.is_anonymous
    }

    pub fn record_to_write(&self, record: Provenance) -> Provenance {
        if self.is_anonymous() { record.anonymised() } else { record }
    }

    /// Returns the title of the study in a file to write.
    pub fn title_to_write(&self) -> String {
        let title = self.study.open.as_ref().map_or("no study", OpenStudy::title);
        if self.is_anonymous() { ANONYMOUS_IMAGE.to_owned() } else { title.to_owned() }
    }

    /// Returns the title of a baseline in a file to write.
    pub fn baseline_to_write(&self, title: &str) -> String {
        if self.is_anonymous() { ANONYMOUS_BASELINE.to_owned() } else { title.to_owned() }
    }

    /// Returns patient, study and space of a DICOM series to write.
    pub fn context_to_write(&self) -> SeriesContext {
        let of_images = self.study.images().map(|open| SeriesContext::of_series(&open.series.names, open.series.placement));
        let context = of_images.unwrap_or_default();
        if self.is_anonymous() { context.anonymised(Patient::default()) } else { context }
    }
}

/// Writes the images of a DICOM series into a folder, each as a series without the patient's identity; returns these series. Objects
/// from which this program has removed the identity stay where they are.
///
/// # Errors
/// Several series, objects that are no images, images that a PET series cannot contain, or a failed read or write.
pub fn anonymous_series(folder: &Path, into: &Path) -> Result<(Vec<PathBuf>, Vec<Notice>), String> {
    let text = |error: &dyn std::fmt::Display| format!("nothing is sent, because removing the identity failed: {error}");
    let (objects, _) = Instance::find(&[folder.to_owned()]).map_err(|error| text(&error))?;
    if objects.iter().all(|object| dicom::is_anonymous(&object.path)) {
        return Ok((vec![folder.to_owned()], Vec::new()));
    }
    let (series, notices) = read_images(folder, ImageChoice::All).map_err(|error| text(&error))?;
    let num_images: usize = dicom::find_series(folder).map_err(|error| text(&error))?.iter().map(|found| found.num_files).sum();
    if num_images != objects.len() {
        let reason = format!("{} has {}, {num_images} of them images", folder.display(), counted(objects.len(), "object"));
        return Err(text(&reason));
    }
    let context = SeriesContext::of_series(&series.names, series.placement).anonymised(Patient::default());
    let mut written = Vec::new();
    for (index, image) in series.images.iter().enumerate() {
        let (record, _) = Provenance::of_file(folder, &image.volume);
        let pet = series.pet_image(index, series.pet.as_ref()).or(record.pet.clone());
        let description = Provenance { pet, ..record }.anonymised().image_description();
        let path = into.join(format!("image_{:04}.dcm", index + 1));
        write_described_volume(&path, &image.volume, &description, &context).map_err(|error| text(&error))?;
        written.push(path);
    }
    Ok((written, notices))
}
