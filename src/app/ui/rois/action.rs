//! Actions on regions of interest.

use super::measured::RoiLabels;
use crate::data::{IsocontourRecipe, Roi};
use crate::geometry::Point;
use crate::ui::widgets::file_task::{FileTask, NemaStandard};

#[derive(Clone, Debug)]
pub enum RoiAction {
    Ask(FileTask),
    /// Sets whether written and sent files are anonymous.
    Anonymise(bool),
    /// Adds a sphere at the crosshair.
    AddAtCrosshair,
    /// Replaces all regions by those of the study.
    TakeFromStudy,
    /// Moves the crosshair to the centre of a region.
    GoTo(usize),
    /// Finds the isocontour of a region with this recipe in the displayed image.
    FindContour(usize, IsocontourRecipe),
    /// Replaces all regions by the template of a NEMA phantom in the displayed image.
    PlaceNema(NemaStandard),
    CancelSearch,
    /// Copies the table as text to the clipboard.
    CopyTable,
    Edit(RoiEdit),
}

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
