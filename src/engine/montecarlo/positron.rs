//! From decay to the two annihilation photons: positron range and non-collinearity.
//!
//! *Range.* C. S. Levin and E. J. Hoffman, Phys. Med. Biol. 44 (1999) 781–799, fitted the annihilation points in water *projected
//! onto one axis*: p(x) ∝ C e^{−k₁|x|} + (1 − C) e^{−k₂|x|}. This is no density of the radius (Jødal et al. 2012, Phys. Med.
//! Biol. 57: 3931–3943). An isotropic cloud with that projection has f(r) = −2 r p′(r) = Σ w_i k_i² r e^{−k_i r} with w_i in
//! proportion to C_i / k_i: with probability w_i the radius is the sum of two exponential lengths of mean 1/k_i. This radius is
//! sampled; the direction is isotropic.
//!
//! *Non-collinearity.* The deviation from 180°, projected onto a plane through the line, is Gaussian with a FWHM of about 0.5° in
//! water (De Benedetti et al. 1950, Phys. Rev. 77: 205; Shibuya et al. 2007, Phys. Med. Biol. 52: 5249, measured a little more in
//! people). The projections onto two perpendicular planes are drawn independently.

use rand_philox::Philox;

use super::draws::{isotropic, normal_pair, normalised, uniform, upright_on};
use crate::statistics::FWHM_PER_SIGMA;

/// A positron emitter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::Display, strum::EnumString, strum::VariantNames)]
#[strum(ascii_case_insensitive)]
pub enum Isotope {
    /// ¹⁸F.
    #[strum(serialize = "F-18")]
    F18,
    /// ¹¹C.
    #[strum(serialize = "C-11")]
    C11,
    /// ¹³N.
    #[strum(serialize = "N-13")]
    N13,
    /// ¹⁵O.
    #[strum(serialize = "O-15")]
    O15,
    /// ⁶⁸Ga; provisional: not fitted by Levin and Hoffman. The profile of ¹⁵O, longer by the ratio of the mean ranges in water,
    /// 3.5 to 3.0 mm (after Conti and Eriksson 2016, EJNMMI Physics 3: 8; not checked against it).
    #[strum(serialize = "Ga-68")]
    Ga68,
    /// ¹²⁴I; provisional, as ⁶⁸Ga: its branches of 11.7 and 10.7 % have mean ranges of 2.8 and 4.4 mm, together 3.6 mm.
    #[strum(serialize = "I-124")]
    I124,
}

/// The projected profile C e^{−k₁|x|} + (1 − C) e^{−k₂|x|}.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RangeProfile {
    /// C.
    pub share: f64,
    /// k₁ and k₂.
    pub per_mm: [f64; 2],
}

impl Isotope {
    /// Returns the profile of its positrons' range in water.
    pub fn profile(self) -> RangeProfile {
        let longer = |factor: f64| {
            let oxygen = Self::O15.profile();
            RangeProfile { share: oxygen.share, per_mm: oxygen.per_mm.map(|per_mm| per_mm / factor) }
        };
        match self {
            Self::F18 => RangeProfile { share: 0.516, per_mm: [37.9, 3.10] },
            Self::C11 => RangeProfile { share: 0.488, per_mm: [23.8, 1.8] },
            Self::N13 => RangeProfile { share: 0.426, per_mm: [20.2, 1.4] },
            Self::O15 => RangeProfile { share: 0.379, per_mm: [18.1, 0.90] },
            Self::Ga68 => longer(3.5 / 3.0),
            Self::I124 => longer(3.6 / 3.0),
        }
    }

    /// Returns the distance between decay and annihilation in water. Three draws.
    pub fn range_mm(self, random: &mut Philox) -> f64 {
        let RangeProfile { share, per_mm: [short, long] } = self.profile();
        let weights = [share / short, (1.0 - share) / long];
        let is_short = uniform(random) * (weights[0] + weights[1]) < weights[0];
        -(uniform(random) * uniform(random)).ln() / if is_short { short } else { long }
    }
}

/// Physics between a decay and its two photons; each part can be switched off.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AnnihilationPhysics {
    /// Whose positron range; `None` where positrons annihilate at once.
    pub range_of: Option<Isotope>,
    /// FWHM of the deviation from 180° as projected onto a plane; 0 for photons that are exactly opposite.
    pub noncollinearity_fwhm_deg: f64,
}

impl AnnihilationPhysics {
    /// Returns the positron range of this isotope, and photons that deviate by 0.5° FWHM.
    pub fn of(isotope: Isotope) -> Self {
        Self { range_of: Some(isotope), noncollinearity_fwhm_deg: 0.5 }
    }

    /// Everything switched off: opposite photons from the decay itself.
    pub const IDEAL: Self = Self { range_of: None, noncollinearity_fwhm_deg: 0.0 };

    /// Returns where the positron of a decay annihilates. Draws the range, then its direction.
    pub fn annihilation_mm(&self, decay_mm: [f64; 3], random: &mut Philox) -> [f64; 3] {
        let Some(isotope) = self.range_of else { return decay_mm };
        let range_mm = isotope.range_mm(random);
        let direction = isotropic(random);
        std::array::from_fn(|axis| decay_mm[axis] + range_mm * direction[axis])
    }

    /// Returns the standard deviation of the deviation from 180° as projected onto a plane.
    pub fn noncollinearity_rad(&self) -> f64 {
        self.noncollinearity_fwhm_deg.to_radians() / FWHM_PER_SIGMA
    }

    /// Returns the direction of the photon that belongs to one of this direction (a unit vector). Two draws.
    pub fn opposite(&self, direction: [f64; 3], random: &mut Philox) -> [f64; 3] {
        let back = direction.map(|x| -x);
        if self.noncollinearity_fwhm_deg == 0.0 {
            return back;
        }
        let sigma_rad = self.noncollinearity_rad();
        let [a, b] = normal_pair(random).map(|number| (sigma_rad * number).tan());
        let [u, v] = upright_on(back);
        normalised(std::array::from_fn(|axis| back[axis] + a * u[axis] + b * v[axis]))
    }
}
