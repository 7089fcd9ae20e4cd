//! Model of the sinogram row under the crosshair, live: computation in the background, the table of its factors, and the tab.

mod factors;
pub mod model_panel;
pub mod state;
