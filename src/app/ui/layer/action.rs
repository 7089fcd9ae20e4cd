//! Actions on the second image.

use super::line_map::{LineMap, LineSettings};
use super::oxygen_map::OxygenMap;
use super::second_image::{Display, Registration};
use crate::ui::widgets::file_task::FileTask;

/// Action on the second image.
#[derive(Clone, Debug)]
pub enum LayerAction {
    Ask(FileTask),
    /// Takes the attenuation map of the study.
    ShowAttenuation,
    /// Takes the standard deviations of the displayed image between the replicates of its run.
    ShowDeviation,
    /// Covers the displayed image with a map of pulse oximetry.
    ShowOxygen(OxygenMap),
    /// Covers the displayed image with a map of the lines of its spectra.
    ShowLine(LineMap),
    /// Fits other lines to the spectra.
    FitLines(LineSettings),
    /// Shows the image of a radical of the run, numbered from 0, with this opacity over that of the first.
    ShowRadical {
        index: usize,
        opacity: f32,
    },
    CancelLoading,
    Remove,
    /// Draws an image of another patient or frame of reference.
    Confirm,
    /// Sets opacity, order, palette and window.
    Display(Box<Display>),
    /// Moves and rotates it.
    Register(Registration),
    UndoRegistration,
}
