//! What the user wishes about regions of interest.

use super::measured::RoiLabels;
use crate::data::{IsocontourRecipe, Roi};

/// A standard of NEMA, and its phantom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NemaStandard {
    /// NU 2: the body phantom.
    Body,
    /// NU 4: that for small animals.
    SmallAnimal,
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
    /// Adds a copy of the selected one, which is then selected.
    CopySelected,
    /// Puts the mirror image of the selected one, left and right exchanged, in its place.
    MirrorSelected,
    /// Finds an isocontour anew by this recipe, in the image on the screen.
    FindContour(usize, IsocontourRecipe),
    /// Numbers stand beside these outlines.
    ShowLabels(RoiLabels),
    /// Copies the table as text.
    CopyTable(String),
    /// Adds a sphere at the crosshair.
    AddAtCrosshair,
    /// Takes those that came with the study.
    TakeFromStudy,
    /// Sets the crosshair to its centre.
    GoTo(usize),
    /// The table's numbers are of the image as it was reconstructed, or of the one on the screen.
    MeasureUnfiltered(bool),
    /// Asks for a ROI file to load.
    AskLoad,
    /// Asks where to save the ROIs.
    AskSave,
    /// Asks where to export the numbers of every iterate.
    AskExport,
    /// Takes the template of a NEMA phantom in the image on the screen.
    PlaceNema(NemaStandard),
    /// Asks where to write the report of NEMA image quality.
    AskNemaReport(NemaStandard),
    /// Goes back one edit.
    Undo,
    /// Goes forward one edit.
    Redo,
}
