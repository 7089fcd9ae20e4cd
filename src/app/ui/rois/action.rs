//! Edits of the regions of interest.

use super::measured::RoiLabels;
use crate::data::Roi;
use crate::geometry::Point;

/// Edit of the regions or of their display.
#[derive(Clone, Debug)]
pub enum RoiEdit {
    /// Selects a region, or none.
    Select(Option<usize>),
    Replace(usize, Box<Roi>),
    /// Sets the typed true activity ratio of a region; an empty text removes it.
    Ratio(usize, String),
    /// Sets the typed true activity ratio of every hot region; an empty text removes it.
    HotRatio(String),
    /// Selects the region after the selected one; after the last one the first.
    SelectNext,
    /// Moves the selected region, mm.
    MoveSelected(Point),
    /// Scales the selected region about its centre.
    ResizeSelected(f64),
    DeleteSelected,
    /// Adds a copy of the selected region and selects it.
    CopySelected,
    /// Mirrors the selected region: left and right exchanged.
    MirrorSelected,
    /// Sets the outlines with numbers.
    ShowLabels(RoiLabels),
    /// Measures the unfiltered or the displayed image.
    MeasureUnfiltered(bool),
    Undo,
    Redo,
}
