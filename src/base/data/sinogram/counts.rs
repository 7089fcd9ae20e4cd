//! Counts of a PET scan with their corrections.

use std::fmt::{self, Display, Formatter};
use std::sync::Arc;

use rayon::prelude::*;

use super::michelogram::Michelogram;
use super::tof::{TofBins, TofBinsError, TofValues};
use crate::coded::coded;
use crate::data::attenuation::AttenuationMap;
use crate::data::events::chunk::tof_mm;
use crate::data::pet::exam::ScanFacts;
use crate::scanner::{GeometryDifference, ScanGeometry};

/// Measured counts with their corrections: ȳ = multiplicative ⊙ (A x) + additive.
///
/// ```
/// use std::sync::Arc;
/// use tomoscope_base::data::{Counts, Michelogram};
/// use tomoscope_base::scanner;
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
    /// Maps of the object's attenuation that the factors include, for display; none if the factors come from a file alone.
    pub attenuation: Vec<Arc<AttenuationMap>>,
    /// Facts of the scan in the header of the counts.
    pub facts: ScanFacts,
}

/// Meaning of an additive term without time of flight for counts with it. Each bin gets the same part.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TofBackground {
    /// The sum of the bins.
    SumOfBins,
    /// The whole coincidence window; the bins contain this part of it, 0 … 1.
    Window(f64),
}

impl Display for TofBackground {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            TofBackground::SumOfBins => write!(f, "sum of the bins"),
            TofBackground::Window(part) => write!(f, "{:.1} % of the coincidence window", 100.0 * part),
        }
    }
}

/// Reason why corrections do not fit the counts.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
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
    /// A correction of another geometry with the same numbers of bins.
    #[error("the {which} sinogram has {fact} {found} but the measured data has {expected}; both must be of one geometry")]
    Geometry {
        /// `multiplicative` or `additive`.
        which: &'static str,
        /// The differing fact.
        fact: &'static str,
        /// Its value in the data.
        expected: String,
        /// Its value in the correction.
        found: String,
    },
    /// Factors by time of flight.
    #[error("the multiplicative sinogram has time-of-flight bins; factors are for whole lines: give a sinogram without them")]
    TofFactors,
    /// A correction with other time-of-flight bins than the data.
    #[error(
        "the additive sinogram has {} and the measured data has {}; both must have the same, or the additive one none",
        tof_text(found.as_ref()), tof_text(expected.as_ref())
    )]
    TofBins {
        /// Bins of the data.
        expected: Option<TofBins>,
        /// Bins of the correction.
        found: Option<TofBins>,
    },
}

fn tof_text(bins: Option<&TofBins>) -> String {
    match bins {
        Some(TofBins { num, width_mm, .. }) => format!("{num} time-of-flight bins of {width_mm:.3} mm"),
        None => "no time-of-flight bins".to_owned(),
    }
}

coded!(CountsError = "corrections");

impl Counts {
    /// Returns counts without corrections.
    pub fn new(prompts: Michelogram) -> Self {
        Self { prompts, multiplicative: None, additive: None, attenuation: Vec::new(), facts: ScanFacts::default() }
    }

    /// Returns the number of bins of every `num_subsets`-th view from `subset` on that have counts, though their factor and their
    /// background are 0: no image explains them.
    pub fn num_without_factor(&self, subset: usize, num_subsets: usize) -> usize {
        let Some(factors) = &self.multiplicative else { return 0 };
        let Michelogram { geometry, counts, tof } = &self.prompts;
        let (num_planes, view_len) = (geometry.num_planes(), geometry.num_tangential * geometry.num_planes());
        let is_expected = |bin: usize| {
            let background = self.additive.as_ref().map_or(0.0, |additive| additive.counts[bin]);
            factors.counts[bin] > 0.0 || background > 0.0
        };
        let num_counted = |bin: usize| match tof {
            None => usize::from(counts[bin] > 0.0),
            Some(TofValues { bins, values }) => {
                let first = bin / num_planes * num_planes * bins.num + bin % num_planes;
                (0..bins.num).filter(|k| values[first + k * num_planes] > 0.0).count()
            }
        };
        let views: Vec<usize> = (subset..geometry.num_views).step_by(num_subsets.max(1)).collect();
        let of_view = |view: usize| {
            (view * view_len..(view + 1) * view_len).filter(|bin| !is_expected(*bin)).map(num_counted).sum::<usize>()
        };
        views.into_par_iter().map(of_view).sum()
    }

    /// Adds corrections, which must be sampled as the data is.
    ///
    /// # Errors
    /// Another number of views, tangential positions or planes, or another geometry.
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
            if let Some(difference) = data.geometry.difference(self.geometry()) {
                let GeometryDifference { fact, values: [found, expected] } = difference;
                return Err(CountsError::Geometry { which, fact, expected, found });
            }
        }
        if multiplicative.as_ref().is_some_and(|factors| factors.tof.is_some()) {
            return Err(CountsError::TofFactors);
        }
        let bins = |data: &Michelogram| data.tof.as_ref().map(|tof| tof.bins);
        if let Some(found) = additive.as_ref().and_then(bins) {
            let expected = bins(&self.prompts);
            let is_alike = expected
                .is_some_and(|expected| expected.num == found.num && (expected.width_mm / found.width_mm - 1.0).abs() < 1e-4);
            if !is_alike {
                return Err(CountsError::TofBins { expected, found: Some(found) });
            }
        }
        Ok(Self { multiplicative, additive, ..self })
    }

    /// Returns the LOR of each bin.
    pub fn geometry(&self) -> &Arc<ScanGeometry> {
        &self.prompts.geometry
    }

    /// Returns the time-of-flight bins, if the data have any.
    pub fn tof_bins(&self) -> Option<TofBins> {
        self.prompts.tof.as_ref().map(|tof| tof.bins)
    }

    /// Returns how the additive term without time of flight is distributed over the time-of-flight bins of the data; `None` where
    /// there is nothing to distribute.
    pub fn tof_background(&self) -> Option<TofBackground> {
        let bins = self.tof_bins()?;
        self.additive.as_ref().filter(|additive| additive.tof.is_none())?;
        Some(match self.facts.coincidence_window_ps {
            Some(ps) => TofBackground::Window((bins.num as f64 * bins.width_mm / tof_mm(ps)).min(1.0)),
            None => TofBackground::SumOfBins,
        })
    }

    /// Reduces an additive term of the whole coincidence window to that of the time-of-flight bins together, if the window is
    /// known: randoms are the same everywhere in it.
    #[must_use]
    pub fn with_background_of_bins(mut self) -> Self {
        if let (Some(TofBackground::Window(part)), Some(additive)) = (self.tof_background(), &mut self.additive) {
            let counts: &mut Vec<f32> = Arc::make_mut(&mut additive.counts);
            counts.par_iter_mut().for_each(|value| *value = (part * f64::from(*value)) as f32);
        }
        self
    }

    /// Returns the same without time of flight.
    pub fn without_tof(self) -> Self {
        Self { prompts: self.prompts.without_tof(), additive: self.additive.map(Michelogram::without_tof), ..self }
    }

    /// Adds up `mash` neighbouring time-of-flight bins.
    ///
    /// # Errors
    /// Another number than a divisor of that of the bins.
    pub fn tof_mashed(self, mash: usize) -> Result<Self, TofBinsError> {
        let additive = self.additive.map(|additive| additive.tof_mashed(mash)).transpose()?;
        Ok(Self { prompts: self.prompts.tof_mashed(mash)?, additive, ..self })
    }
}
