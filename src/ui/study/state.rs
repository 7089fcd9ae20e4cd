//! What the window knows of studies: the one that is open, and the one on its way.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::action::StudyAction;
use super::calibration::Calibration;
use super::list_form::{ListForm, ListTable};
use super::loader::{BUILT_IN, Loading, Source};
use super::open::open_list::OpenList;
use super::open::open_pairs::OpenPairs;
use super::open::open_study::{OpenData, OpenStudy};
use super::open::open_sweep::OpenSweep;
use super::open::open_tubes::OpenTubes;
use super::tube_form::TubeForm;
use crate::data::{Notice, ResponseMatrix, TubeSet, Volume};
use crate::io::{self, Correction};
use crate::montecarlo::TubeRecipe;
use crate::operator::tubes_fit;
use crate::plan::{IterationScheme, Job, ListFiles, ScanFiles, StudyFiles, SweepFiles};
use crate::scanner::Scanner;
use crate::session::{MatrixFile, Producer, TubeSource};
use crate::ui::widgets::image_axes::ImageAxes;

/// The study that is open and the one that is being read or simulated.
#[derive(Default)]
pub struct StudyState {
    /// Where the study that is open came from.
    pub source: Option<Source>,
    /// The study that is open.
    pub open: Option<OpenStudy>,
    /// Its number, counted up.
    pub number: usize,
    /// The one on its way.
    pub loading: Option<Loading>,
    /// Text of the path field.
    pub path_text: String,
    /// Tubes of response that are on their way.
    pub tube_maker: Option<Producer<TubeSource>>,
    /// How they are to be simulated, while that is asked.
    pub tube_form: Option<TubeForm>,
    /// The question how a list is to be read, while it is asked.
    pub list_form: Option<ListForm>,
    /// How many sets of tubes and matrices were there so far.
    pub num_made: usize,
    /// Whether a run is to start when the tubes or the matrix on their way are there.
    pub starts_when_made: bool,
    /// A matrix that is on its way.
    pub matrix_maker: Option<Producer<MatrixFile>>,
    /// What the open scan's images are in Bq/mL.
    pub calibration: Calibration,
}

/// What of a wish about studies concerns more than the study that is open.
pub enum StudyRequest {
    /// Asks for the file of a study.
    AskForFile,
    /// Asks for a sweep that is still being written.
    AskToFollow,
    /// Asks for the reference spectrum of the open sweep.
    AskForReference,
    /// Asks for the file of a correction.
    AskForCorrection(Correction),
    /// Asks for the map of attenuation of the open list.
    AskForAttenuation,
    /// Asks for a table that a list is read with.
    AskForListTable(ListTable),
    /// Opens this.
    Open(Source),
    /// No study is on its way any more.
    NothingComes,
    /// Forgets the files opened lately.
    ForgetRecent,
    /// Plays the open sweep again.
    Replay,
    /// Asks where to save the session.
    AskSaveSession,
    /// Asks for a file of tubes of response.
    AskForTubes,
    /// Asks for a file of a stored matrix.
    AskForMatrix,
    /// Simulates tubes of response.
    MakeTubes(&'static Scanner, TubeRecipe),
    /// Finds the calibration in the selected region.
    CalibrateBySelected,
    /// These are to be told.
    Tell(Vec<Notice>),
}

impl StudyState {
    /// Whether a run is of the study that is open.
    pub fn is_of_open(&self, job: &Job) -> bool {
        self.open.as_ref().is_some_and(|open| Arc::ptr_eq(&open.study, &job.study))
    }

    /// Whether something is asked about a study.
    pub fn has_form(&self) -> bool {
        self.tube_form.is_some() || self.list_form.is_some()
    }

    /// The list of events that is open.
    pub fn list(&self) -> Option<&OpenList> {
        self.open.as_ref().and_then(OpenStudy::list)
    }

    /// The EPRI sweep that is open.
    pub fn sweep(&self) -> Option<&OpenSweep> {
        self.open.as_ref().and_then(OpenStudy::sweep)
    }

    /// The EPRI sweep that is open, to be changed.
    pub fn sweep_mut(&mut self) -> Option<&mut OpenSweep> {
        self.open.as_mut().and_then(OpenStudy::sweep_mut)
    }

    /// The tubes of response of the open counts.
    pub fn tubes(&self) -> Option<&OpenTubes> {
        self.open.as_ref().and_then(OpenStudy::counts).and_then(|open| open.tubes.as_deref())
    }

    /// The tubes of response of the open counts, to be looked at otherwise.
    pub fn tubes_mut(&mut self) -> Option<&mut OpenTubes> {
        self.open.as_mut().and_then(OpenStudy::counts_mut).and_then(|open| open.tubes.as_deref_mut())
    }

    /// Gives the open counts these tubes, of this file if they were read from one.
    ///
    /// # Errors
    /// No counts are open, or the tubes do not fit them; the sentence says why, and what was there stays.
    pub fn take_tubes(&mut self, set: Arc<TubeSet>, file: Option<PathBuf>) -> Result<(), String> {
        let open = self.open.as_mut().and_then(OpenStudy::counts_mut);
        let open = open.ok_or("tubes of response go with counts: open a scan of the scanner first, then its tubes")?;
        tubes_fit(open.counts.geometry(), &set).map_err(|error| error.to_string())?;
        open.tubes = Some(Box::new(OpenTubes::new(set, file)));
        self.num_made += 1;
        Ok(())
    }

    /// The counts of pairs of crystals that are open.
    pub fn pairs(&self) -> Option<&OpenPairs> {
        self.open.as_ref().and_then(OpenStudy::pairs)
    }

    /// Gives the open counts of pairs of crystals this matrix, of this file if it was read from one.
    ///
    /// # Errors
    /// No such counts are open, or the matrix is that of another ring; the sentence says why, and what was there stays.
    pub fn take_matrix(&mut self, matrix: Arc<ResponseMatrix>, file: Option<PathBuf>) -> Result<(), String> {
        let open = self.open.as_mut().and_then(OpenStudy::pairs_mut);
        let open = open.ok_or("a system matrix needs a crystal-pair histogram: open a scan of its ring first")?;
        matrix.fits(&open.pairs.ring).map_err(|error| error.to_string())?;
        (open.matrix, open.matrix_file) = (Some(matrix), file);
        self.num_made += 1;
        Ok(())
    }

    /// What the steps of its reconstruction are called and counted by.
    pub fn course(&self) -> IterationScheme {
        self.open.as_ref().map_or(IterationScheme::ITERATIONS, |open| open.study.measured.course())
    }

    /// Along how many axes of the view an object is fitted.
    pub fn num_fitted(&self) -> usize {
        self.open.as_ref().map_or(2, OpenStudy::num_fitted)
    }

    /// The axes of its image.
    pub fn axes(&self) -> ImageAxes {
        self.open.as_ref().map_or(ImageAxes::PATIENT, OpenStudy::axes)
    }

    /// The true image, for phantoms.
    pub fn truth(&self) -> Option<&Volume> {
        self.open.as_ref()?.study.truth.as_deref()
    }

    /// The open counts' files with other corrections.
    pub fn corrected(&self, edit: impl FnOnce(&mut ScanFiles)) -> Option<Source> {
        let mut files = self.open.as_ref()?.counts()?.files.clone()?;
        edit(&mut files);
        Some(Source::Files(StudyFiles::Counts(files)))
    }

    /// The open list with another map of attenuation, or without one.
    pub fn attenuated(&self, attenuation: Option<PathBuf>) -> Option<Source> {
        Some(Source::Files(StudyFiles::Events(ListFiles { attenuation, ..self.list()?.files.clone() })))
    }

    /// The open sweep's files, read in another way.
    pub fn read_otherwise(&self, edit: impl FnOnce(&mut SweepFiles)) -> Option<Source> {
        let mut files = self.sweep()?.files.clone()?;
        edit(&mut files);
        Some(Source::Files(StudyFiles::Sweep(files)))
    }

    /// Whether a source is the study that is open, only corrected otherwise or with another reference spectrum: its regions
    /// stay.
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

    /// Does what concerns the study alone; the rest comes back.
    pub fn apply(&mut self, action: StudyAction) -> Option<StudyRequest> {
        match action {
            StudyAction::AskForFile => return Some(StudyRequest::AskForFile),
            StudyAction::AskToFollow => return Some(StudyRequest::AskToFollow),
            StudyAction::AskForReference => return Some(StudyRequest::AskForReference),
            StudyAction::AskForCorrection(which) => return Some(StudyRequest::AskForCorrection(which)),
            StudyAction::Open(path) => return Some(StudyRequest::Open(Source::file(path))),
            StudyAction::BuiltIn(index) => {
                return BUILT_IN.get(index).map(|study| StudyRequest::Open(Source::BuiltIn(study.clone())));
            }
            StudyAction::CancelLoading => {
                self.loading = None;
                return Some(StudyRequest::NothingComes);
            }
            StudyAction::RemoveCorrection(which) => {
                return self.corrected(|files| *files.correction_mut(which) = None).map(StudyRequest::Open);
            }
            StudyAction::SetAdditiveInside(inside) => {
                return self.corrected(|files| files.additive_inside = inside).map(StudyRequest::Open);
            }
            StudyAction::SetPhase(phase) => {
                return self.read_otherwise(|files| files.phase = phase).map(StudyRequest::Open);
            }
            StudyAction::AskForAttenuation => return Some(StudyRequest::AskForAttenuation),
            StudyAction::RemoveAttenuation => return self.attenuated(None).map(StudyRequest::Open),
            StudyAction::AskHowToRead => self.list_form = self.list().map(|open| ListForm::of(&open.files)),
            StudyAction::EditListForm(form) => self.list_form = Some(*form),
            StudyAction::AskForListTable(table) => return Some(StudyRequest::AskForListTable(table)),
            StudyAction::ReadList => {
                return self.list_form.take().map(|form| StudyRequest::Open(Source::Files(StudyFiles::Events(form.files()))));
            }
            StudyAction::CloseListForm => self.list_form = None,
            StudyAction::ForgetRecent => return Some(StudyRequest::ForgetRecent),
            StudyAction::Replay => return Some(StudyRequest::Replay),
            StudyAction::StopFeed => match self.open.as_mut().map(|open| &mut open.data) {
                Some(OpenData::Sweep(open)) => return Some(StudyRequest::Tell(open.stop_feed())),
                Some(OpenData::Events(open)) => open.stop_following(),
                _ => {}
            },
            StudyAction::AskSaveSession => return Some(StudyRequest::AskSaveSession),
            StudyAction::AskForTubes => return Some(StudyRequest::AskForTubes),
            StudyAction::AskToMakeTubes => self.tube_form = Some(TubeForm::default()),
            StudyAction::EditTubeForm(form) => self.tube_form = Some(*form),
            StudyAction::CloseTubeForm => self.tube_form = None,
            StudyAction::MakeTubes => return self.tubes_asked_for(),
            StudyAction::CancelTubes => (self.tube_maker, self.starts_when_made) = (None, false),
            StudyAction::AskForMatrix => return Some(StudyRequest::AskForMatrix),
            StudyAction::CancelMatrix => (self.matrix_maker, self.starts_when_made) = (None, false),
            StudyAction::SelectTube(which) => self.with_tubes(|tubes| tubes.select(which)),
            StudyAction::CutTube(along_mm) => self.with_tubes(|tubes| tubes.cut_at(along_mm)),
            StudyAction::SetCalibration(bq_per_ml) => return self.calibrate(bq_per_ml).map(StudyRequest::Tell),
            StudyAction::EditPhantomActivity(bq_per_ml) => self.calibration.phantom_bq_per_ml = bq_per_ml,
            StudyAction::CalibrateBySelected => return Some(StudyRequest::CalibrateBySelected),
            StudyAction::EditPath(text) => self.path_text = text,
            StudyAction::EditPhase(degrees) => self.with_sweep(|open| open.phase_degrees = degrees),
            StudyAction::SetPace(per_sec) => self.with_sweep(|open| open.set_pace(per_sec)),
            StudyAction::SelectProjection(index) => self.with_sweep(|open| open.selected = index),
        }
        None
    }

    /// The file with the measured data of the open study, wherever it is.
    pub fn measured_file(&self) -> Option<&Path> {
        self.open.as_ref()?.measured_file()
    }

    /// The files of the open counts where they are on this machine.
    fn own_scan_files(&self) -> Option<&ScanFiles> {
        let open = self.open.as_ref().and_then(OpenStudy::counts)?;
        open.files.as_ref().filter(|_| !open.counts.prompts.is_elsewhere())
    }

    /// Takes what 1 count/mm stands for, Bq/mL, and keeps it beside the scan's file where there is one; what went wrong with
    /// that comes back.
    pub fn calibrate(&mut self, bq_per_ml: Option<f64>) -> Option<Vec<Notice>> {
        self.calibration.bq_per_ml = bq_per_ml;
        let files = self.own_scan_files()?;
        let error = io::calibration::write(&files.measured, bq_per_ml).err()?;
        Some(vec![Notice::warning(format!("the calibration holds until the window is closed: {error}"))])
    }

    /// Takes the calibration that is kept beside the open scan's file; what went wrong with that comes back.
    pub fn read_calibration(&mut self) -> Option<Notice> {
        let files = self.own_scan_files();
        let kept = files.map_or(Ok(None), |files| io::calibration::read(&files.measured));
        self.calibration.bq_per_ml = kept.as_ref().ok().copied().flatten();
        kept.err().map(|error| Notice::warning(error.to_string()))
    }

    /// What the form of tubes asks for; the form is closed.
    fn tubes_asked_for(&mut self) -> Option<StudyRequest> {
        let recipe = self.tube_form.take()?.recipe();
        match self.open.as_ref().and_then(OpenStudy::counts)?.scanner_of_tubes() {
            Ok(scanner) => Some(StudyRequest::MakeTubes(scanner, recipe)),
            Err(reason) => Some(StudyRequest::Tell(vec![Notice::error(reason.to_string())])),
        }
    }

    fn with_tubes(&mut self, change: impl FnOnce(&mut OpenTubes)) {
        if let Some(tubes) = self.tubes_mut() {
            change(tubes);
        }
    }

    fn with_sweep(&mut self, change: impl FnOnce(&mut OpenSweep)) {
        if let Some(open) = self.sweep_mut() {
            change(open);
        }
    }
}
