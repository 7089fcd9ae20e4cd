//! The body phantom of NEMA NU 2 (image quality): its sizes and places, for those who make it and those who measure it.
//!
//! Dimensions as in the public implementations of the standard's phantom (NU 2-2001 and later). Places in a slice are (x, up),
//! relative to the axis of the lung insert, about which the centres of the spheres lie; up is the patient's front.

/// Inner diameters of the six spheres, mm.
pub const SPHERE_DIAMETERS_MM: [f64; 6] = [10.0, 13.0, 17.0, 22.0, 28.0, 37.0];
/// Radius of the circle on which their centres lie, 60° apart, mm.
pub const SPHERE_RING_MM: f64 = 57.2;
/// Radius of the lung insert, mm.
pub const LUNG_RADIUS_MM: f64 = 25.0;
/// Radius of the cavity's front, about (0, [`BODY_MIDDLE_MM`]), mm.
pub const BODY_FRONT_MM: f64 = 147.0;
/// Radius of the cavity's back at either side, about (±[`BODY_SHOULDER_MM`], [`BODY_MIDDLE_MM`]), mm.
pub const BODY_BACK_MM: f64 = 77.0;
/// Distance of those centres from the middle, mm.
pub const BODY_SHOULDER_MM: f64 = 70.0;
/// Height of the widest part of the cavity, mm.
pub const BODY_MIDDLE_MM: f64 = -35.0;

/// Returns true if a position (x, up) lies in the cavity.
pub fn is_in_body([x, up]: [f64; 2]) -> bool {
    let above = up - BODY_MIDDLE_MM;
    if above >= 0.0 {
        return x.hypot(above) <= BODY_FRONT_MM;
    }
    (x.abs() <= BODY_SHOULDER_MM && above >= -BODY_BACK_MM) || (x.abs() - BODY_SHOULDER_MM).hypot(above) <= BODY_BACK_MM
}

/// Returns the area of the cavity in a slice, mm².
pub fn body_area_mm2() -> f64 {
    let half_discs = 0.5 * std::f64::consts::PI * (BODY_FRONT_MM.powi(2) + BODY_BACK_MM.powi(2));
    half_discs + 2.0 * BODY_SHOULDER_MM * BODY_BACK_MM
}

/// Returns the height of the centroid of that area, mm: half a disc's lies 4 r / 3π from its diameter.
pub fn body_centroid_mm() -> f64 {
    let front = 2.0 / 3.0 * BODY_FRONT_MM.powi(3);
    let back = 2.0 / 3.0 * BODY_BACK_MM.powi(3) + BODY_SHOULDER_MM * BODY_BACK_MM.powi(2);
    BODY_MIDDLE_MM + (front - back) / body_area_mm2()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn area_and_centroid_are_those_of_the_outline() {
        let (mut area, mut moment) = (0.0, 0.0);
        for (row, column) in (0..1200).flat_map(|row| (0..1600).map(move |column| (row, column))) {
            let at = [f64::from(column) * 0.2 - 159.9, f64::from(row) * 0.2 - 119.9];
            if is_in_body(at) {
                area += 0.04;
                moment += 0.04 * at[1];
            }
        }
        assert!((body_area_mm2() - 54_036.6).abs() < 0.1);
        assert!((area / body_area_mm2() - 1.0).abs() < 1e-4, "{area}");
        assert!((moment / area - body_centroid_mm()).abs() < 0.01, "{}", moment / area);
    }
}
