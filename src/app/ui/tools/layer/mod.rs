//! Second image: its panel, and the choice of a radical.

pub mod layer_panel;
pub mod radical_panel;

use crate::ui::layer::second_image::SecondImage;
use crate::ui::workspace::state::{Request, request};

/// Requests a change of the second image.
fn edit_image(change: impl FnOnce(&mut SecondImage) + 'static) -> Request {
    request(move |work| _ = work.layer.image.as_mut().map(change))
}
