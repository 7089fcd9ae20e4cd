//! Actions on lesions.

use crate::geometry::Point;
use crate::measure::lesions::LesionThreshold;
use crate::ui::widgets::file_task::FileTask;

#[derive(Clone, Debug)]
pub enum LesionAction {
    /// Sets the rule that selects their voxels.
    Threshold(LesionThreshold),
    /// Sets the name of the region in the liver.
    Liver(String),
    /// Moves the crosshair to a maximum, and selects the region with this name.
    GoTo(Point, String),
    /// Stores the present numbers as the baseline.
    SetBaseline,
    ClearBaseline,
    /// Copies the table as text to the clipboard.
    CopyTable,
    /// Asks for the file of a task.
    Ask(FileTask),
    /// Sets whether written and sent files are anonymous.
    Anonymise(bool),
}
