//! Directions of a BES3T imaging acquisition, which the descriptor contains as angles only.
//!
//! Angles are α_k = FirstAlpha · (1 + 2k), k = 0 … NrOfAlpha − 1, with the number of the file (three decimals; 180° divided by
//! 2·NrOfAlpha is not quite the same). In three dimensions azimuth θ and polar angle φ both run through them, θ fastest: g = GRAD
//! · (cos θ sin φ, sin θ sin φ, cos φ). In two dimensions g = GRAD · (cos α, sin α) along the two axes of ImageOrient (ZY: the
//! first is z), which are the image's x and y.

use std::f64::consts::TAU;

use super::header::Descriptor;
use crate::data::{Direction, GradientAxis, Notice, SweepSpace};
use crate::io::epri::bes3t::problem::Bes3tProblem;
use crate::io::epri::records::Planned;
use crate::io::error::IoError;
use crate::scanner::epri::{half_circle_weights, unit_vector};

const DEVICE: &str = "grdUnit";

/// Most angles of a turn.
const MAX_ANGLES: usize = 512;

/// Gradients of a sweep.
pub struct Gradients {
    /// Size, G/cm.
    pub size_g_per_cm: f64,
    /// Space of the image.
    pub space: SweepSpace,
    /// Unit vectors of the gradients along the image's axes, one per projection, with the weight that each projection has.
    pub units: Vec<(Direction, f64)>,
    pub notices: Vec<Notice>,
}

impl Gradients {
    /// Reads the gradients of a descriptor.
    pub fn from_descriptor(descriptor: &Descriptor) -> Result<Self, IoError> {
        let size_g_per_cm = descriptor.number_in("G/cm", "SPL", "GRAD")?;
        if size_g_per_cm <= 0.0 {
            let expected = "a positive number of G/cm; without a gradient there are no projections";
            return Err(descriptor.invalid("GRAD", &size_g_per_cm.to_string(), expected));
        }
        if descriptor.text(DEVICE, "NrOfPsi").is_some_and(|text| text != "1") {
            return Err(IoError::unsupported(&descriptor.path, Bes3tProblem::SpectralSpatial));
        }
        let first = descriptor.number_in("deg", DEVICE, "FirstAlpha")?;
        let num_angles = descriptor.count(DEVICE, "NrOfAlpha")?;
        if num_angles > MAX_ANGLES {
            return Err(descriptor.invalid("NrOfAlpha", &num_angles.to_string(), format!("at most {MAX_ANGLES}")));
        }
        let angles: Vec<f64> = (0..num_angles).map(|k| (first * (1.0 + 2.0 * k as f64)).to_radians()).collect();
        let image_type = descriptor.required(DEVICE, "ImageType")?;
        let mut notices = Vec::new();
        let (space, units) = match image_type {
            "3D" | "3d" => {
                if let Some(num_beta) = descriptor.text(DEVICE, "NrOfBeta").filter(|text| text.parse() != Ok(num_angles)) {
                    return Err(descriptor.invalid("NrOfBeta", num_beta, format!("{num_angles}, as NrOfAlpha has,")));
                }
                let sum: f64 = angles.iter().map(|phi| phi.sin().abs()).sum();
                if sum <= 0.0 {
                    return Err(descriptor.invalid("FirstAlpha", &first.to_string(), "an angle that is not zero"));
                }
                let weight = |phi: f64| TAU * phi.sin().abs() / (sum * num_angles as f64);
                let at = |phi: f64, theta: f64| (unit_vector(phi, theta), weight(phi));
                let units = angles.iter().flat_map(|&phi| angles.iter().map(move |&theta| at(phi, theta))).collect();
                (SweepSpace::Volume, units)
            }
            "2D" | "2d" => {
                let units: Vec<Direction> = angles.iter().map(|alpha| [alpha.cos(), alpha.sin(), 0.0]).collect();
                let weights = half_circle_weights(&units);
                (SweepSpace::Slice(slice_axes(descriptor, &mut notices)), units.into_iter().zip(weights).collect())
            }
            other => return Err(descriptor.invalid("ImageType", other, "2D or 3D")),
        };
        Ok(Self { size_g_per_cm, space, units, notices })
    }

    /// Returns the direction and weight of each projection: t runs against the gradient (see
    /// [`crate::data::Projection::direction`]).
    pub fn plan(&self) -> Vec<Planned> {
        self.units.iter().map(|(unit, weight)| Planned { direction: unit.map(|v| -v), weight: *weight }).collect()
    }
}

/// Returns the gradient axes of a slice's x and y, by their letters.
fn slice_axes(descriptor: &Descriptor, notices: &mut Vec<Notice>) -> [GradientAxis; 2] {
    let text = descriptor.text(DEVICE, "ImageOrient").unwrap_or_default();
    let axes: Vec<GradientAxis> = text.chars().filter_map(|letter| letter.to_string().parse().ok()).collect();
    match axes[..] {
        [x, y] if x != y && text.chars().count() == 2 => [x, y],
        _ => {
            notices.push(Notice::warning(
                "The descriptor does not name the slice's two gradient axes (ImageOrient, as in ZY); they are called x and y",
            ));
            [GradientAxis::X, GradientAxis::Y]
        }
    }
}
