//! Actions on studies.

use super::list_form::ListForm;
use super::open::open_images::PetMoment;
use super::source::Source;
use super::tube_form::TubeForm;
use crate::data::PetScan;
use crate::data::SuvDefinition;
use crate::montecarlo::TubeRecipe;
use crate::ui::widgets::file_task::FileTask;

#[derive(Clone, Debug)]
pub enum StudyAction {
    Ask(FileTask),
    Open(Source),
    /// Cancels reading or simulating a study.
    CancelLoading,
    /// Clears the list of recent files.
    ForgetRecent,
    /// Replays the open acquisition, projection by projection.
    Replay,
    /// Simulates tubes of response.
    MakeTubes(TubeRecipe),
    /// Calibrates by the mean of the selected region in the displayed image.
    CalibrateBySelected,
    /// Changes the state of the study panel or of the open study.
    Edit(StudyEdit),
}

/// Change of the state of the study panel or of the open study.
#[derive(Clone, Debug)]
pub enum StudyEdit {
    /// Sets the text of the path field.
    Path(String),
    /// Opens the form for reading list-mode data.
    OpenListForm,
    ListForm(Box<ListForm>),
    CloseListForm,
    /// Ends a replay, or stops following a file.
    StopFeed,
    /// Sets the typed phase, degrees.
    Phase(f64),
    /// Sets the pace of a replay, projections per second.
    Pace(f64),
    /// Shows a projection; `None`: the newest.
    Projection(Option<usize>),
    /// Opens the form of the tube simulation.
    OpenTubeForm,
    TubeForm(Box<TubeForm>),
    CloseTubeForm,
    /// Cancels simulating or reading tubes.
    CancelTubes,
    /// Cancels reading a system matrix.
    CancelMatrix,
    /// Shows the tube with this distance from the axis and this ring difference.
    Tube([usize; 2]),
    /// Cuts the tube at a position along its line, mm from the middle.
    CutTube(f64),
    /// Sets the calibration of the open scan, Bq/mL per count/mm; `None`: none.
    Calibration(Option<f64>),
    /// Sets the activity concentration of the calibration phantom, Bq/mL.
    PhantomActivity(f64),
    /// Shows uptake values of this definition; `None`: the images' own unit.
    Uptake(Option<SuvDefinition>),
    /// Sets the facts of the open PET series.
    PetScan(Box<PetScan>),
    /// Sets a moment of the open PET series by its typed text.
    PetMoment(PetMoment, String),
}
