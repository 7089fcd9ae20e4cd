//! Counts of a PET scan with their corrections.

use std::sync::Arc;

use crate::coded::coded;
use crate::data::michelogram::Michelogram;
use crate::data::pet::exam::ScanFacts;
use crate::scanner::ScanGeometry;

/// Measured counts with their corrections: ȳ = multiplicative ⊙ (A x) + additive.
///
/// ```
/// use std::sync::Arc;
/// use tomoscope::data::{Counts, Michelogram};
/// use tomoscope::scanner;
///
/// let geometry = Arc::new(scanner::find("small").unwrap().geometry.clone());
/// let filled = |value| Michelogram::new(Arc::clone(&geometry), vec![value; geometry.num_bins()]);
/// // Prompts of 4 in each bin, half of which pass the object, and 0.5 randoms in each.
/// let counts = Counts::new(filled(4.0)?).with_corrections(Some(filled(0.5)?), Some(filled(0.5)?))?;
/// assert_eq!(counts.prompts.total(), 4.0 * geometry.num_bins() as f64);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Counts {
    /// Measured (prompt) counts.
    pub prompts: Michelogram,
    /// Attenuation × normalisation factors of each bin; `None` = 1.
    pub multiplicative: Option<Michelogram>,
    /// Expected randoms + scatter of each bin; `None` = 0.
    pub additive: Option<Michelogram>,
    /// Facts of the scan in the header of the counts.
    pub facts: ScanFacts,
}

/// Reason why corrections do not fit the counts.
#[derive(Clone, Debug, PartialEq, thiserror::Error, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case", prefix = "corrections.")]
pub enum CountsError {
    /// A correction has another sampling than the data.
    #[error("the {which} sinogram has {found} but the measured data has {expected}; both must be sampled alike")]
    Sampling {
        /// `multiplicative` or `additive`.
        which: &'static str,
        /// Sampling of the data.
        expected: String,
        /// Sampling of the correction.
        found: String,
    },
}

coded!(CountsError);

impl Counts {
    /// Returns counts without corrections.
    pub fn new(prompts: Michelogram) -> Self {
        Self { prompts, multiplicative: None, additive: None, facts: ScanFacts::default() }
    }

    /// Adds corrections, which must be sampled as the data is.
    ///
    /// # Errors
    /// Another number of views, tangential positions or planes.
    pub fn with_corrections(
        self,
        multiplicative: Option<Michelogram>,
        additive: Option<Michelogram>,
    ) -> Result<Self, CountsError> {
        let sampling = |g: &ScanGeometry| {
            let segments: Vec<_> = g.segments.iter().map(|s| s.num_axial_pos).collect();
            (g.num_views, g.num_tangential, segments)
        };
        let sampling_text = |g: &ScanGeometry| {
            format!(
                "{} views × {} tangential positions × {} planes in {} segments",
                g.num_views,
                g.num_tangential,
                g.num_planes(),
                g.segments.len()
            )
        };
        for (which, data) in [("multiplicative", &multiplicative), ("additive", &additive)] {
            let Some(data) = data else { continue };
            if sampling(&data.geometry) != sampling(self.geometry()) {
                let (expected, found) = (sampling_text(self.geometry()), sampling_text(&data.geometry));
                return Err(CountsError::Sampling { which, expected, found });
            }
        }
        Ok(Self { multiplicative, additive, ..self })
    }

    /// Returns the LOR of each bin.
    pub fn geometry(&self) -> &Arc<ScanGeometry> {
        &self.prompts.geometry
    }
}
