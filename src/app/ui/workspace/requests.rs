//! Requests that concern several folders.

use super::panes::arrangement::Arrangement;
use super::panes::pane_tree::PaneTree;
use super::state::Workspace;
use crate::data::{IsocontourRecipe, Notice, RoiShape};
use crate::ui::rois::action::RoiEdit;
use crate::ui::rois::measured::common_ratio;
use crate::ui::rois::search::RoiQuery;
use crate::ui::run::run_view::RunView;
use crate::ui::slices::action::ViewAction;
use crate::ui::slices::state::ImageView;
use crate::ui::study::open::open_images::PetMoment;
use crate::ui::widgets::file_task::{FileTask, NemaStandard};
use crate::ui::widgets::theme;

impl Workspace {
    /// Changes between the light and the dark theme.
    pub fn toggle_theme(&self) {
        let is_dark = self.ctx.theme() == egui::Theme::Dark;
        self.ctx.set_theme(if is_dark { egui::Theme::Light } else { egui::Theme::Dark });
    }

    /// Switches animations off or on.
    pub fn reduce_motion(&mut self, is_reduced: bool) {
        self.preferences.is_motion_reduced = is_reduced;
        theme::reduce_motion(&self.ctx, is_reduced);
    }

    /// Arranges panes and views for a kind of work.
    pub fn arrange(&mut self, arrangement: Arrangement) {
        self.panes = PaneTree::of(arrangement);
        let (layout, turned) = arrangement.views();
        let view = &mut self.slices.view;
        (view.layout, view.maximised) = (layout, None);
        view.turned = turned.unwrap_or(view.turned);
    }

    pub fn apply_view(&mut self, action: ViewAction) {
        if let ViewAction::AskPicture(area) = action {
            self.ask(FileTask::SavePicture(area));
            return;
        }
        if matches!(action, ViewAction::SetProfile(_)) {
            self.plots.peak_mm = None;
        }
        let RunView { shown, colouring, .. } = self.runs.active_mut();
        let image = ImageView { volume: shown.image(), range: shown.range, num_fitted: self.study.num_fitted(), colouring };
        self.slices.apply(action, image, &mut self.rois, &self.ctx);
    }

    /// Arranges the panes as they were saved under a name.
    pub fn arrange_as(&mut self, name: &str) {
        if let Some(saved) = self.preferences.arrangements.get(name) {
            self.panes = saved.clone();
        }
    }

    /// Saves the arrangement of the panes under a name.
    pub fn save_arrangement(&mut self, name: String) {
        self.preferences.arrangements.insert(name, self.panes.clone());
    }

    /// Edits the regions or their display.
    pub fn edit_rois(&mut self, edit: RoiEdit) {
        let notice = self.rois.apply(edit);
        self.notify_all(notice);
    }

    /// Adds a sphere at the crosshair.
    pub fn add_sphere(&mut self) {
        let sphere = RoiShape::Sphere { radius_mm: 10.0 };
        self.rois.add(self.rois.document.new_roi(sphere, self.slices.view.crosshair_mm));
    }

    /// Moves the crosshair to the centre of a region.
    pub fn go_to_roi(&mut self, index: usize) {
        if let Some(roi) = self.rois.document.rois.get(index) {
            self.apply_view(ViewAction::SetCrosshair(roi.centre_mm));
        }
    }

    /// Finds the isocontour of a region with this recipe in the displayed image.
    pub fn find_contour(&mut self, index: usize, recipe: IsocontourRecipe) {
        let image = self.runs.active().shown.image();
        if let Some((image, roi)) = image.zip(self.rois.document.rois.get(index)) {
            let query = RoiQuery::Contour(index, Box::new(roi.clone()), recipe);
            self.rois.search.start(query, image, &self.ctx);
        }
    }

    /// Starts finding a phantom in the displayed image; its template then replaces the regions.
    pub fn place_nema(&mut self, standard: NemaStandard) {
        let query = RoiQuery::Template(standard, common_ratio(&self.rois.document.rois));
        match self.runs.active().shown.image() {
            Some(image) => self.rois.search.start(query, image, &self.ctx),
            None => self.notify(Notice::error("there is no image to measure yet")),
        }
    }

    pub fn cancel_loading(&mut self) {
        self.study.loading = None;
        self.leaving.saved.forget_confirmation();
    }

    /// Ends a replay, or stops following a file.
    pub fn stop_feed(&mut self) {
        let notices = self.study.stop_feed();
        self.notify_all(notices);
    }

    /// Sets the calibration of the open scan, Bq/mL per count/mm; `None`: none.
    pub fn calibrate(&mut self, bq_per_ml: Option<f64>) {
        let failed = self.study.calibrate(bq_per_ml);
        self.notify_all(failed);
    }

    /// Sets a moment of the open PET series by its typed text.
    pub fn set_moment(&mut self, moment: PetMoment, typed: &str) {
        if let Some(Err(text)) = self.study.images_mut().map(|open| open.set_moment(moment, typed)) {
            self.notify(Notice::warning(text));
        }
    }
}
