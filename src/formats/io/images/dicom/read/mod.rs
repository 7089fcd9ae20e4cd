//! Reads DICOM series: PET, CT, MR and other images of one number per pixel, as files of one slice or of several. Reads
//! segmentations as regions of an image.
//!
//! Slices are sorted by their position along the normal; each has its own slope and intercept. Images at the same positions are
//! images over time, or gates. An oblique series keeps its own axes; its position in the world is a
//! [`Placement`](crate::data::Placement).
//!
//! *Space.* DICOM's z is reversed in our world.

mod attributes;
mod colour;
mod decode;
mod elements;
mod instance;
mod lattice;
mod layout;
mod pet;
mod regions;
mod segmentation;
mod series;
mod source;
mod stack;
mod time;

pub use segmentation::{SegmentFigures, Segmentation, SegmentationKind, read_segmentation};
pub use series::{SeriesSlice, files_of_series, find_series, is_dicom, is_segmentation, read_images, read_middle_slice};
pub use source::{SourceSeries, SourceSlice, source_series};
