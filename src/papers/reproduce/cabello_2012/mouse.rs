//! The mouse: its bed positions, the share of its decays that each counts, and the image of all.

use rayon::prelude::*;

use crate::montecarlo::RingDetector;
use crate::phantom::{Decays, Phantom, ring};
use crate::random::stream;
use crate::recon::{Bed, stitched};
use crate::reproduce::prelude::*;
use crate::scanner::CrystalRing;

pub const NUM_BEDS: usize = 5;
/// Overlap of the images of neighbouring beds (six slices), mm.
const OVERLAP_MM: f64 = 3.0;
/// Upper limit of the distance between the centre of the mouse and either end, mm.
const HALF_LENGTH_MM: f64 = 60.0;

/// Returns the phantom that replaces the mouse.
pub fn phantom() -> Result<Phantom, ReproduceError> {
    Ok(ring::by_name("mouse-like")?)
}

/// Returns the position of the middle of the scanner in the mouse, mm.
pub fn middle_mm(ring: &CrystalRing, bed: usize) -> f64 {
    (bed as f64 - 0.5 * (NUM_BEDS as f64 - 1.0)) * (2.0 * ring.image_half_length_mm - OVERLAP_MM)
}

/// Returns the numbers of simulated and of counted decays of the mouse on a bed.
pub fn counted_share(ring: &CrystalRing, on_its_bed: &Phantom, num_tried: u64, seed: u64) -> Result<[u64; 2], ReproduceError> {
    let detector = RingDetector::new(ring.clone())?;
    let decays = Decays::new(on_its_bed, [-2.0 * HALF_LENGTH_MM, 2.0 * HALF_LENGTH_MM]);
    let follow = |number: u64| -> [u64; 2] {
        let mut random = stream(seed, number);
        let Some(position_mm) = decays.draw(&mut random) else { return [0, 0] };
        let is_inside = position_mm[0].hypot(position_mm[1]) < ring.radius_mm;
        [1, u64::from(is_inside && detector.count(position_mm, &mut random).is_some())]
    };
    let add = |a: [u64; 2], b: [u64; 2]| [a[0] + b[0], a[1] + b[1]];
    Ok((0..num_tried).into_par_iter().map(follow).reduce(|| [0, 0], add))
}

/// Stitches the images of all beds.
pub fn whole(ring: &CrystalRing, images: &[Volume]) -> Result<Volume, ReproduceError> {
    let bed = |(bed, image)| Bed { image, middle_mm: middle_mm(ring, bed) };
    let beds: Vec<Bed> = images.iter().enumerate().map(bed).collect();
    Ok(stitched(&beds, ring.half_length_mm())?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::cabello_2012::plan::{Plan, Scan};

    /// Beds cover the mouse, neighbours see a little of the same, and what is counted goes with what is there.
    #[test]
    fn beds_cover_the_mouse() {
        let plan = Plan::new(true, None);
        let ring = plan.ring().unwrap();
        let middles: Vec<f64> = (0..NUM_BEDS).map(|bed| middle_mm(ring, bed)).collect();
        assert_eq!(middles, [-34.0, -17.0, 0.0, 17.0, 34.0]);
        assert!(2.0 * ring.half_length_mm() > 17.0);
        let mouse = phantom().unwrap();
        for end in [-1.0, 1.0] {
            let outside = end * (34.0 + ring.half_length_mm());
            assert_eq!(mouse.material_at([0.0, 0.0, outside]).activity, 0.0);
        }
        let counts = [0, 2].map(|bed| plan.num_counts(Scan::Bed(bed)).unwrap());
        // About 1 % of the decays of a fifth of the mouse.
        assert!(counts.iter().all(|counts| (500..20_000).contains(counts)), "{counts:?}");
        // The heart, the liver and the kidneys against the head.
        assert!(counts[1] as f64 > 1.5 * counts[0] as f64, "{counts:?}");
    }
}
