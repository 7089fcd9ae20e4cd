//! Time frames of list-mode data: their runs one after the other, and time–activity curves.

pub mod series;
pub mod time_activity;
