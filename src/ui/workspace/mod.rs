//! The window as a whole: what it holds, where its panels are, and what becomes of each wish.

pub mod actions;
pub mod app;
pub mod apply;
pub mod apply_list;
mod apply_pairs;
mod apply_study;
pub mod apply_tubes;
mod calibrate;
pub mod files;
pub mod keeping;
pub mod layout;
pub mod receive;
pub mod shortcuts;
pub mod status;
pub mod wake;
