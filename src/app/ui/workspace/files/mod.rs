//! Files of the window: dialogs, images, pictures, reports, provenance records.

pub mod anonymous;
pub mod dialogs;
pub mod file_dialog;
pub mod file_job;
pub mod file_jobs;
pub mod file_tasks;
pub mod provenance;
mod radicals;
pub mod send;
pub mod send_form;
pub mod series_chooser;
