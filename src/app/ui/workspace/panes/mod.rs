//! Panes of the window, and their arrangement: which panes are where, side by side or as tabs.

pub mod arrangement;
pub mod pane;
pub mod pane_tree;
