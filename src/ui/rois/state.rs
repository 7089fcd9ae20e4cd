//! The regions of interest that are edited, and which one is selected.

use super::action::{NemaStandard, RoiAction};
use super::document::{Document, History, typed_ratio};
use super::measured::RoiLabels;
use crate::data::{IsocontourRecipe, MaskedRois, Notice, Roi};
use crate::geometry::Point;

/// The regions and what the user does with them.
#[derive(Default)]
pub struct RoiState {
    /// What is edited.
    pub document: Document,
    /// What was edited before.
    pub undo: History,
    /// The selected region.
    pub selected: Option<usize>,
    /// Whether the table leaves the filter on the image out.
    pub measure_unfiltered: bool,
    /// Beside which outlines the numbers stand.
    pub labels: RoiLabels,
    /// The regions as they were when somebody asked last.
    masked: MaskedRois,
}

/// What of a wish about regions concerns more than the regions.
pub enum RoiRequest {
    /// Adds a sphere at the crosshair.
    AddAtCrosshair,
    /// Takes those that came with the study.
    TakeFromStudy,
    /// Sets the crosshair.
    GoTo(Point),
    /// Finds an isocontour anew by this recipe.
    FindContour(usize, IsocontourRecipe),
    /// Takes this to the clipboard.
    CopyText(String),
    /// Asks for a ROI file to load.
    AskLoad,
    /// Asks where to save the ROIs.
    AskSave,
    /// Asks where to export the numbers of every iterate.
    AskExport,
    /// Takes the template of the NEMA body phantom in the image on the screen.
    PlaceNema(NemaStandard),
    /// Asks where to write the report of NEMA image quality.
    AskNemaReport(NemaStandard),
    /// This is to be told.
    Tell(Notice),
}

impl RoiState {
    /// The regions as they are now, to be measured. Of those that were not moved since the last call the masks stay.
    pub fn masked(&mut self) -> &MaskedRois {
        if *self.masked != *self.document.rois {
            self.masked = self.masked.edited(&self.document.rois);
        }
        &self.masked
    }

    /// Takes other regions, none of them selected.
    pub fn set(&mut self, rois: Vec<Roi>) {
        self.document.set_rois(rois);
        self.selected = None;
    }

    /// Adds a region and selects it.
    pub fn add(&mut self, roi: Roi) {
        self.document.rois.push(roi);
        self.selected = Some(self.document.rois.len() - 1);
    }

    /// Does what concerns the regions alone; the rest comes back.
    pub fn apply(&mut self, action: RoiAction) -> Option<RoiRequest> {
        let rois = &mut self.document.rois;
        let mut request = None;
        match action {
            RoiAction::AddAtCrosshair => request = Some(RoiRequest::AddAtCrosshair),
            RoiAction::TakeFromStudy => request = Some(RoiRequest::TakeFromStudy),
            RoiAction::AskLoad => request = Some(RoiRequest::AskLoad),
            RoiAction::AskSave => request = Some(RoiRequest::AskSave),
            RoiAction::AskExport => request = Some(RoiRequest::AskExport),
            RoiAction::PlaceNema(standard) => request = Some(RoiRequest::PlaceNema(standard)),
            RoiAction::AskNemaReport(standard) => request = Some(RoiRequest::AskNemaReport(standard)),
            RoiAction::GoTo(index) => request = rois.get(index).map(|roi| RoiRequest::GoTo(roi.centre_mm)),
            RoiAction::Select(index) => self.selected = index,
            RoiAction::Replace(index, roi) => {
                if let Some(place) = rois.get_mut(index) {
                    *place = *roi;
                }
            }
            RoiAction::EnterRatio(index, typed) => {
                let roi = rois.get_mut(index)?;
                match typed_ratio(&typed) {
                    Ok(ratio) => roi.activity_ratio = ratio,
                    Err(reason) => request = Some(RoiRequest::Tell(Notice::warning(format!("{}: {reason}", roi.name)))),
                }
            }
            RoiAction::DeleteSelected => {
                if let Some(index) = self.selected.take().filter(|index| *index < rois.len()) {
                    rois.remove(index);
                }
            }
            RoiAction::CopySelected => {
                let copied = self.selected.and_then(|index| rois.get(index)).cloned();
                if let Some(roi) = copied {
                    let copy = self.document.copy_of(&roi);
                    self.add(copy);
                }
            }
            RoiAction::MirrorSelected => {
                if let Some(roi) = self.selected.and_then(|index| rois.get_mut(index)) {
                    *roi = roi.mirrored_x();
                }
            }
            RoiAction::FindContour(index, recipe) => request = Some(RoiRequest::FindContour(index, recipe)),
            RoiAction::ShowLabels(labels) => self.labels = labels,
            RoiAction::CopyTable(text) => request = Some(RoiRequest::CopyText(text)),
            RoiAction::MeasureUnfiltered(unfiltered) => self.measure_unfiltered = unfiltered,
            RoiAction::Undo => self.step_in_history(History::undo),
            RoiAction::Redo => self.step_in_history(History::redo),
        }
        self.selected = self.selected.filter(|index| *index < self.document.rois.len());
        request
    }
}

impl RoiState {
    /// Goes back or forward one edit. A region that comes back by it is selected again.
    fn step_in_history(&mut self, step: fn(&mut History, &mut Document)) {
        let before = self.document.rois.clone();
        step(&mut self.undo, &mut self.document);
        let after = &self.document.rois;
        if after.len() == before.len() + 1 {
            self.selected = (0..after.len()).find(|&index| before.get(index) != Some(&after[index]));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::data::RoiShape;
    use crate::geometry::Grid;

    #[test]
    fn a_drag_rasterises_the_region_that_is_dragged() {
        let grid = Grid::centred([20; 3], [1.0; 3]).unwrap();
        let mut rois = RoiState::default();
        for x_mm in [-4.0, 4.0] {
            rois.add(rois.document.new_roi(RoiShape::Sphere { radius_mm: 3.0 }, [x_mm, 0.0, 0.0]));
        }
        let before = rois.masked().masks(&grid);
        rois.document.rois[1].centre_mm[0] += 1.0;
        let after = rois.masked().masks(&grid);
        let stays = |at: usize| Arc::ptr_eq(&before[at].voxels, &after[at].voxels);
        assert!(stays(0) && !stays(1));
        assert_eq!(after[1], rois.document.rois[1].mask(&grid));
    }
}
