//! Shared parts of the window: colours and sizes, texts of numbers and axes, modal windows, notices, words of messages.

pub mod background_value;
pub mod colour_scale;
pub mod elided;
pub mod fields;
pub mod file_task;
pub mod format;
pub mod icons;
pub mod image_axes;
pub mod modal;
pub mod notices;
pub mod picture_area;
pub mod place;
pub mod plot;
pub mod sheet;
pub mod theme;
pub mod wake;
pub mod window_presets;
pub mod words;
