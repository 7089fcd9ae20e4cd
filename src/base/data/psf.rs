//! The point spread function of a scanner: how far from its place an emission is seen.

use std::fmt::{Display, Formatter};
use std::str::FromStr;

/// Full widths at half maximum of a Gaussian point spread function, for resolution modelling.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Psf {
    /// The same everywhere: along x, y and z, mm.
    Everywhere([f64; 3]),
    /// By the distance of the emission from the scanner's axis, with rising distances.
    ByRadius(Vec<PsfAtRadius>),
}

/// Widths at a distance from the scanner's axis.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct PsfAtRadius {
    /// Distance from the axis, mm.
    pub radius_mm: f64,
    /// Width away from the axis, mm.
    pub radial_fwhm_mm: f64,
    /// Width across that in the transaxial plane, mm.
    pub tangential_fwhm_mm: f64,
    /// Width along the axis, mm.
    pub axial_fwhm_mm: f64,
}

impl PsfAtRadius {
    /// Returns the widths: radial, tangential, axial.
    pub fn fwhm_mm(&self) -> [f64; 3] {
        [self.radial_fwhm_mm, self.tangential_fwhm_mm, self.axial_fwhm_mm]
    }
}

/// Reason why widths are no point spread function.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PsfError {
    /// A width that is negative or not finite, mm.
    #[error("a width of {0} mm is not possible; give widths of 0 mm or more")]
    Width(f64),
    /// No width above 0.
    #[error("all widths are 0 mm: there is nothing to model")]
    NoWidth,
    /// A distance from the axis that is negative, not finite, or not larger than the one before, mm.
    #[error(
        "the distance {0} mm from the axis is not larger than the one before; give distances of 0 mm or more in rising order"
    )]
    Radius(f64),
    /// A text that is no width.
    #[error("'{0}' is not a width; give one number of mm, or three for x, y and z: 4.5 or 4.5,4.5,6")]
    Text(String),
}

impl Psf {
    /// Returns the point spread function if it is one.
    ///
    /// # Errors
    /// Negative widths or distances, no width above 0.
    pub fn checked(self) -> Result<Self, PsfError> {
        let widths: Vec<f64> = match &self {
            Psf::Everywhere(fwhm_mm) => fwhm_mm.to_vec(),
            Psf::ByRadius(rows) => rows.iter().flat_map(PsfAtRadius::fwhm_mm).collect(),
        };
        if let Some(wrong) = widths.iter().find(|width| !(width.is_finite() && **width >= 0.0)) {
            return Err(PsfError::Width(*wrong));
        }
        if widths.iter().all(|width| *width == 0.0) {
            return Err(PsfError::NoWidth);
        }
        if let Psf::ByRadius(rows) = &self {
            let mut before = None;
            for PsfAtRadius { radius_mm, .. } in rows {
                let rises = before.is_none_or(|before| *radius_mm > before);
                if !(radius_mm.is_finite() && *radius_mm >= 0.0 && rises) {
                    return Err(PsfError::Radius(*radius_mm));
                }
                before = Some(*radius_mm);
            }
        }
        Ok(self)
    }

    /// Returns the widths at a distance from the axis, radial, tangential and axial, mm: interpolated, and beyond the first and the
    /// last distance as there.
    pub fn at(&self, radius_mm: f64) -> [f64; 3] {
        let rows = match self {
            Psf::Everywhere(fwhm_mm) => return *fwhm_mm,
            Psf::ByRadius(rows) => rows,
        };
        let behind = rows.partition_point(|row| row.radius_mm <= radius_mm);
        match (behind.checked_sub(1).and_then(|before| rows.get(before)), rows.get(behind)) {
            (Some(before), Some(behind)) => {
                let part = (radius_mm - before.radius_mm) / (behind.radius_mm - before.radius_mm);
                let [from, to] = [before.fwhm_mm(), behind.fwhm_mm()];
                std::array::from_fn(|k| from[k] + part * (to[k] - from[k]))
            }
            (Some(only), None) | (None, Some(only)) => only.fwhm_mm(),
            (None, None) => [0.0; 3],
        }
    }

    /// Returns the largest widths in a transaxial plane and along the axis, mm.
    pub fn widest_mm(&self) -> [f64; 2] {
        let most = |widths: &mut dyn Iterator<Item = f64>| widths.fold(0.0, f64::max);
        match self {
            Psf::Everywhere([x, y, z]) => [x.max(*y), *z],
            Psf::ByRadius(rows) => [
                most(&mut rows.iter().map(|row| row.radial_fwhm_mm.max(row.tangential_fwhm_mm))),
                most(&mut rows.iter().map(|row| row.axial_fwhm_mm)),
            ],
        }
    }
}

impl Display for Psf {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Psf::Everywhere([x, y, z]) if x == y && y == z => write!(f, "{x} mm"),
            Psf::Everywhere([x, y, z]) => write!(f, "{x} × {y} × {z} mm"),
            Psf::ByRadius(_) => {
                let [in_plane, axial] = self.widest_mm();
                write!(f, "by the distance from the axis, up to {in_plane} mm across it and {axial} mm along it")
            }
        }
    }
}

/// One width for all axes, or those along x, y and z: `4.5`, `4.5,4.5,6`, mm.
impl FromStr for Psf {
    type Err = PsfError;

    fn from_str(text: &str) -> Result<Self, PsfError> {
        let wrong = || PsfError::Text(text.to_owned());
        let widths: Vec<f64> =
            text.split(',').map(|width| width.trim().parse().map_err(|_| wrong())).collect::<Result<_, _>>()?;
        match *widths.as_slice() {
            [all] => Psf::Everywhere([all; 3]).checked(),
            [x, y, z] => Psf::Everywhere([x, y, z]).checked(),
            _ => Err(wrong()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(radius_mm: f64, radial_fwhm_mm: f64) -> PsfAtRadius {
        PsfAtRadius { radius_mm, radial_fwhm_mm, tangential_fwhm_mm: 4.0, axial_fwhm_mm: 5.0 }
    }

    #[test]
    fn widths_are_read_checked_and_interpolated() {
        assert_eq!("4.5".parse(), Ok(Psf::Everywhere([4.5; 3])));
        assert_eq!("4.5, 4, 0".parse(), Ok(Psf::Everywhere([4.5, 4.0, 0.0])));
        for text in ["", "4,5", "x", "1,2,3,4"] {
            assert_eq!(text.parse::<Psf>(), Err(PsfError::Text(text.to_owned())));
        }
        assert_eq!("0".parse::<Psf>(), Err(PsfError::NoWidth));
        assert_eq!("4,-1,4".parse::<Psf>(), Err(PsfError::Width(-1.0)));
        assert!(matches!("4,nan,4".parse::<Psf>(), Err(PsfError::Width(_))));
        let psf = Psf::ByRadius(vec![row(10.0, 4.0), row(110.0, 6.0)]).checked().unwrap();
        assert_eq!([0.0, 10.0, 60.0, 200.0].map(|radius| psf.at(radius)[0]), [4.0, 4.0, 5.0, 6.0]);
        assert_eq!(psf.widest_mm(), [6.0, 5.0]);
        let falling = Psf::ByRadius(vec![row(10.0, 4.0), row(10.0, 6.0)]);
        assert_eq!(falling.checked(), Err(PsfError::Radius(10.0)));
    }
}
