//! Decays between rotating heads, and the crystals that count their two photons.
//!
//! A history takes a point on the face of each of two heads in coincidence, and a point of annihilation on the line between them.
//! With the faces' areas A₁, A₂, the cosines of incidence θ₁, θ₂, the points' distance L and the length ℓ of the line within the
//! object its weight is
//!
//! ```text
//! w = A₁ A₂ cos θ₁ cos θ₂ ℓ / (2π L²)      (mm³ of decays; dV dΩ = dℓ cos θ₁ cos θ₂ dA₁ dA₂ / L²)
//! ```
//!
//! Its photons are then followed into the heads, so that hardly any history is in vain. The number of decays per mm³ times the
//! sum of the weights of the counted histories, over all histories, is the expected number of counts.

use std::f64::consts::PI;

use rand_philox::Philox;

use super::crystals::{CrystalArray, CrystalHead, DetectorError};
use super::draws::{ELECTRON_KEV, isotropic_below, uniform};
use super::materials::Material;
use super::positron::AnnihilationPhysics;
use super::readout::{Assignment, Readout};
use super::track::Photon;
use crate::data::TubeSampling;
use crate::scanner::{Crystals, HeadPose, Heads, ScanGeometry};

/// Annihilations happen so far outside the field of view at most: decays within it that are farther away hardly exist.
const MARGIN_MM: f64 = 2.0;
/// Rings next to a head through which photons enter from the side: the heads' depth at the steepest slope.
const RINGS_BESIDE: usize = 3;

/// A scanner of rotating heads with what happens between a decay and its counting.
#[derive(Clone, Debug)]
pub struct Coincidences {
    /// Sampling of the bins.
    pub geometry: ScanGeometry,
    /// Poses of the heads, and the pairs of heads in coincidence.
    pub heads: Heads,
    /// Crystals of each head.
    pub head: CrystalHead,
    /// Physics between a decay and its photons.
    pub physics: AnnihilationPhysics,
    largest_cosine: f64,
}

/// The crystal that counts a photon.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Hit {
    head: usize,
    /// Number across the head and along the axis.
    crystal: [usize; 2],
}

/// A history up to its two photons.
#[derive(Clone, Copy, Debug)]
pub(super) struct Start {
    heads: [usize; 2],
    annihilation: [f64; 3],
    directions: [[f64; 3]; 2],
    /// Where the decay was, mm, in the frame of the gantry.
    pub decay: [f64; 3],
    /// Weight of the history, mm³.
    pub weight_mm3: f64,
}

/// The line that two crystals count on.
#[derive(Clone, Copy, Debug)]
pub(super) struct CrystalLine {
    /// Signed distance from the axis, mm, along (cos φ, sin φ).
    pub s_mm: f64,
    /// (cos φ, sin φ).
    pub normal: [f64; 2],
    /// (sin φ, −cos φ): from the first crystal to the second.
    pub along: [f64; 2],
    /// z half-way between the rings, mm.
    pub middle_mm: f64,
    /// Rings of the first crystal and of the second.
    pub rings: [usize; 2],
}

impl Coincidences {
    /// Returns a scanner.
    ///
    /// # Errors
    /// A material that is not known, crystals that make no head.
    pub fn new(geometry: ScanGeometry, heads: Heads, physics: AnnihilationPhysics) -> Result<Self, DetectorError> {
        let head = crystal_head(&heads.crystals)?;
        let largest_cosine = largest_cosine(&heads, &physics);
        Ok(Self { geometry, heads, head, physics, largest_cosine })
    }

    /// Returns the share of all decays that [`Self::count_decay`] draws from: those whose first photon is not too steep for two
    /// heads.
    pub(super) fn share_followed(&self) -> f64 {
        self.largest_cosine
    }

    /// Begins a history; nothing where its line passes by the object. Draws, in this order: the heads, the ring difference, the
    /// lower ring, across and along each of the two heads, the place of annihilation, the way from the decay to it, and the angle
    /// between the photons.
    pub(super) fn start(&self, random: &mut Philox) -> Option<Start> {
        let coincidences = &self.heads.coincidences;
        let heads = coincidences[below(coincidences.len(), random)];
        let poses = heads.map(|head| &self.heads.poses[head]);
        // All ring differences equally often, so that those with few ring pairs are not left behind.
        let num_rings = self.num_face_rings();
        let difference = below(2 * num_rings - 1, random) as f64 - (num_rings as f64 - 1.0);
        let num_pairs = num_rings as f64 - difference.abs();
        let lower = (uniform(random) * num_pairs).floor();
        let rings = [lower + difference.max(0.0), lower - difference.min(0.0)];
        let importance = (2 * num_rings - 1) as f64 * num_pairs / (num_rings * num_rings) as f64;

        let [width_mm, height_mm] = self.face_mm();
        let faces = [0, 1].map(|side| {
            let [x, y] = poses[side].point((uniform(random) - 0.5) * width_mm, 0.0);
            let z = (rings[side] + uniform(random)) * self.heads.crystals.pitch_mm - 0.5 * height_mm;
            [x, y, z]
        });
        let line = [0, 1, 2].map(|a| faces[1][a] - faces[0][a]);
        let length_mm = line.iter().map(|v| v * v).sum::<f64>().sqrt();
        let direction = line.map(|v| v / length_mm);
        let [enter, leave] = within_cylinder(faces[0], line, self.object_radius_mm())?;
        let at = enter + uniform(random) * (leave - enter);
        let annihilation = [0, 1, 2].map(|a| faces[0][a] + at * line[a]);
        let cosine = |pose: &HeadPose| {
            let [towards, _] = pose.axes();
            (towards[0] * direction[0] + towards[1] * direction[1]).abs()
        };
        let areas_mm4 = (width_mm * height_mm).powi(2) * cosine(poses[0]) * cosine(poses[1]);
        let weight_mm3 = coincidences.len() as f64 * importance * areas_mm4 * (leave - enter) / (2.0 * PI * length_mm);

        // The way from annihilation to decay is as long and as even as that from decay to annihilation.
        let decay = self.physics.annihilation_mm(annihilation, random);
        let first = direction.map(|v| -v);
        let directions = [first, self.physics.opposite(first, random)];
        Some(Start { heads, annihilation, directions, decay, weight_mm3 })
    }

    /// Follows both photons: the line that they are counted on, if they are, and the share of such photons that are.
    pub(super) fn count(&self, start: &Start, random: &mut Philox) -> Option<(CrystalLine, f64)> {
        self.count_in(start.heads, start.annihilation, start.directions, random)
    }

    /// The same for photons of an annihilation in these directions, each into a head.
    pub(super) fn count_in(
        &self,
        heads: [usize; 2],
        annihilation: [f64; 3],
        directions: [[f64; 3]; 2],
        random: &mut Philox,
    ) -> Option<(CrystalLine, f64)> {
        let photons = [0, 1].map(|side| photon_in_head(&self.heads.poses[heads[side]], annihilation, directions[side]));
        if !photons.iter().all(|photon| self.head.is_on_the_way(photon.position_mm, photon.direction)) {
            return None;
        }
        let mut share = 1.0;
        let mut hits = heads.map(|head| Hit { head, crystal: [0; 2] });
        for (hit, photon) in hits.iter_mut().zip(photons) {
            let detection = self.head.detect(photon, true, random)?;
            share *= detection.weight;
            hit.crystal = detection.crystal;
        }
        Some((self.line(hits), share))
    }

    /// Follows the photons of a decay at a place (in the frame of the gantry, mm), in all directions evenly that are not too steep for
    /// two heads: each line that they are counted on, and the share of such photons that are. Draws, in this order: the way of the
    /// positron, the first photon's direction, the angle between the photons, and their histories in each pair of heads, either way
    /// round.
    pub(super) fn count_decay(&self, place_mm: [f64; 3], random: &mut Philox) -> impl Iterator<Item = (CrystalLine, f64)> {
        let annihilation = self.physics.annihilation_mm(place_mm, random);
        let first = isotropic_below(self.largest_cosine, random);
        let directions = [first, self.physics.opposite(first, random)];
        let pairs = self.heads.coincidences.iter().flat_map(|&[one, other]| [[one, other], [other, one]]);
        pairs.filter_map(move |heads| self.count_in(heads, annihilation, directions, random))
    }

    /// Returns the line between the middles of two crystals, at the mean depth of interaction.
    fn line(&self, hits: [Hit; 2]) -> CrystalLine {
        let crystals = &self.heads.crystals;
        let ends = hits.map(|hit| {
            let across_mm = crystals.position_mm(0, hit.crystal[0]);
            self.heads.poses[hit.head].point(across_mm, self.geometry.depth_of_interaction_mm)
        });
        let (s_mm, normal, along) = in_plane_line(ends);
        let rings = hits.map(|hit| hit.crystal[1]);
        let [one, other] = rings.map(|ring| crystals.position_mm(1, ring));
        CrystalLine { s_mm, normal, along, middle_mm: 0.5 * (one + other), rings }
    }

    /// Returns the number of rings of a head's face with its neighbours, through which photons enter from the side.
    pub fn num_face_rings(&self) -> usize {
        self.heads.crystals.num[1] + 2 * RINGS_BESIDE
    }

    /// Returns the width and height of the faces that histories cross: those of the heads, enlarged on each side by the depth of
    /// the heads.
    pub fn face_mm(&self) -> [f64; 2] {
        let crystals = &self.heads.crystals;
        [crystals.width_mm()[0] + 2.0 * crystals.size_mm[2], self.num_face_rings() as f64 * crystals.pitch_mm]
    }

    /// Returns the maximum distance of annihilations from the axis, mm.
    pub fn object_radius_mm(&self) -> f64 {
        self.geometry.fov_radius_mm + MARGIN_MM
    }

    /// Returns a weight that none exceeds, mm³.
    pub(super) fn weight_bound(&self) -> f64 {
        let [width_mm, height_mm] = self.face_mm();
        let num = self.num_face_rings() as f64;
        let nearest_mm = self.heads.poses.iter().map(|pose| pose.distance_mm).fold(f64::INFINITY, f64::min);
        // The importance is below 2, the share of the line within the object below 1, and no line is shorter than from a head to
        // the object's middle.
        let importance = (2.0 * num - 1.0) / num;
        self.heads.coincidences.len() as f64 * importance * (width_mm * height_mm).powi(2) / (2.0 * PI * nearest_mm)
    }

    /// Returns for each tangential position of a view the number of crystal pairs (transaxially) that fall into it while the
    /// gantry turns once evenly through all views, up to a common factor: the factor of the tube of a bin, which is a mean.
    pub fn dwell(&self) -> Vec<f64> {
        let Self { geometry, heads, .. } = self;
        let mut num_pairs = vec![0.0; geometry.num_tangential];
        let middle = (geometry.num_tangential / 2) as f64;
        let crystals = &heads.crystals;
        for [one, other] in &heads.coincidences {
            let ends = |head: usize| {
                let point = move |i| heads.poses[head].point(crystals.position_mm(0, i), geometry.depth_of_interaction_mm);
                (0..crystals.num[0]).map(point)
            };
            for one_end in ends(*one) {
                for other_end in ends(*other) {
                    let (s_mm, ..) = in_plane_line([one_end, other_end]);
                    // A pair is seen from both sides.
                    for s_mm in [s_mm, -s_mm] {
                        let position = (s_mm / geometry.central_bin_mm()).round() + middle;
                        if position >= 0.0
                            && let Some(num) = num_pairs.get_mut(position as usize)
                        {
                            *num += 0.5;
                        }
                    }
                }
            }
        }
        num_pairs
    }

    /// Returns the number of crystal pairs of each tube, `[radial][ring difference]`, up to the factor of [`Self::dwell`].
    pub fn pairs_of_tubes(&self, sampling: &TubeSampling) -> Vec<f64> {
        let (geometry, dwell) = (&self.geometry, self.dwell());
        let middle = geometry.num_tangential / 2;
        let of = |position: Option<usize>| position.and_then(|p| dwell.get(p)).copied().unwrap_or(0.0);
        let transaxial =
            |radial: usize| of(Some(middle + radial)) + if radial > 0 { of(middle.checked_sub(radial)) } else { 0.0 };
        let axial = |difference| (geometry.num_rings - difference) as f64 * if difference > 0 { 2.0 } else { 1.0 };
        let of_radial = |radial| (0..sampling.num_ring_differences).map(move |d| transaxial(radial) * axial(d));
        (0..sampling.num_radial).flat_map(of_radial).collect()
    }
}

/// Returns a head as the physics needs it. An event goes to the crystal that got most of its energy.
fn crystal_head(crystals: &Crystals) -> Result<CrystalHead, DetectorError> {
    let array = CrystalArray {
        num: crystals.num,
        pitch_mm: [crystals.pitch_mm; 2],
        crystal_mm: crystals.size_mm,
        material: Material::find(&crystals.material)?,
    };
    let readout = Readout {
        energy_resolution: crystals.energy_resolution_percent / 100.0,
        window_kev: crystals.energy_window_kev,
        assignment: Assignment::LargestDeposit,
    };
    Ok(CrystalHead::new(array, readout)?)
}

/// Returns the largest cosine to the axis of a photon that is counted with another: on a line between the opposite ends of the
/// two heads that are nearest to each other, and steeper by the angle between two photons, which hardly ever exceeds six standard
/// deviations.
fn largest_cosine(heads: &Heads, physics: &AnnihilationPhysics) -> f64 {
    let crystals = &heads.crystals;
    let [width_mm, height_mm] = crystals.width_mm();
    let corners = |pose: &HeadPose| {
        let pose = *pose;
        [-0.5, 0.5].into_iter().flat_map(move |part| [0.0, crystals.size_mm[2]].map(|depth| pose.point(part * width_mm, depth)))
    };
    // Distance along the line between their middles, a lower bound of the distance of the heads.
    let gap_mm = |[one, other]: [usize; 2]| {
        let poses = [one, other].map(|head| &heads.poses[head]);
        let (.., along) = in_plane_line(poses.map(|pose| pose.point(0.0, 0.0)));
        let at = |corner: [f64; 2]| corner[0] * along[0] + corner[1] * along[1];
        let ends = corners(poses[0]).map(at).fold(f64::NEG_INFINITY, f64::max);
        let begins = corners(poses[1]).map(at).fold(f64::INFINITY, f64::min);
        (begins - ends).max(0.0)
    };
    let nearest_mm = heads.coincidences.iter().map(|pair| gap_mm(*pair)).fold(f64::INFINITY, f64::min);
    let steepest_rad = height_mm.atan2(nearest_mm) + 6.0 * physics.noncollinearity_rad();
    steepest_rad.min(0.5 * PI).sin()
}

/// Returns a whole number below `num`, each equally often: one draw.
fn below(num: usize, random: &mut Philox) -> usize {
    ((uniform(random) * num as f64) as usize).min(num - 1)
}

/// Returns the signed distance from the axis of the line through two points, the direction that it is measured along, and that of
/// the line: (cos φ, sin φ) and (sin φ, −cos φ).
fn in_plane_line(ends: [[f64; 2]; 2]) -> (f64, [f64; 2], [f64; 2]) {
    let [x, y] = [0, 1].map(|a| ends[1][a] - ends[0][a]);
    let length = x.hypot(y);
    let along = [x / length, y / length];
    let normal = [-along[1], along[0]];
    (ends[0][0] * normal[0] + ends[0][1] * normal[1], normal, along)
}

/// Returns where a line, start + t·line, is within a cylinder about the axis, as t.
fn within_cylinder(start: [f64; 3], line: [f64; 3], radius_mm: f64) -> Option<[f64; 2]> {
    let square = line[0] * line[0] + line[1] * line[1];
    let half = -(start[0] * line[0] + start[1] * line[1]) / square;
    let root = half * half - (start[0] * start[0] + start[1] * start[1] - radius_mm * radius_mm) / square;
    (root > 0.0).then(|| [half - root.sqrt(), half + root.sqrt()])
}

/// Returns a photon of an annihilation in a head's frame: across it, along the axis, in depth.
fn photon_in_head(pose: &HeadPose, annihilation: [f64; 3], direction: [f64; 3]) -> Photon {
    let [towards, across] = pose.axes();
    let along = |axis: [f64; 2], v: [f64; 3]| v[0] * axis[0] + v[1] * axis[1];
    Photon {
        position_mm: [along(across, annihilation), annihilation[2], along(towards, annihilation) - pose.distance_mm],
        direction: [along(across, direction), direction[2], along(towards, direction)],
        energy_kev: ELECTRON_KEV,
    }
}
