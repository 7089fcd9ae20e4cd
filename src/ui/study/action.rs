//! What the user wishes about studies.

use std::path::PathBuf;

use super::list_form::{ListForm, ListTable};
use super::tube_form::TubeForm;
use crate::io::Correction;

/// About studies.
#[derive(Clone, Debug)]
pub enum StudyAction {
    /// Asks for a file.
    AskForFile,
    /// Opens a file.
    Open(PathBuf),
    /// Simulates the built-in study of this number.
    BuiltIn(usize),
    /// Gives up the study that is being read or simulated.
    CancelLoading,
    /// The text in the path field.
    EditPath(String),
    /// Asks for the file of a correction.
    AskForCorrection(Correction),
    /// Reads the open file again without a correction.
    RemoveCorrection(Correction),
    /// Reads the open file again with the background added inside the factors, or not.
    SetAdditiveInside(bool),
    /// Asks for the map of attenuation of the open list.
    AskForAttenuation,
    /// Reads the open list again without a map.
    RemoveAttenuation,
    /// Asks how the open list is to be read.
    AskHowToRead,
    /// Edits the answer to how a list is to be read.
    EditListForm(Box<ListForm>),
    /// Asks for the file of a table that a list is read with.
    AskForListTable(ListTable),
    /// Reads the list so.
    ReadList,
    /// Does not read it.
    CloseListForm,
    /// Forgets the files opened lately.
    ForgetRecent,
    /// Asks for the reference spectrum of the open sweep.
    AskForReference,
    /// Asks for a sweep that is still being written.
    AskToFollow,
    /// Plays the open sweep again, projection by projection.
    Replay,
    /// Ends a replay, or does not follow a file any longer.
    StopFeed,
    /// The phase that is being typed, degrees.
    EditPhase(f64),
    /// Reads the open complex sweep again, turned back by this phase in degrees, or by its own.
    SetPhase(Option<f64>),
    /// Pace of a replay, projections per second.
    SetPace(f64),
    /// Looks at this projection, or at the newest.
    SelectProjection(Option<usize>),
    /// Asks how tubes of response are to be simulated.
    AskToMakeTubes,
    /// The answer so far.
    EditTubeForm(Box<TubeForm>),
    /// Simulates none after all.
    CloseTubeForm,
    /// Simulates tubes as the form says.
    MakeTubes,
    /// Gives up the tubes that are on their way.
    CancelTubes,
    /// Asks where to save the session.
    AskSaveSession,
    /// Asks for a file of tubes.
    AskForTubes,
    /// Asks for a file of a stored matrix.
    AskForMatrix,
    /// Gives up the matrix that is on its way.
    CancelMatrix,
    /// Looks at the tube of this distance from the axis and ring difference.
    SelectTube([usize; 2]),
    /// What 1 count/mm of the open scan stands for, Bq/mL; `None` = not known.
    SetCalibration(Option<f64>),
    /// Activity concentration of a phantom that it is to be found in, Bq/mL.
    EditPhantomActivity(f64),
    /// Finds it in the selected region of the image on the screen.
    CalibrateBySelected,
    /// Cuts the tube at this place along its line, mm from the middle.
    CutTube(f64),
}
