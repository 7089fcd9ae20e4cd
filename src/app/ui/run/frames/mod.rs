//! Time frames of list-mode data: their runs one after the other, the slider between them, and time–activity curves.

pub mod series;
pub mod slider;
pub mod time_activity;
