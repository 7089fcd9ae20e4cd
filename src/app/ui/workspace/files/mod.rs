//! Files of the window: dialogs, images, pictures, reports, provenance records.

mod anonymous;
pub mod dialogs;
mod file_dialog;
pub mod file_job;
pub mod file_jobs;
pub mod file_tasks;
pub mod film;
pub mod film_job;
pub mod nema;
pub mod picture;
pub mod provenance;
mod radicals;
pub mod send;
pub mod send_form;
mod send_panel;
