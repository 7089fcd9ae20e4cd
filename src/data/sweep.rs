//! An EPRI sweep: projections of a paramagnetic object along gradient directions, as they arrive.
//!
//! A projection p(t) along the unit vector n is the integral of the object over the planes x·n = t, in mm: measured as it is
//! (pulse), or as the first derivative of its convolution with the line shape of the probe (continuous wave). Where all
//! gradients lie in one plane the sweep is two-dimensional: what it is an image of is the object summed up across that plane,
//! and p(t) is that image's integral over the lines x·n = t.

use std::f64::consts::{PI, TAU};
use std::fmt;
use std::sync::Arc;

/// Coordinates along the axes of the image: of a volume the gradient axes x, y, z; of a slice its two, and 0.
pub type Direction = [f64; 3];

/// An axis of the gradients.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, strum::IntoStaticStr, strum::EnumString)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "lowercase", ascii_case_insensitive)]
pub enum GradientAxis {
    /// The first one.
    X,
    /// The second one.
    Y,
    /// The third one.
    Z,
}

impl GradientAxis {
    /// Its name for people and in files.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// What a sweep is an image of. Its reader decides, by what the file says or by all directions that it lists: the first few
/// projections of a volume may lie in one plane too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum SweepSpace {
    /// A volume: directions fill a half sphere, weights are solid angles.
    #[default]
    Volume,
    /// A single slice: directions (cos θ, sin θ, 0) fill a half circle, weights are angles. The gradient axes that are the
    /// image's x and y.
    Slice([GradientAxis; 2]),
}

impl SweepSpace {
    /// Whether it is a single slice.
    pub fn is_slice(self) -> bool {
        matches!(self, SweepSpace::Slice(_))
    }

    /// What the weights of a whole sweep add up to: 2π, the half sphere, or π, the half circle.
    pub fn whole_weight(self) -> f64 {
        match self {
            SweepSpace::Volume => TAU,
            SweepSpace::Slice(_) => PI,
        }
    }
}

/// "3D", or "2D, axes z and y".
impl fmt::Display for SweepSpace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SweepSpace::Volume => f.write_str("3D"),
            SweepSpace::Slice([x, y]) => write!(f, "2D, axes {} and {}", x.name(), y.name()),
        }
    }
}

/// One complete projection.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Projection {
    /// Unit vector n along which t grows. In continuous-wave data it points against the gradient: spins at x resonate at
    /// the field B with B + gradient · x = const, so that a higher field shows what lies farther down the gradient.
    pub direction: Direction,
    /// Part of all directions that it stands for: a solid angle of the half sphere, in two dimensions an angle of the half
    /// circle. Those of a whole sweep add up to [`SweepSpace::whole_weight`].
    pub weight: f64,
    /// Samples along t, [`Sweep::num_points`] of them.
    #[serde(serialize_with = "write_values", deserialize_with = "read_values")]
    pub values: Arc<[f32]>,
}

/// Samples as a sequence.
fn write_values<S: serde::Serializer>(values: &Arc<[f32]>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(values.iter())
}

fn read_values<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Arc<[f32]>, D::Error> {
    <Vec<f32> as serde::Deserialize>::deserialize(deserializer).map(Arc::from)
}

impl Projection {
    /// Whether every sample is exactly zero: what stands in a file that was allocated before it is measured.
    pub fn is_zero(&self) -> bool {
        self.values.iter().all(|&value| value == 0.0)
    }
}

/// The spectrum of the probe without a gradient, which continuous-wave projections are deconvolved with.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct ReferenceSpectrum {
    /// First-derivative spectrum.
    #[serde(serialize_with = "write_values", deserialize_with = "read_values")]
    pub values: Arc<[f32]>,
    /// Distance of samples, mT.
    pub step_mt: f64,
}

/// What a projection's samples are.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub enum SweepKind {
    /// Plane integrals.
    Pulse,
    /// First-derivative spectra under a gradient.
    ContinuousWave {
        /// Distance of samples, mT.
        step_mt: f64,
        /// Size of the gradient, mT/mm: t = (field − field at the centre) / gradient.
        gradient_mt_per_mm: f64,
        /// The probe's spectrum, once it is known.
        reference: Option<ReferenceSpectrum>,
    },
}

/// What a sweep's file tells beside what is needed.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct SweepFacts {
    /// Side of the image that the acquisition was planned for, mm.
    pub field_of_view_mm: Option<f64>,
    /// Of complex spectra: how they were made real.
    pub phase: Option<Phase>,
}

/// The phase that complex spectra were turned back by, so that their real parts are the signal.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Phase {
    /// The angle, degrees.
    pub degrees: f64,
    /// Whether it was found from the data, not asked for.
    pub is_automatic: bool,
    /// Part of the energy that is left in the imaginary parts, 0 … 1.
    pub remainder: f64,
}

impl Phase {
    /// It in words, as a clause.
    pub fn text(&self) -> String {
        let how = if self.is_automatic { "found from the data" } else { "as asked for" };
        format!(
            "turned by {:.2}°, {how}; {:.2} % of the energy is left in the imaginary part",
            self.degrees,
            100.0 * self.remainder
        )
    }
}

/// Projections of an object, complete or still being acquired.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct Sweep {
    /// What the samples are.
    pub kind: SweepKind,
    /// What it is an image of.
    pub space: SweepSpace,
    /// Samples of a projection.
    pub num_points: usize,
    /// Distance of samples along t, mm.
    pub step_mm: f64,
    /// Sample at t = 0 (it may lie between two).
    pub centre: f64,
    /// The complete projections, in the order of acquisition.
    pub projections: Vec<Projection>,
    /// How many there will be; `None` where nobody knows.
    pub num_expected: Option<usize>,
    /// Time that the acquisition of one takes, where it is known.
    pub secs_per_projection: Option<f64>,
    /// What else its file tells.
    pub facts: SweepFacts,
}

impl Sweep {
    /// The same without its projections, which it then expects as many of as it had.
    pub fn without_projections(&self) -> Self {
        Self {
            kind: self.kind.clone(),
            space: self.space,
            num_points: self.num_points,
            step_mm: self.step_mm,
            centre: self.centre,
            projections: Vec::new(),
            num_expected: Some(self.projections.len()),
            secs_per_projection: self.secs_per_projection,
            facts: self.facts,
        }
    }

    /// Whether its projections are first-derivative spectra.
    pub fn is_continuous_wave(&self) -> bool {
        matches!(self.kind, SweepKind::ContinuousWave { .. })
    }

    /// Number of complete projections.
    pub fn num_complete(&self) -> usize {
        self.projections.len()
    }

    /// Sum of the weights of the complete projections; [`SweepSpace::whole_weight`] for a whole sweep.
    pub fn total_weight(&self) -> f64 {
        self.projections.iter().map(|projection| projection.weight).sum()
    }

    /// Part of all directions that the complete projections stand for.
    pub fn cover(&self) -> f64 {
        self.total_weight() / self.space.whole_weight()
    }

    /// Length along t that the samples stand for, mm.
    pub fn extent_mm(&self) -> f64 {
        self.num_points as f64 * self.step_mm
    }

    /// Largest |t| that is sampled on both sides, mm.
    pub fn half_extent_mm(&self) -> f64 {
        self.centre.min(self.num_points as f64 - 1.0 - self.centre) * self.step_mm
    }
}
