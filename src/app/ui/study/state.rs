//! State of studies: the open study and the one that is being loaded.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::calibration::Calibration;
use super::list_form::ListForm;
use super::loader::Loading;
use super::open::open_images::{ImageChanges, OpenImages};
use super::open::open_list::OpenList;
use super::open::open_oximetry::OpenOximetry;
use super::open::open_pairs::OpenPairs;
use super::open::open_study::OpenStudy;
use super::open::open_sweep::OpenSweep;
use super::open::open_tubes::OpenTubes;
use super::source::Source;
use super::tube_form::TubeForm;
use crate::data::{Notice, ResponseMatrix, TubeSet, Volume};
use crate::io;
use crate::operator::tubes_fit;
use crate::plan::{AlgorithmChoice, IterationScheme, Job, ListFiles, ScanFiles, StudyFiles, SweepFiles};
use crate::session::{MatrixFile, Producer, TubeSource};
use crate::ui::widgets::image_axes::ImageAxes;

/// Open study and the one that is being read or simulated.
#[derive(Default)]
pub struct StudyState {
    /// Source of the open study.
    pub source: Option<Source>,
    pub open: Option<OpenStudy>,
    /// Number of the open study, from 1.
    pub number: usize,
    pub loading: Option<Loading>,
    /// Text of the path field.
    pub path_text: String,
    /// Simulation or reading of tubes of response.
    pub tube_maker: Option<Producer<TubeSource>>,
    /// Form of the tube simulation while it is open.
    pub tube_form: Option<TubeForm>,
    /// Form for reading list-mode data while it is open.
    pub list_form: Option<ListForm>,
    /// Number of tube sets and system matrices so far.
    pub num_made: usize,
    /// True if a run starts once the tubes or the matrix are ready.
    pub starts_when_made: bool,
    /// Reading of a system matrix.
    pub matrix_maker: Option<Producer<MatrixFile>>,
    pub calibration: Calibration,
}

impl StudyState {
    /// Returns true if a run reconstructs the open study.
    pub fn is_of_open(&self, job: &Job) -> bool {
        self.open.as_ref().is_some_and(|open| Arc::ptr_eq(&open.study, &job.study))
    }

    pub fn has_form(&self) -> bool {
        self.tube_form.is_some() || self.list_form.is_some()
    }

    pub fn list(&self) -> Option<&OpenList> {
        self.open.as_ref().and_then(OpenStudy::list)
    }

    /// Returns true if the open list has events in a frame, ms, or the study is no list.
    pub fn has_events(&self, frame_ms: &Range<u32>) -> bool {
        self.list().is_none_or(|open| open.list.has_events_in(frame_ms))
    }

    pub fn sweep(&self) -> Option<&OpenSweep> {
        self.open.as_ref().and_then(OpenStudy::sweep)
    }

    pub fn sweep_mut(&mut self) -> Option<&mut OpenSweep> {
        self.open.as_mut().and_then(OpenStudy::sweep_mut)
    }

    pub fn oximetry(&self) -> Option<&OpenOximetry> {
        self.open.as_ref().and_then(OpenStudy::oximetry)
    }

    pub fn images(&self) -> Option<&OpenImages> {
        self.open.as_ref().and_then(OpenStudy::images)
    }

    pub fn images_mut(&mut self) -> Option<&mut OpenImages> {
        self.open.as_mut().and_then(OpenStudy::images_mut)
    }

    /// Restores unit and facts of the open images from a session.
    pub fn restore_images(&mut self, changes: ImageChanges) {
        self.images_mut().into_iter().for_each(|open| open.restore(&changes));
    }

    pub fn tubes(&self) -> Option<&OpenTubes> {
        self.open.as_ref().and_then(OpenStudy::counts).and_then(|open| open.tubes.as_deref())
    }

    /// Returns the tubes of response of the open study for changes of their view.
    pub fn tubes_mut(&mut self) -> Option<&mut OpenTubes> {
        self.open.as_mut().and_then(OpenStudy::counts_mut).and_then(|open| open.tubes.as_deref_mut())
    }

    /// Sets the tubes of the open study; `file`: their file, if any.
    ///
    /// # Errors
    /// The open study has no sinograms, or the tubes do not fit its geometry. The previous tubes then stay.
    pub fn take_tubes(&mut self, set: Arc<TubeSet>, file: Option<PathBuf>) -> Result<(), String> {
        let open = self.open.as_mut().and_then(OpenStudy::counts_mut);
        let open = open.ok_or("tubes of response go with counts: open a scan of the scanner first, then its tubes")?;
        tubes_fit(open.counts.geometry(), &set).map_err(|error| error.to_string())?;
        open.tubes = Some(Box::new(OpenTubes::new(set, file)));
        self.num_made += 1;
        Ok(())
    }

    pub fn pairs(&self) -> Option<&OpenPairs> {
        self.open.as_ref().and_then(OpenStudy::pairs)
    }

    /// Sets the system matrix of the open crystal-pair histogram; `file`: its file, if any.
    ///
    /// # Errors
    /// No such histogram is open, or the matrix belongs to another ring. The previous matrix then stays.
    pub fn take_matrix(&mut self, matrix: Arc<ResponseMatrix>, file: Option<PathBuf>) -> Result<(), String> {
        let open = self.open.as_mut().and_then(OpenStudy::pairs_mut);
        let open = open.ok_or("a system matrix needs a crystal-pair histogram: open a scan of its ring first")?;
        matrix.fits(&open.pairs.ring).map_err(|error| error.to_string())?;
        (open.matrix, open.matrix_file) = (Some(matrix), file);
        self.num_made += 1;
        Ok(())
    }

    /// Returns name and count of the steps of its reconstruction with an algorithm.
    pub fn iteration_scheme(&self, algorithm: AlgorithmChoice) -> IterationScheme {
        self.open.as_ref().map_or(IterationScheme::ITERATIONS, |open| open.study.measured.iteration_scheme(algorithm))
    }

    /// Returns the number of axes along which the view fits an object.
    pub fn num_fitted(&self) -> usize {
        self.open.as_ref().map_or(2, |open| open.kind().num_fitted())
    }

    pub fn axes(&self) -> ImageAxes {
        self.open.as_ref().map_or(ImageAxes::PATIENT, |open| open.kind().axes())
    }

    /// Returns the true image of a phantom.
    pub fn truth(&self) -> Option<&Arc<Volume>> {
        self.open.as_ref()?.study.truth.as_ref()
    }

    /// Returns the files of the open study with other corrections.
    pub fn corrected(&self, edit: impl FnOnce(&mut ScanFiles)) -> Option<Source> {
        let mut files = self.open.as_ref()?.counts()?.files.clone()?;
        edit(&mut files);
        Some(files.into())
    }

    /// Returns the open sinograms or list-mode data with another attenuation map, or with CT (DICOM).
    pub fn attenuated(&self, attenuation: PathBuf) -> Option<Source> {
        let of_scan = |files: &mut ScanFiles| {
            (files.attenuation, files.ct, files.mu_unit) = (Some(attenuation.clone()), None, None);
        };
        if let Some(source) = self.corrected(of_scan) {
            return Some(source);
        }
        Some(ListFiles { attenuation: Some(attenuation), ct: None, ..self.list()?.files.clone() }.into())
    }

    /// Returns the open sinograms or list-mode data with a further map, whose attenuation is added.
    pub fn with_added_attenuation(&self, path: &Path) -> Option<Source> {
        let added = |files: &[PathBuf]| files.iter().cloned().chain([path.to_owned()]).collect();
        if let Some(source) = self.corrected(|files| files.added_attenuation = added(&files.added_attenuation)) {
            return Some(source);
        }
        let files = self.list()?.files.clone();
        Some(ListFiles { added_attenuation: added(&files.added_attenuation), ..files }.into())
    }

    /// Returns the open acquisition with another reference spectrum.
    pub fn with_reference(&self, reference: PathBuf) -> Option<Source> {
        Some(SweepFiles { reference: Some(reference), ..self.sweep()?.files.clone()? }.into())
    }

    /// Returns true if a source is the open study, at most with other corrections or another reference spectrum. Its regions
    /// then stay.
    pub fn is_open(&self, source: &Source) -> bool {
        let (Source::Files(files) | Source::Elsewhere(files)) = source else { return false };
        match files {
            StudyFiles::Counts(files) => {
                let open = self.open.as_ref().and_then(OpenStudy::counts).and_then(|open| open.files.as_ref());
                open.is_some_and(|open| open.measured == files.measured)
            }
            StudyFiles::File(path) | StudyFiles::Sweep(SweepFiles { projections: path, .. }) => {
                self.sweep().and_then(|open| open.files.as_ref()).is_some_and(|files| files.projections == *path)
            }
            StudyFiles::Events(files) => self.list().is_some_and(|open| open.files.list == files.list),
        }
    }

    /// Ends a replay, or stops following a file.
    pub fn stop_feed(&mut self) -> Vec<Notice> {
        self.open.as_mut().and_then(OpenStudy::list_mut).into_iter().for_each(OpenList::stop_following);
        self.sweep_mut().map(OpenSweep::stop_feed).unwrap_or_default()
    }

    /// Returns true for one or several EPRI acquisitions.
    pub fn is_epri(&self) -> bool {
        self.sweep().is_some() || self.oximetry().is_some()
    }

    /// Returns true for data of a PET scan.
    pub fn is_pet_scan(&self) -> bool {
        !self.is_epri() && self.images().is_none()
    }

    /// Returns the file of the measured data, local or on the server.
    pub fn measured_file(&self) -> Option<&Path> {
        self.open.as_ref()?.kind().measured_file()
    }

    /// Returns the local files of the open sinograms.
    fn local_scan_files(&self) -> Option<&ScanFiles> {
        let open = self.open.as_ref().and_then(OpenStudy::counts)?;
        open.files.as_ref().filter(|_| !open.counts.prompts.is_remote())
    }

    /// Sets the calibration, Bq/mL per count/mm, and stores it next to a local scan file. Returns a failure of this.
    pub fn calibrate(&mut self, bq_per_ml: Option<f64>) -> Option<Notice> {
        self.calibration.bq_per_ml = bq_per_ml;
        let Some(files) = self.local_scan_files() else {
            let is_remote = self.open.as_ref().and_then(OpenStudy::counts).is_some_and(|open| open.counts.prompts.is_remote());
            return is_remote
                .then(|| Notice::info("the calibration holds until the window is closed: the scan is on the server"));
        };
        let error = io::store_calibration(&files.measured, bq_per_ml).err()?;
        Some(Notice::warning(format!("the calibration holds until the window is closed: {error}")))
    }

    /// Reads the calibration that is stored next to a scan file, local or on the server. Returns a failure of this.
    pub fn read_calibration(&mut self) -> Option<Notice> {
        let of_server = self.open.as_ref().and_then(OpenStudy::counts).and_then(|open| open.calibration_of_server);
        let stored = match self.local_scan_files() {
            Some(files) => io::calibration_beside(&files.measured),
            None => Ok(of_server),
        };
        self.calibration.bq_per_ml = stored.as_ref().ok().copied().flatten();
        stored.err().map(|error| Notice::warning(error.to_string()))
    }
}
