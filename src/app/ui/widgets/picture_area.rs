//! Parts of the window for pictures.

use egui::{Id, Rect, Sense, Ui};

/// Part of the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PictureArea {
    Window,
    /// The views of the image and the colour bar.
    Slices,
    /// The plot in the `Ui` with this identifier.
    Plot(Id),
}

impl PictureArea {
    /// Returns the identifier of its position; `None` for the whole window.
    fn id(self) -> Option<Id> {
        match self {
            PictureArea::Window => None,
            PictureArea::Slices => Some(Id::unique("picture of the slices")),
            PictureArea::Plot(id) => Some(id),
        }
    }

    /// Records its position.
    pub fn is_at(self, rect: Rect, ui: &Ui) {
        if let Some(id) = self.id() {
            ui.interact(rect, id, Sense::empty());
        }
    }

    /// Returns its last position, points; `None` if it was not drawn.
    pub fn rect(self, ctx: &egui::Context) -> Option<Rect> {
        match self.id() {
            None => Some(ctx.viewport_rect()),
            Some(id) => Some(ctx.read_response(id)?.rect.intersect(ctx.viewport_rect())),
        }
        .filter(Rect::is_positive)
    }
}
