//! The regions of interest that are edited, and which one is selected.

use super::action::RoiAction;
use super::document::{Document, History, typed_ratio};
use crate::data::{Notice, Roi};
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
}

/// What of a wish about regions concerns more than the regions.
pub enum RoiRequest {
    /// Adds a sphere at the crosshair.
    AddAtCrosshair,
    /// Takes those that came with the study.
    TakeFromStudy,
    /// Sets the crosshair.
    GoTo(Point),
    /// Asks for a ROI file to load.
    AskLoad,
    /// Asks where to save the ROIs.
    AskSave,
    /// Asks where to export the numbers of every iterate.
    AskExport,
    /// This is to be told.
    Tell(Notice),
}

impl RoiState {
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
            RoiAction::MeasureUnfiltered(unfiltered) => self.measure_unfiltered = unfiltered,
            RoiAction::Undo => self.undo.undo(&mut self.document),
            RoiAction::Redo => self.undo.redo(&mut self.document),
        }
        self.selected = self.selected.filter(|index| *index < self.document.rois.len());
        request
    }
}
