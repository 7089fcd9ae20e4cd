//! Input of the views of the image, and the context menu that they share.

use egui::Ui;

use super::action::{Drag, ViewAction};
use super::comparison::{Beside, CompareMode, Picture};
use super::slice_paint::{Adapter, ViewSettings};
use super::tool::Corners;
use super::view::ViewState;
use crate::data::{Placement, Roi, RoiPlane, ValueScale, Volume};
use crate::render::VolumeSlot;
use crate::ui::layer::second_image::{LayerOrder, SecondImage};
use crate::ui::rois::measured::{RoiLabels, TableCache};
use crate::ui::widgets::colour_scale::ColourScale;
use crate::ui::widgets::image_axes::ImageAxes;
use crate::ui::widgets::picture_area::PictureArea;
use crate::ui::widgets::theme;

pub struct SlicesView<'a> {
    /// Position, zoom, tool, …
    pub view: &'a ViewState,
    pub colouring: &'a ColourScale,
    /// The image on the screen.
    pub volume: &'a Volume,
    pub rois: &'a [Roi],
    /// Their numbers, in the same order, if any.
    pub table: Option<&'a TableCache>,
    /// The unit in which values are shown.
    pub scale: ValueScale,
    /// Outlines that have numbers next to them.
    pub labels: RoiLabels,
    pub selected: Option<usize>,
    /// The one being drawn.
    pub draft: Option<&'a Roi>,
    /// Corners of the polygon that is being drawn.
    pub corners: Option<&'a Corners>,
    /// The drag under way and the plane it began in.
    pub drag: Option<(Drag, RoiPlane)>,
    pub axes: ImageAxes,
    pub beside: Option<&'a Beside<'a>>,
    /// Second image, if it is drawn.
    pub layer: Option<&'a SecondImage>,
    /// Position of an oblique image in the world.
    pub placement: Option<&'a Placement>,
    pub adapter: Option<Adapter>,
}

impl<'a> SlicesView<'a> {
    /// Returns the visible ROIs, which can be selected.
    pub(super) fn visible_rois(&self) -> &'a [Roi] {
        if self.view.show_rois { self.rois } else { &[] }
    }

    /// Returns true if the swipe line divides the displayed and the second image. A swipe of the comparison has priority.
    pub(super) fn swipes_layer(&self) -> bool {
        let is_free = self.beside.is_none_or(|beside| beside.how != CompareMode::Swipe);
        is_free && self.layer.is_some_and(|image| image.display.order == LayerOrder::Swipe)
    }

    /// Returns the accessible name of a picture in the view with this name.
    pub(super) fn picture_name(&self, name: impl Into<String>, picture: Picture) -> String {
        match self.beside.filter(|_| picture == Picture::Reference) {
            Some(beside) => format!("{}, {}", name.into(), beside.names[1]),
            None => name.into(),
        }
    }

    pub(super) fn view_settings(&self, ui: &Ui) -> ViewSettings<'a> {
        ViewSettings {
            volume: VolumeSlot::First,
            view: self.view,
            colouring: self.colouring,
            outside: theme::colours(ui.visuals()).slice_background,
        }
    }
}

/// Draws the context menu of a view.
pub(super) fn picture_menu_ui(response: &egui::Response, actions: &mut Vec<ViewAction>) {
    response.context_menu(|ui| {
        let save = ui.button("Save picture of the slices…");
        if save.on_hover_text("The views and the colour bar at twice the window's resolution, as PNG").clicked() {
            actions.push(ViewAction::AskPicture(PictureArea::Slices));
        }
    });
}
