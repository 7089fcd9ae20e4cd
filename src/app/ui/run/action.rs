//! Actions of the reconstruction.

use super::form::forms::Forms;
use super::form::settings::SettingsForm;
use super::form::stop_form::StopForm;
use super::reference::ReferenceChoice;
use crate::operator::Accumulation;
use crate::recon::AscentTuning;
use crate::session::RunId;
use crate::ui::widgets::file_task::FileTask;

#[derive(Clone, Debug)]
pub enum RunAction {
    /// Starts with the settings of the form.
    Start,
    /// Starts with these settings and compares with the run before.
    StartWith(Box<Forms>),
    Pause,
    Resume,
    /// Adds iterations to a finished run.
    Continue,
    /// One step, then hold; starts a paused run where none is.
    Step,
    /// Ends and keeps the image.
    Stop,
    /// Adds so from now on.
    SetAccumulation(Accumulation),
    /// Climbs with this penalty and step size from now on.
    SetTuning(AscentTuning),
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
    /// Begins or ends a playback of the stored iterates.
    Play(bool),
    /// Pins or unpins the displayed iterate. A pinned iterate stays when the history is thinned out.
    Pin(bool),
    SetHistoryBytes(u64),
    /// Compares the run and those after it with these images, or with none.
    SetReference(Option<ReferenceChoice>),
    /// Keeps this run no longer.
    Dismiss(RunId),
    Ask(FileTask),
    /// Sets whether written and sent files are anonymous.
    Anonymise(bool),
    /// Sets the FWHM of the post-filter on displayed and saved images, mm; 0 = none.
    SetPostFilter(f64),
}
