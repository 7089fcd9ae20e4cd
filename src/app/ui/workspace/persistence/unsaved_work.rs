//! Unsaved work and the question about it.

use std::collections::VecDeque;

use crate::data::Roi;
use crate::session::RunId;
use crate::ui::study::loader::Loaded;
use crate::ui::study::source::Source;
use crate::ui::widgets::file_task::FileTask;

/// Action that discards unsaved work.
pub enum PendingAction {
    Quit,
    Open(Source),
    /// Shows another study, which was loaded meanwhile.
    Show(Box<Loaded>, Source),
}

/// Question about unsaved work, and the saving that follows.
pub struct UnsavedQuestion {
    pub(super) action: PendingAction,
    pub(super) unsaved: Unsaved,
    /// Remaining files to save; empty while the question is open.
    pub(super) tasks: VecDeque<FileTask>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Unsaved {
    pub(super) rois: bool,
    pub(super) image: bool,
    /// Simulation of tubes of response.
    pub(super) tubes: bool,
}

/// Leaving of the study or the window.
#[derive(Default)]
pub struct Leaving {
    pub saved: SavedWork,
    pub question: Option<UnsavedQuestion>,
    /// True if the window may close without a question.
    pub may_close: bool,
}

/// Work that is saved or confirmed to be discarded.
#[derive(Default)]
pub struct SavedWork {
    /// Regions as they were loaded, saved or taken from the study.
    pub(super) rois: Vec<Roi>,
    /// Run and subiteration of the newest image at the last saving.
    pub(in crate::ui) image: Option<(RunId, usize)>,
    /// Regions and run that the user has discarded, while the next study is being loaded.
    pub(super) confirmed: Option<(Vec<Roi>, RunId)>,
}

impl SavedWork {
    /// Resets the confirmation once no study is being loaded.
    pub fn forget_confirmation(&mut self) {
        self.confirmed = None;
    }
}

impl UnsavedQuestion {
    /// Returns true while the question is open.
    pub fn is_asking(&self) -> bool {
        self.tasks.is_empty()
    }

    /// Returns true if the work can be saved.
    pub fn can_save(&self) -> bool {
        self.unsaved.rois || self.unsaved.image
    }

    /// Returns title and text of the question.
    pub fn text(&self) -> (&'static str, String) {
        let (title, way) = match self.action {
            PendingAction::Quit => ("Close tomoscope?", "Closing the window"),
            PendingAction::Open(_) | PendingAction::Show(..) => ("Open another study?", "Opening another study"),
        };
        let (what, them) = match (self.unsaved.rois, self.unsaved.image) {
            (true, true) => ("The regions of interest and the image are not saved. ", "loses them"),
            (true, false) => ("The regions of interest are not saved. ", "loses them"),
            (false, true) => ("The image is not saved. ", "loses it"),
            (false, false) => ("", ""),
        };
        let tubes = match (self.unsaved.tubes, them) {
            (false, _) => "",
            (true, "") => "gives up the tubes of response that are being made",
            (true, _) => " and gives up the tubes of response that are being made",
        };
        (title, format!("{what}{way} {them}{tubes}."))
    }
}
