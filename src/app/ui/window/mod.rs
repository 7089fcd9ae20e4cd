//! The window: panes with the tools, banner, status line, commands, modal windows, pictures and films.

pub mod app;
mod banner;
mod commands;
mod dialogs_ui;
mod film;
mod film_job;
mod layout;
mod panes_ui;
mod picture;
mod send_ui;
mod series_chooser_ui;
mod status;
mod unsaved_ui;
