//! Phantoms of the catalogue in the making.

use super::object::{Material, Part, Phantom};
use super::solid::Solid;
use crate::data::{Notice, Roi, RoiRole};
use crate::geometry::Point;
use crate::scanner::ScanGeometry;

/// Water without activity; linear attenuation at 511 keV, 1/mm.
pub(super) const WATER: Material = Material { activity: 0.0, mu_per_mm: 0.0096 };

/// A phantom that can be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PhantomInfo {
    /// Name on the command line.
    pub name: &'static str,
    /// Name for people.
    pub title: &'static str,
}

impl PhantomInfo {
    pub(super) const fn new(name: &'static str, title: &'static str) -> Self {
        Self { name, title }
    }
}

/// Entry of a catalogue of phantoms: a phantom that can be asked for, and what makes it.
pub(super) type Entry<M> = (PhantomInfo, M);

/// Returns the entry of this name.
///
/// # Errors
/// No phantom has this name: the error that `unknown` makes of the name and of those that exist.
pub(super) fn find_entry<M: Copy, E>(
    catalogue: &[Entry<M>],
    name: &str,
    unknown: impl FnOnce(String, String) -> E,
) -> Result<Entry<M>, E> {
    let names = || catalogue.iter().map(|(info, _)| info.name).collect::<Vec<_>>().join(", ");
    let found = catalogue.iter().find(|(info, _)| info.name.eq_ignore_ascii_case(name));
    found.copied().ok_or_else(|| unknown(name.to_owned(), names()))
}

/// A phantom of its usual size, to be made as large as a field of view allows.
pub(super) struct Draft {
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    pub(super) parts: Vec<Part>,
    pub(super) rois: Vec<Roi>,
    /// The size that it will have, relative to the usual one.
    pub(super) size: f64,
}

/// Returns the scale at which something fits a scanner, at most 1.
fn fitting_size(geometry: &ScanGeometry, radius_mm: f64, axial_mm: f64) -> f64 {
    (geometry.fov_radius_mm / radius_mm).min(geometry.axial_length_mm() / axial_mm).min(1.0)
}

impl Draft {
    /// Returns an empty one; nothing of it lies farther from the axis than `radius_mm`, and `axial_mm` about z = 0 must be in
    /// view (longer parts may exceed it).
    pub(super) fn new(info: PhantomInfo, radius_mm: f64, axial_mm: f64, geometry: &ScanGeometry) -> Self {
        let size = fitting_size(geometry, radius_mm, axial_mm);
        Self { name: info.name, title: info.title, parts: Vec::new(), rois: Vec::new(), size }
    }

    /// Returns a usual length as it will be made, in a region's name: to three digits.
    pub(super) fn made_mm(&self, usual_mm: f64) -> String {
        let mm = self.size * usual_mm;
        let digits = if mm == 0.0 { 0 } else { (2 - mm.abs().log10().floor() as i32).clamp(0, 6) as usize };
        let rounded: f64 = format!("{mm:.digits$}").parse().unwrap_or(mm);
        format!("{rounded} mm")
    }

    pub(super) fn part(&mut self, solid: Solid, activity: f64, material: Material) {
        self.parts.push(Part { solid, material: Material { activity, ..material } });
    }

    /// A circle in a transaxial plane, or where `role` is `None` just its numbers.
    pub(super) fn circle(
        &mut self,
        name: impl Into<String>,
        centre_mm: Point,
        radius_mm: f64,
        role: RoiRole,
        ratio: Option<f64>,
    ) {
        self.rois.push(Roi { activity_ratio: ratio, ..Roi::circle(name, centre_mm, radius_mm, role) });
    }

    /// Returns the phantom, scaled down until it fits.
    pub(super) fn fitted(self, geometry: &ScanGeometry) -> Phantom {
        let size = self.size;
        let notice = || {
            Notice::info(format!(
                "{}: scaled to {:.0} % to fit the field of view of {} (radius {:.1} mm, axial length {:.1} mm)",
                self.title,
                100.0 * size,
                geometry.scanner,
                geometry.fov_radius_mm,
                geometry.axial_length_mm()
            ))
        };
        Phantom {
            name: self.name.into(),
            title: self.title.into(),
            notices: if size < 1.0 { vec![notice()] } else { Vec::new() },
            parts: self.parts.into_iter().map(|part| Part { solid: part.solid.scaled(size), ..part }).collect(),
            rois: self.rois.iter().map(|roi| roi.scaled(size)).collect(),
            size,
        }
    }
}
