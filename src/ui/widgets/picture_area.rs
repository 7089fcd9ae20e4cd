//! What of the window a picture is saved of.

use egui::{Id, Rect, Sense, Ui};

/// A part of the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PictureArea {
    /// All of it.
    Window,
    /// The views of the image and the colour bar.
    Slices,
    /// The plot that is drawn in the `Ui` of this name.
    Plot(Id),
}

impl PictureArea {
    /// By what its place is known; the whole window needs none.
    fn id(self) -> Option<Id> {
        match self {
            PictureArea::Window => None,
            PictureArea::Slices => Some(Id::unique("picture of the slices")),
            PictureArea::Plot(id) => Some(id),
        }
    }

    /// Says where it is drawn.
    pub fn is_at(self, rect: Rect, ui: &Ui) {
        if let Some(id) = self.id() {
            ui.interact(rect, id, Sense::empty());
        }
    }

    /// Where it was drawn last, points; `None` where it was not.
    pub fn rect(self, ctx: &egui::Context) -> Option<Rect> {
        match self.id() {
            None => Some(ctx.viewport_rect()),
            Some(id) => Some(ctx.read_response(id)?.rect.intersect(ctx.viewport_rect())),
        }
        .filter(Rect::is_positive)
    }
}
