//! What the panels ask for. Panels draw a read-only view and push actions; the window applies them after drawing.

use std::path::PathBuf;

use egui::Vec2;

use super::document::Grip;
use super::fbp_form::FbpForm;
use super::numbers::NumbersTab;
use super::settings::SettingsForm;
use super::view::{ProfileLine, Tool};
use crate::data::{Roi, RoiPlane};
use crate::geometry::Point;
use crate::io::Correction;
use crate::operator::Accumulation;
use crate::render::{Interpolation, Palette};

/// A wish of the user.
#[derive(Clone, Debug)]
pub enum Action {
    /// About studies.
    Study(StudyAction),
    /// About the reconstruction.
    Run(RunAction),
    /// About what the slices show.
    View(ViewAction),
    /// About regions of interest.
    Roi(RoiAction),
    /// About files of results.
    File(FileAction),
    /// The answer to the question whether to save before leaving.
    Leave(LeaveAction),
    /// Turns the theme from light to dark or back.
    ToggleTheme,
    /// Shows or hides the list of notices.
    ToggleNotices,
    /// Forgets all notices.
    ClearNotices,
    /// Shows this in the left part of the bottom panel.
    ShowNumbers(NumbersTab),
    /// Takes a toast away; its notice stays in the list.
    DismissToast(u64),
}

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
}

/// About the reconstruction.
#[derive(Clone, Debug)]
pub enum RunAction {
    /// Starts with the settings of the form.
    Start,
    /// Holds.
    Pause,
    /// Goes on.
    Resume,
    /// Adds iterations to a finished run.
    Continue,
    /// One step, then hold; starts a paused run where none is.
    Step,
    /// Ends and keeps the image.
    Stop,
    /// Ends at once.
    Cancel,
    /// Adds so from now on.
    SetAccumulation(Accumulation),
    /// The form after an edit.
    EditForm(Box<SettingsForm>),
    /// The form for filtered backprojection after an edit.
    EditFbpForm(Box<FbpForm>),
    /// The form as it is for a new study.
    ResetForm,
    /// Shows the newest iterate (`None`) or the one after this many full iterations, of a sweep projections.
    ShowIterate(Option<usize>),
    /// FWHM of the Gaussian applied to what is shown and saved, mm; 0 = none.
    SetPostFilter(f64),
}

/// What the pointer drags in a slice.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Drag {
    /// The crosshair.
    Crosshair,
    /// The image.
    Pan,
    /// Window and level.
    Window,
    /// A new ROI.
    Draw(Tool),
    /// A ROI or its size.
    Roi(usize, Grip),
    /// The line of the profile.
    Profile,
}

/// About what the slices show.
#[derive(Clone, Debug)]
pub enum ViewAction {
    /// A drag began in a plane at a point.
    BeginDrag {
        /// What is dragged.
        drag: Drag,
        /// The slice's plane.
        plane: RoiPlane,
        /// Where it began, mm.
        at: Point,
    },
    /// The pointer moved.
    MoveDrag {
        /// Where it is, mm.
        to: Point,
        /// How far it moved since the last frame, points.
        delta: Vec2,
        /// Points per mm.
        scale: f64,
    },
    /// The button was let go.
    EndDrag,
    /// Sets the crosshair.
    SetCrosshair(Point),
    /// Moves by slices along an axis.
    StepSlice(usize, i64),
    /// Zooms about a point.
    Zoom {
        /// Stays where it is, mm.
        about: Point,
        /// The plane's axes.
        axes: [usize; 2],
        /// Factor.
        factor: f64,
    },
    /// Shows only this slice, or all again.
    ToggleMaximised(RoiPlane),
    /// Palette.
    SetPalette(Palette),
    /// Interpolation.
    SetInterpolation(Interpolation),
    /// Window as values at the bottom and top of the palette.
    SetWindow([f32; 2]),
    /// Lets the window follow the image, or not.
    SetAutoWindow(bool),
    /// Window from the smallest to the largest value.
    FullWindow,
    /// Zooms to what is active in the image.
    FitObject,
    /// Whole image in view, crosshair in its middle.
    Reset,
    /// What the left button does.
    SetTool(Tool),
    /// Where the profile runs.
    SetProfile(ProfileLine),
    /// Shows or hides ROI outlines.
    ShowRois(bool),
}

/// About regions of interest.
#[derive(Clone, Debug)]
pub enum RoiAction {
    /// Selects one, or none.
    Select(Option<usize>),
    /// Puts this one in the place of an earlier.
    Replace(usize, Box<Roi>),
    /// Gives this one the true ratio of activities that was typed; nothing takes it away.
    EnterRatio(usize, String),
    /// Removes the selected one.
    DeleteSelected,
    /// Adds a sphere at the crosshair.
    AddAtCrosshair,
    /// Takes those that came with the study.
    TakeFromStudy,
    /// Sets the crosshair to its centre.
    GoTo(usize),
    /// The table's numbers are of the image as it was reconstructed, or of the one on the screen.
    MeasureUnfiltered(bool),
    /// Goes back one edit.
    Undo,
    /// Goes forward one edit.
    Redo,
}

/// About files of results.
#[derive(Clone, Debug)]
pub enum FileAction {
    /// Asks where to save the image that is shown.
    AskSaveImage,
    /// Asks for a ROI file to load.
    AskLoadRois,
    /// Asks where to save the ROIs.
    AskSaveRois,
    /// Asks where to export the numbers of every iterate.
    AskExportCsv,
    /// Carries out what the path window asked for, after a question where files would be overwritten.
    Choose(FileTask, PathBuf),
    /// The path typed into the path window.
    EditTyped(String),
    /// Closes the path window.
    CloseTyped,
    /// Overwrites the files that were asked about.
    Replace,
    /// Leaves the files that were asked about as they are.
    Keep,
}

/// What becomes of work that is not saved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeaveAction {
    /// It is saved first.
    Save,
    /// It is lost.
    Discard,
    /// Everything stays as it is.
    Stay,
}

/// What is done with a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileTask {
    /// Opens a study.
    OpenStudy,
    /// Opens a sweep that is still being written.
    FollowSweep,
    /// Gives the open sweep its reference spectrum.
    Reference,
    /// Corrects the open study.
    Correct(Correction),
    /// Saves the image that is shown.
    SaveImage,
    /// Loads ROIs.
    LoadRois,
    /// Saves ROIs.
    SaveRois,
    /// Exports numbers.
    ExportCsv,
}
