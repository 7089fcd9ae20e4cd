//! What the whole window is made of: colours and sizes, numbers and axes in words, questions, notices.

pub mod colour_scale;
pub mod fields;
pub mod format;
pub mod image_axes;
pub mod modal;
pub mod notices;
pub mod picture_area;
pub mod place;
pub mod plot;
pub mod theme;
