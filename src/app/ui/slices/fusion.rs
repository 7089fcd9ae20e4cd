//! Pictures of a view: the displayed image, its reference image and the second image.

use egui::Ui;

use super::comparison::{Part, Picture};
use super::slices_view::SlicesView;
use crate::render::SliceView;
use crate::ui::layer::second_image::LayerOrder;

/// Views of the same plane through the images.
pub(super) struct Planes {
    /// Displayed image.
    pub own: SliceView,
    /// Reference image, if both are compared.
    pub reference: Option<SliceView>,
    /// Second image, if it is drawn.
    pub layer: Option<SliceView>,
}

/// Returns the pictures to draw, the lowest first: the images of the comparison, and the second image over or under them or from
/// the swipe line on.
pub(super) fn composed(view: &SlicesView, picture: Picture, planes: &Planes, ui: &Ui) -> Vec<Part> {
    let Planes { own, reference, layer } = *planes;
    let (swipe, time) = (view.view.swipe, ui.input(|input| input.time));
    let compared = view.beside.zip(reference);
    let drawn = compared
        .map_or_else(|| vec![Part::whole(own)], |(beside, reference)| beside.drawn(picture, [own, reference], swipe, time));
    let Some((image, layer)) = view.layer.zip(layer) else { return drawn };
    let over = Some(image.display.opacity);
    match image.display.order {
        LayerOrder::Swipe if view.swipes_layer() => {
            let left = drawn.into_iter().map(|part| part.until(swipe));
            left.chain([Part { picture: layer, range: [swipe, 1.0] }]).collect()
        }
        LayerOrder::Above | LayerOrder::Swipe => drawn.into_iter().chain([Part::whole(SliceView { over, ..layer })]).collect(),
        LayerOrder::Below => {
            let above = drawn.into_iter().map(|part| Part { picture: SliceView { over, ..part.picture }, ..part });
            [Part::whole(layer)].into_iter().chain(above).collect()
        }
    }
}
