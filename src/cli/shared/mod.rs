//! Parts of several commands: options, outputs, progress, errors.

pub mod console;
pub mod ct_options;
pub mod error;
pub mod given;
pub mod image_input;
pub mod image_options;
pub mod known;
pub mod list_options;
pub mod notices;
pub mod option_groups;
pub mod options;
pub mod outputs;
pub mod oxygen;
pub mod paths;
pub mod printed;
pub mod progress;
pub mod setting_options;
pub mod signals;
pub mod standards;
