//! Commands that describe files or the computer: `info`, `measure`, `concentration`, `lesions`, `compare`, `nema`, `devices`, `doctor`.

pub mod compare;
pub mod concentration;
pub mod devices;
pub mod doctor;
pub mod info;
mod info_image;
mod info_json;
pub mod info_list;
mod info_segmentation;
mod info_text;
pub mod lesions;
pub mod measure;
pub mod nema;
