//! What the user wishes about the reconstruction.

use super::form::forms::Forms;
use super::form::settings::SettingsForm;
use super::form::stop_form::StopForm;
use super::reference::ReferenceChoice;
use crate::operator::Accumulation;
use crate::session::RunId;
use crate::ui::widgets::picture_area::PictureArea;

/// About the reconstruction.
#[derive(Clone, Debug)]
pub enum RunAction {
    /// Starts with the settings of the form.
    Start,
    /// Starts with these settings and compares with the run before.
    StartWith(Box<Forms>),
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
    /// Adds so from now on.
    SetAccumulation(Accumulation),
    /// The form after an edit.
    EditForm(Box<SettingsForm>),
    /// The rules to stop by after an edit; they hold at once.
    EditStopForm(Box<StopForm>),
    /// The form as it is for a new study.
    ResetForm,
    /// Shows the newest iterate (`None`) or the one after this many full iterations, of a sweep projections.
    ShowIterate(Option<usize>),
    /// Shows the frame of this place in the series.
    ShowFrame(usize),
    /// Shows the frames that are done one after the other, or no longer.
    PlayFrames(bool),
    /// Shows the iterates that are kept one after the other, or no longer.
    Play(bool),
    /// Keeps the iterate on the screen whatever else is thinned out, or no longer.
    Pin(bool),
    /// How many bytes the images of the past may have.
    SetHistoryBytes(u64),
    /// Compares the run and those after it with these images, or with none.
    SetReference(Option<ReferenceChoice>),
    /// Keeps this run no longer.
    Dismiss(RunId),
    /// Asks where to save the image that is shown.
    AskSaveImage,
    /// Asks where to save a picture of this part of the window.
    AskPicture(PictureArea),
    /// FWHM of the Gaussian applied to what is shown and saved, mm; 0 = none.
    SetPostFilter(f64),
}
