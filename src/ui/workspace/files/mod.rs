//! What the window writes and asks for: images, pictures, reports, records and dialogs.

pub mod apply_files;
pub mod dialogs;
pub mod file_jobs;
pub mod nema;
pub mod picture;
pub mod provenance;
