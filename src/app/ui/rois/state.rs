//! State of the regions of interest: regions, selection, history, search.

use egui::Context;

use super::action::RoiEdit;
use super::document::{Document, History, typed_ratio};
use super::measured::RoiLabels;
use super::search::{RoiQuery, RoiSearch};
use crate::data::{MaskedRois, Notice, Roi, RoiRole};

#[derive(Default)]
pub struct RoiState {
    pub document: Document,
    pub undo: History,
    pub selected: Option<usize>,
    /// True if the table measures the unfiltered image.
    pub measure_unfiltered: bool,
    /// Outlines with numbers.
    pub labels: RoiLabels,
    pub search: RoiSearch,
    /// Regions at the last call of [`RoiState::masked`], with their masks.
    masked: MaskedRois,
}

impl RoiState {
    /// Returns the current regions with their masks. Regions that did not move since the last call keep their masks.
    pub fn masked(&mut self) -> &MaskedRois {
        if *self.masked != *self.document.rois {
            self.masked = self.masked.edited(&self.document.rois);
        }
        &self.masked
    }

    /// Replaces all regions; none is selected, and a search ends.
    pub fn set(&mut self, rois: Vec<Roi>) {
        self.document.set_rois(rois);
        (self.selected, self.search) = (None, RoiSearch::default());
    }

    /// Adds a region and selects it.
    pub fn add(&mut self, roi: Roi) {
        self.document.rois.push(roi);
        self.selected = Some(self.document.rois.len() - 1);
    }

    /// Applies an edit; returns its failure.
    pub fn apply(&mut self, edit: RoiEdit) -> Option<Notice> {
        let rois = &mut self.document.rois;
        let mut notice = None;
        match edit {
            RoiEdit::Select(index) => self.selected = index,
            RoiEdit::Replace(index, roi) => {
                if let Some(replaced) = rois.get_mut(index) {
                    *replaced = *roi;
                }
            }
            RoiEdit::Ratio(index, typed) => {
                let roi = rois.get_mut(index)?;
                match typed_ratio(&typed) {
                    Ok(ratio) => roi.activity_ratio = ratio,
                    Err(reason) => notice = Some(Notice::warning(format!("{}: {reason}", roi.name))),
                }
            }
            RoiEdit::HotRatio(typed) => match typed_ratio(&typed) {
                Ok(ratio) => {
                    rois.iter_mut().filter(|roi| roi.role == RoiRole::Hot).for_each(|roi| roi.activity_ratio = ratio);
                }
                Err(reason) => notice = Some(Notice::warning(format!("true ratio: {reason}"))),
            },
            RoiEdit::SelectNext => {
                let next = self.selected.map_or(0, |index| index + 1);
                self.selected = (!rois.is_empty()).then(|| next % rois.len());
            }
            RoiEdit::MoveSelected(by_mm) => {
                if let Some(roi) = self.selected.and_then(|index| rois.get_mut(index)) {
                    roi.centre_mm = std::array::from_fn(|axis| roi.centre_mm[axis] + by_mm[axis]);
                }
            }
            RoiEdit::ResizeSelected(factor) => {
                if let Some(roi) = self.selected.and_then(|index| rois.get_mut(index)) {
                    roi.shape = roi.shape.scaled(factor);
                }
            }
            RoiEdit::DeleteSelected => {
                if let Some(index) = self.selected.take().filter(|index| *index < rois.len()) {
                    rois.remove(index);
                }
            }
            RoiEdit::CopySelected => {
                let copied = self.selected.and_then(|index| rois.get(index)).cloned();
                if let Some(roi) = copied {
                    let copy = self.document.copy_of(&roi);
                    self.add(copy);
                }
            }
            RoiEdit::MirrorSelected => {
                if let Some(roi) = self.selected.and_then(|index| rois.get_mut(index)) {
                    *roi = roi.mirrored_x();
                }
            }
            RoiEdit::ShowLabels(labels) => self.labels = labels,
            RoiEdit::MeasureUnfiltered(unfiltered) => self.measure_unfiltered = unfiltered,
            RoiEdit::Undo => self.step_in_history(|history, document| history.undo(document).cloned()),
            RoiEdit::Redo => self.step_in_history(|history, document| history.redo(document).cloned()),
        }
        self.selected = self.selected.filter(|index| *index < self.document.rois.len());
        notice
    }

    /// Applies the result of a search. Returns its query, or the failure.
    pub fn receive_search(&mut self, ctx: &Context) -> Option<Result<RoiQuery, Notice>> {
        let (query, found) = self.search.poll(ctx)?;
        let rois = match (&query, found) {
            (_, Ok(rois)) => rois,
            (RoiQuery::Template(..), Err(reason)) => return Some(Err(Notice::error(reason))),
            (RoiQuery::NewContour(..), Err(reason)) => return Some(Err(Notice::warning(format!("No isocontour: {reason}")))),
            (RoiQuery::Contour(_, roi, _), Err(reason)) => return Some(Err(Notice::warning(format!("{}: {reason}", roi.name)))),
        };
        match &query {
            RoiQuery::Template(..) => self.set(rois),
            RoiQuery::NewContour(..) => rois.into_iter().for_each(|roi| self.add(roi)),
            RoiQuery::Contour(index, before, _) => {
                // A region that was edited since is left as it is.
                let region = self.document.rois.get_mut(*index).filter(|roi| roi.covers_same(before));
                region.into_iter().zip(rois).for_each(|(roi, found)| roi.shape = found.shape);
            }
        }
        Some(Ok(query))
    }

    /// Reverts or repeats an edit. A region that returns is selected; else the same region stays selected.
    fn step_in_history(&mut self, step: fn(&mut History, &Document) -> Option<Document>) {
        let Some(document) = step(&mut self.undo, &self.document) else { return };
        let before = std::mem::replace(&mut self.document, document).rois;
        let after = &self.document.rois;
        self.selected = if after.len() == before.len() + 1 {
            (0..after.len()).find(|&index| before.get(index) != Some(&after[index]))
        } else if after.len() == before.len() {
            self.selected
        } else {
            let region = self.selected.and_then(|index| before.get(index));
            region.and_then(|region| after.iter().position(|roi| roi == region))
        };
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::data::RoiShape;
    use crate::geometry::Grid;

    #[test]
    fn undo_of_a_deletion_selects_the_region_and_redo_selects_no_other_one() {
        let mut rois = RoiState::default();
        for x_mm in [-4.0, 4.0] {
            rois.add(rois.document.new_roi(RoiShape::Sphere { radius_mm: 3.0 }, [x_mm, 0.0, 0.0]));
        }
        rois.undo.restart(&rois.document);
        rois.selected = Some(0);
        rois.apply(RoiEdit::DeleteSelected);
        rois.undo.feed_state(0.0, &rois.document);
        rois.undo.feed_state(1.0, &rois.document);
        rois.apply(RoiEdit::Undo);
        assert_eq!(rois.selected, Some(0));
        rois.apply(RoiEdit::MirrorSelected);
        assert_eq!(rois.document.rois[0].centre_mm[0], 4.0);
        // Without the edit in between: the deletion is repeated.
        rois.apply(RoiEdit::MirrorSelected);
        rois.apply(RoiEdit::Redo);
        assert_eq!((rois.document.rois.len(), rois.selected), (1, None));
    }

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
