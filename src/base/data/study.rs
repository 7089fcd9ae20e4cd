//! A study: measured data, with name, source and further information.

use std::sync::Arc;

use crate::data::notice::Notice;
use crate::data::origin::Origin;
use crate::data::rois::roi::Roi;
use crate::data::volume::Volume;

/// Measured data (`M`: [`Counts`](crate::data::Counts), [`Sweep`](crate::data::Sweep)), with information that is
/// independent of their kind.
///
/// ```
/// use tomoscope_base::data::{Notice, Study};
///
/// let mut study = Study::new("two numbers", [1.0, 2.0]);
/// study.notices.push(Notice::info("an example"));
/// let sum = study.map(|numbers| numbers.iter().sum::<f64>());
/// assert_eq!((sum.measured, sum.title.as_str(), sum.notices.len()), (3.0, "two numbers", 1));
/// ```
#[derive(Clone, Debug)]
pub struct Study<M> {
    /// Name for people: the file's name or the phantom's title.
    pub title: String,
    /// The files that it was read from.
    pub origin: Origin,
    /// The data with all that its reconstruction needs.
    pub measured: M,
    /// The true image, for phantoms.
    pub truth: Option<Arc<Volume>>,
    /// Regions that come with the study (phantoms).
    pub rois: Vec<Roi>,
    /// Start of a penalised reconstruction that comes with the study (PETRIC).
    pub preset: Option<Arc<Preset>>,
    /// Notices about the data for the user.
    pub notices: Vec<Notice>,
    /// Number of the study on the remote host; `None` where its data are on this machine.
    pub remote_id: Option<u64>,
}

impl<M> Study<M> {
    /// Returns data with this name and nothing else.
    pub fn new(title: impl Into<String>, measured: M) -> Self {
        Self {
            title: title.into(),
            origin: Origin::default(),
            measured,
            truth: None,
            rois: Vec::new(),
            preset: None,
            notices: Vec::new(),
            remote_id: None,
        }
    }

    /// Returns the same study with its data in another form.
    pub fn map<N>(self, form: impl FnOnce(M) -> N) -> Study<N> {
        let Self { title, origin, measured, truth, rois, preset, notices, remote_id } = self;
        Study { title, origin, measured: form(measured), truth, rois, preset, notices, remote_id }
    }
}

/// Images and the strength of a penalised reconstruction that come with a study. All images have the same grid.
#[derive(Clone, Debug, Default)]
pub struct Preset {
    /// Start image, counts/mm.
    pub start: Option<Arc<Volume>>,
    /// κ of each voxel.
    pub kappa: Option<Arc<Volume>>,
    /// Strength β of the relative difference prior with this κ, for images in counts/mm.
    pub strength: Option<f64>,
    /// Converged image, counts/mm.
    pub reference: Option<Arc<Volume>>,
}
