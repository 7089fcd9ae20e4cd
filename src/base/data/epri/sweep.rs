//! An EPRI sweep: projections of a paramagnetic object along gradient directions, as they arrive.
//!
//! A projection p(t) along the unit vector n is the integral of the object over the planes x·n = t, in mm: measured directly
//! (pulse), or as the first derivative of its convolution with the line shape of the probe (continuous wave). If all gradients
//! lie in one plane the sweep is two-dimensional: its image is the object summed across that plane, and p(t) is that image's
//! integral over the lines x·n = t.

use std::f64::consts::{PI, TAU};
use std::fmt;
use std::sync::Arc;

use crate::statistics::first_moment;

/// Largest difference of gradients of one size, of the largest gradient.
const SAME_GRADIENT_SIZE: f64 = 1e-3;

/// Smallest gradient of filtered backprojection, of the largest gradient.
pub const MIN_GRADIENT: f64 = 0.5;

/// Rounding of the sizes of gradients, of the largest gradient.
const GRADIENT_ROUNDING: f64 = 1e-3;

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
    /// Returns its name for people and in files.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// Space of a sweep's image. Its reader decides, by the file or by all its directions: the first few projections of a volume may
/// lie in one plane too.
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
    /// Returns true for a single slice.
    pub fn is_slice(self) -> bool {
        matches!(self, SweepSpace::Slice(_))
    }

    /// Returns the sum of the weights of a whole sweep: 2π, the half sphere, or π, the half circle.
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
    /// Unit vector n along which t grows; under gradients of several sizes a shorter one, with the length gradient over the largest
    /// gradient. In continuous-wave data it points against the gradient: spins at x resonate at the
    /// field B with B + gradient · x = const, so that a higher field shows points farther down the gradient.
    pub direction: Direction,
    /// Its part of all directions: a solid angle of the half sphere, in two dimensions an angle of the half circle. The weights
    /// of a whole sweep add up to [`SweepSpace::whole_weight`].
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
    /// Returns the length of the direction: the size of the gradient, of the largest gradient.
    pub fn gradient(&self) -> f64 {
        self.direction.iter().map(|v| v * v).sum::<f64>().sqrt()
    }

    /// Returns true if every sample is exactly zero, as in a file that was allocated before the measurement.
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

impl ReferenceSpectrum {
    /// Returns ∬h dB dB, the area of the absorption, in the values' unit · mT²: −Σ B h ΔB about the middle of the samples, in which a constant
    /// offset counts nothing.
    pub fn double_integral(&self) -> f64 {
        -self.step_mt.powi(2) * first_moment(self.values.iter().map(|&value| f64::from(value)))
    }

    /// Returns the width of its strongest line, mT, from the largest value to the peak of the other sign next to it.
    pub fn peak_to_peak_mt(&self) -> f64 {
        let sizes = self.values.iter().map(|value| value.abs()).enumerate();
        let Some((top, _)) = sizes.max_by(|a, b| a.1.total_cmp(&b.1)) else { return 0.0 };
        let sign = self.values[top].signum();
        // The lowest value before the sign changes back, and its distance.
        let lobe = |beyond: &mut dyn Iterator<Item = &f32>| -> (f32, usize) {
            let (mut lowest, mut at) = (0.0, 0);
            for (distance, value) in (1..).zip(beyond) {
                let value = sign * value;
                if value > 0.0 && lowest < 0.0 {
                    break;
                }
                if value < lowest {
                    (lowest, at) = (value, distance);
                }
            }
            (lowest, at)
        };
        let above = lobe(&mut self.values[top + 1..].iter());
        let below = lobe(&mut self.values[..top].iter().rev());
        // (The lobe of the next line may be deeper, and is farther away.)
        let deep = 0.5 * above.0.min(below.0);
        let near = [above, below].into_iter().filter(|(lowest, _)| *lowest < 0.0 && *lowest <= deep);
        near.map(|(_, distance)| distance).min().unwrap_or(0) as f64 * self.step_mt
    }
}

/// A paramagnetic substance among several in an object, which differ in their spectra.
#[derive(Clone, Debug, PartialEq)]
pub struct Radical {
    /// Its name, in file names too.
    pub name: String,
    /// Its spectrum without a gradient.
    pub spectrum: ReferenceSpectrum,
}

impl Radical {
    /// Returns true for letters, digits, - and _, which file names can contain.
    pub fn is_name(name: &str) -> bool {
        !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '-' || c == '_')
    }

    /// Returns the first name that occurs before.
    pub fn named_twice<'a>(names: &[&'a str]) -> Option<&'a str> {
        names.iter().enumerate().find(|(i, name)| names[..*i].contains(name)).map(|(_, name)| *name)
    }
}

/// Kind of a projection's samples.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub enum SweepKind {
    /// Plane integrals.
    Pulse,
    /// First-derivative spectra under a gradient.
    ContinuousWave {
        /// Distance of samples, mT.
        step_mt: f64,
        /// Size of the gradient, mT/mm, the largest of several: t = (field − field at the centre) / gradient.
        gradient_mt_per_mm: f64,
        /// The probe's spectrum, once it is known.
        reference: Option<ReferenceSpectrum>,
    },
}

/// Further information in a sweep's file.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct SweepMetadata {
    /// Side of the image that the acquisition was planned for, mm.
    pub field_of_view_mm: Option<f64>,
    /// Of complex spectra: how they were made real.
    pub phase: Option<Phase>,
    /// Shift of the field of the reference spectrum towards that of the projections.
    #[serde(default)]
    pub field_shift: Option<FieldShift>,
}

/// A shift by which a reference spectrum is moved, as if the microwave frequency of the projections had been that of the reference.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct FieldShift {
    /// Field of the lines of the projections minus that of the line of the reference spectrum, mT.
    pub shift_mt: f64,
    /// Its standard error, mT; `None` of a shift that the user set.
    pub standard_error_mt: Option<f64>,
}

impl FieldShift {
    /// Returns it as text: "0.0943 mT, found from the projections".
    pub fn text(&self) -> String {
        match self.standard_error_mt {
            Some(error) => format!("{:.4} ± {error:.4} mT, found from the projections", self.shift_mt),
            None => format!("{} mT, as asked for", self.shift_mt),
        }
    }
}

/// The phase that complex spectra were turned back by, so that their real parts are the signal.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Phase {
    /// The angle, degrees.
    pub degrees: f64,
    /// True if it was found from the data, not set by the user.
    pub is_automatic: bool,
    /// Part of the energy that is left in the imaginary parts, 0 … 1.
    pub remainder: f64,
}

impl Phase {
    /// Returns it as a clause.
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
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Sweep {
    /// Kind of the samples.
    pub kind: SweepKind,
    /// Space of the image.
    pub space: SweepSpace,
    /// Samples of a projection.
    pub num_points: usize,
    /// Distance of samples along t, mm.
    pub step_mm: f64,
    /// Sample at t = 0 (it may lie between two).
    pub centre: f64,
    /// The complete projections, in the order of acquisition.
    pub projections: Vec<Projection>,
    /// Expected number of projections; `None` if unknown.
    pub num_expected: Option<usize>,
    /// Acquisition time of a projection, if known.
    pub secs_per_projection: Option<f64>,
    /// Further information of its file.
    pub facts: SweepMetadata,
}

impl Sweep {
    /// Returns the same without its projections, which it then expects as many of as it had.
    pub fn without_projections(&self) -> Self {
        Self { projections: Vec::new(), num_expected: Some(self.projections.len()), ..self.clone() }
    }

    /// Returns true for first-derivative spectra.
    pub fn is_continuous_wave(&self) -> bool {
        matches!(self.kind, SweepKind::ContinuousWave { .. })
    }

    /// Returns the number of different sizes of the gradients of the complete projections, with 0.
    pub fn num_gradient_sizes(&self) -> usize {
        let mut sizes: Vec<f64> = self.projections.iter().map(Projection::gradient).collect();
        sizes.sort_by(f64::total_cmp);
        sizes.dedup_by(|a, b| (*a - *b).abs() < SAME_GRADIENT_SIZE);
        sizes.len()
    }

    /// Returns true if no gradient is smaller than [`MIN_GRADIENT`]: filtered backprojection takes such gradients.
    pub fn has_similar_gradients(&self) -> bool {
        self.projections.iter().all(|projection| projection.gradient() > MIN_GRADIENT - GRADIENT_ROUNDING)
    }

    /// Returns true for first-derivative spectra under gradients of several sizes: they separate the spectrum from the position.
    pub fn separates_spectra(&self) -> bool {
        self.is_continuous_wave() && self.num_gradient_sizes() > 1
    }

    /// Returns the number of complete projections.
    pub fn num_complete(&self) -> usize {
        self.projections.len()
    }

    /// Returns the sum of the weights of the complete projections; [`SweepSpace::whole_weight`] for a whole sweep.
    pub fn total_weight(&self) -> f64 {
        self.projections.iter().map(|projection| projection.weight).sum()
    }

    /// Returns the part of all directions that the complete projections cover.
    pub fn cover(&self) -> f64 {
        self.total_weight() / self.space.whole_weight()
    }

    /// Returns the length along t that the samples cover, mm.
    pub fn extent_mm(&self) -> f64 {
        self.num_points as f64 * self.step_mm
    }

    /// Returns the largest |t| that is sampled on both sides, mm.
    pub fn half_extent_mm(&self) -> f64 {
        self.centre.min(self.num_points as f64 - 1.0 - self.centre) * self.step_mm
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn double_integrals_are_the_area_of_the_absorption() {
        // The derivative of a Gaussian of the area 3 and σ = 0.1 mT, on an offset.
        let (area, sigma, step_mt) = (3.0, 0.1, 0.01);
        let value = |i: usize| {
            let b = step_mt * (i as f64 - 70.0);
            let gauss = area / (sigma * TAU.sqrt()) * (-0.5 * (b / sigma).powi(2)).exp();
            (0.7 - b / sigma.powi(2) * gauss) as f32
        };
        let spectrum = ReferenceSpectrum { values: (0..160).map(value).collect(), step_mt };
        assert!((spectrum.double_integral() - area).abs() < 1e-5, "{}", spectrum.double_integral());
    }

    #[test]
    fn the_width_is_that_of_one_line() {
        let width = |values: &[f32]| ReferenceSpectrum { values: values.into(), step_mt: 0.5 }.peak_to_peak_mt();
        // Two lines of 2 samples from peak to peak.
        let lines = [0.0, 0.9, 0.0, -0.9, 0.0, 0.0, 0.0, 1.0, 0.1, -0.8, -0.1, 0.0, -0.01];
        assert_eq!(width(&lines), 1.0);
        assert_eq!(width(&lines.map(|value: f32| -value)), 1.0);
        let reversed: Vec<f32> = lines.iter().rev().copied().collect();
        assert_eq!(width(&reversed), 1.0);
        assert_eq!([width(&[]), width(&[0.0; 4]), width(&[1.0])], [0.0; 3]);
    }
}
