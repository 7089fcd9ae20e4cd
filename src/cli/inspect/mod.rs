//! Commands that describe files or the computer: `info`, `measure`, `compare`, `nema`, `devices`, `doctor`.

pub mod compare;
pub mod devices;
pub mod doctor;
pub mod info;
pub mod info_image;
mod info_json;
pub mod info_list;
pub mod measure;
pub mod nema;
