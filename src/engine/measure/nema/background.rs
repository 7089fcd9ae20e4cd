//! Where the twelve circles of the background lie.
//!
//! The standard asks for circles of 37 mm throughout the background, 15 mm from the edge and no closer than 15 mm to any sphere.
//! Twelve that do not overlap have no room 15 mm from the spheres: they lie on the curve 15 mm inside the edge, and as far from
//! the spheres as twelve can (7 mm or more in every order). They depend on the order of the spheres and on how the ring is turned in
//! the body to a degree, not on the image's noise.

use super::placement::{LARGEST_MM, NUM_CIRCLES, NemaSphere, place_rad};
use crate::data::nema::{BODY_BACK_MM, BODY_FRONT_MM, BODY_MIDDLE_MM, BODY_SHOULDER_MM, SPHERE_RING_MM};

/// Distance of the circles from the edge, and their target distance from the spheres, mm.
const MARGIN_MM: f64 = 15.0;
/// Distance of neighbouring places on the curve that are tried, and of clearances, mm.
const STEP_MM: f64 = 1.0;

/// Returns the centres (x, up) of twelve circles, in the body's frame, with the ring turned so far in it.
pub(super) fn background_places(ring_in_body_rad: f64, spheres: &[NemaSphere; 6]) -> Vec<[f64; 2]> {
    let turn = ring_in_body_rad.to_degrees().round().to_radians();
    let centre = |place: usize| {
        let (sin, cos) = (turn + place_rad(place)).sin_cos();
        [SPHERE_RING_MM * cos, SPHERE_RING_MM * sin]
    };
    let clearance = |[x, up]: [f64; 2]| {
        let of = |(place, sphere): (usize, &NemaSphere)| {
            let [sphere_x, sphere_up] = centre(place);
            (x - sphere_x).hypot(up - sphere_up) - 0.5 * (sphere.diameter_mm + LARGEST_MM)
        };
        spheres.iter().enumerate().map(of).fold(f64::INFINITY, f64::min)
    };
    let curve = curve();
    // From the margin down to circles that lie on a sphere: those of the smaller sizes have room even then.
    let clearances = (0..).map(|step| MARGIN_MM - STEP_MM * f64::from(step)).take_while(|min| *min > -LARGEST_MM);
    let free = |min: f64| curve.iter().copied().filter(|&at| clearance(at) >= min).collect::<Vec<_>>();
    let twelve = |free: Vec<[f64; 2]>| (0..free.len()).find_map(|first| apart(&free, first));
    clearances.map(free).find_map(twelve).unwrap_or_default()
}

/// Returns twelve of some places along a closed curve, from this one on, whose circles do not overlap.
fn apart(places: &[[f64; 2]], first: usize) -> Option<Vec<[f64; 2]>> {
    let mut chosen: Vec<[f64; 2]> = Vec::with_capacity(NUM_CIRCLES);
    for &[x, up] in places[first..].iter().chain(&places[..first]) {
        let is_free = |[other_x, other_up]: &[f64; 2]| (x - other_x).hypot(up - other_up) >= LARGEST_MM;
        if [chosen.first(), chosen.last()].into_iter().flatten().all(is_free) {
            chosen.push([x, up]);
        }
        if chosen.len() == NUM_CIRCLES {
            return Some(chosen);
        }
    }
    None
}

/// Returns the places of circles 15 mm inside the edge, once around from +x towards up.
fn curve() -> Vec<[f64; 2]> {
    let inset = 0.5 * LARGEST_MM + MARGIN_MM;
    let [front, back] = [BODY_FRONT_MM - inset, BODY_BACK_MM - inset];
    let arc = |radius: f64, middle_x: f64, from_rad: f64, length_rad: f64| {
        let num = (radius * length_rad / STEP_MM).ceil() as usize;
        (0..num).map(move |k| {
            let (sin, cos) = (from_rad + length_rad * k as f64 / num as f64).sin_cos();
            [middle_x + radius * cos, BODY_MIDDLE_MM + radius * sin]
        })
    };
    let (half, quarter) = (std::f64::consts::PI, std::f64::consts::FRAC_PI_2);
    let num = (2.0 * BODY_SHOULDER_MM / STEP_MM).ceil() as usize;
    let flat = (0..num).map(|k| [-BODY_SHOULDER_MM + k as f64 * STEP_MM, BODY_MIDDLE_MM - back]);
    let round = arc(front, 0.0, 0.0, half).chain(arc(back, -BODY_SHOULDER_MM, half, quarter));
    round.chain(flat).chain(arc(back, BODY_SHOULDER_MM, 3.0 * quarter, quarter)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::nema::is_in_body;

    /// All orders of six sizes.
    fn orders() -> Vec<[f64; 6]> {
        let mut orders = vec![Vec::new()];
        for _ in 0..6 {
            orders = orders
                .into_iter()
                .flat_map(|order: Vec<f64>| {
                    let rest = crate::data::nema::SPHERE_DIAMETERS_MM
                        .into_iter()
                        .filter(|size| !order.contains(size))
                        .collect::<Vec<_>>();
                    rest.into_iter().map(move |size| [order.clone(), vec![size]].concat())
                })
                .collect();
        }
        orders.into_iter().map(|order| order.try_into().unwrap()).collect()
    }

    #[test]
    fn twelve_circles_keep_from_the_edge_the_lung_each_other_and_the_spheres_in_every_order() {
        let mut min = f64::INFINITY;
        for order in orders().into_iter().step_by(7) {
            let spheres = order.map(|diameter_mm| NemaSphere { diameter_mm, is_hot: true, centre_mm: [0.0; 3] });
            let places = background_places(0.0, &spheres);
            assert_eq!(places.len(), 12);
            for (n, &[x, up]) in places.iter().enumerate() {
                for step in 0..72 {
                    let (sin, cos) = f64::to_radians(5.0 * f64::from(step)).sin_cos();
                    assert!(is_in_body([x + 33.45 * cos, up + 33.45 * sin]), "({x}, {up})");
                }
                assert!(places[..n].iter().all(|[other_x, other_up]| (x - other_x).hypot(up - other_up) >= 36.99));
                assert!(x.hypot(up) > 25.0 + 15.0 + 18.5);
                for (place, sphere) in spheres.iter().enumerate() {
                    let (sin, cos) = place_rad(place).sin_cos();
                    let gap = (x - 57.2 * cos).hypot(up - 57.2 * sin) - 18.5 - 0.5 * sphere.diameter_mm;
                    min = min.min(gap);
                }
            }
        }
        assert!(min > 7.0, "{min}");
    }
}
