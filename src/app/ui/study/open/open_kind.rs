//! State of the window for one kind of data. Another kind implements [`OpenKind`] in the file of its panel.

use std::any::Any;
use std::path::Path;

use crate::operator::Accumulation;
use crate::session::Feed;
use crate::ui::widgets::image_axes::ImageAxes;

/// State of the window for one kind of data.
pub trait OpenKind: Any + Send {
    /// Returns the facts of the data by name.
    fn facts(&self) -> Vec<(&'static str, String)>;

    /// Returns the file of the measured data, local or on the server.
    fn measured_file(&self) -> Option<&Path>;

    fn axes(&self) -> ImageAxes {
        ImageAxes::PATIENT
    }

    /// Returns the number of axes along which the view fits an object. The field of view of a PET scanner fills its short z axis.
    fn num_fitted(&self) -> usize {
        2
    }

    /// Returns the accumulations of its backprojections; none if threads do not share voxels.
    fn accumulations(&self) -> &'static [Accumulation] {
        &[]
    }

    /// Returns the name of the product that a run makes in advance.
    fn made_at_start(&self) -> &'static str {
        "tubes"
    }

    /// Returns a number that changes with the memory requirement of growing data; `None` for complete data.
    fn num_received(&self) -> Option<usize> {
        None
    }

    /// Returns the source of growing data.
    fn feed(&self) -> Option<&Feed> {
        None
    }

    /// Returns true if a run with this number of projections or events has used all growing data that have arrived.
    fn has_used_all(&self, _num_used: [Option<usize>; 2]) -> bool {
        false
    }
}
