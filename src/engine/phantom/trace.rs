//! The exact integrals of all planes of one transaxial LOR, in nanoseconds each.
//!
//! All planes of a transaxial LOR run over the same line in x and y: with α from 0 at its start to 1 at its end, a plane is z =
//! z_start + α·rise in the upright (α, z) half-plane above it. Work that does not depend on the plane is done once per transaxial
//! LOR:
//!
//! * upright parts (cylinders along z, boxes) are intervals of α, the same in every plane. Neighbours in the list of
//!   parts with the same range of z become one layer of disjoint stretches with a known total. A plane needs only this
//!   total unless something covers it or the range of z cuts it;
//! * every other quadric |M (p − c)| ≤ 1 becomes a conic in (α, z) of six scalar products; those whose shadow the line
//!   in x and y misses are left out, the others cost a plane one discriminant.
//!
//! A plane goes through the layers from the top down and records its covered intervals, so any overlap is right.

use super::object::{LineIntegrals, Material, Part, Stretch, flatten};
use super::solid::{Interval, Quadric, intersection, z_interval};
use crate::geometry::dot;
use crate::scanner::{ScanGeometry, TransaxialLor};

/// Parts of a phantom that are handled together.
enum Layer {
    /// Upright parts with one range of z, the lowest first.
    Upright { z_mm: [f64; 2], parts: Vec<Part> },
    /// Anything else.
    Other(Part),
}

/// A phantom's layers, the top one first, and a scanner's planes.
pub(super) struct Tracer {
    layers: Vec<Layer>,
    segments: Vec<SegmentPlanes>,
}

/// The planes of a segment: lines of one rise.
struct SegmentPlanes {
    rise_mm: f64,
    z_start_mm: Vec<f64>,
}

/// A layer as one transaxial LOR crosses it.
enum Crossing {
    Upright { z_mm: [f64; 2], stretches: Vec<Stretch>, extent: Interval, total: LineIntegrals },
    Other { z_mm: [f64; 2], upright: Interval, conics: Vec<Conic>, material: Material },
}

/// |o + (α − α₀) u + z m|² ≤ 1 by its scalar products, about the α₀ nearest to the quadric's centre (which keeps
/// the products small and the differences of them accurate).
struct Conic {
    nearest: f64,
    oo: f64,
    ou: f64,
    om: f64,
    uu: f64,
    um: f64,
    mm: f64,
}

impl Conic {
    fn new(quadric: &Quadric, lor: TransaxialLor) -> Self {
        let step = [lor.end[0] - lor.start[0], lor.end[1] - lor.start[1], 0.0];
        let to_centre = [quadric.centre_mm[0] - lor.start[0], quadric.centre_mm[1] - lor.start[1], 0.0];
        let nearest = dot(to_centre, step) / dot(step, step);
        let o = quadric.placed([lor.start[0] + nearest * step[0], lor.start[1] + nearest * step[1], 0.0]);
        let (u, m) = (quadric.turned(step), quadric.turned([0.0, 0.0, 1.0]));
        Self { nearest, oo: dot(o, o), ou: dot(o, u), om: dot(o, m), uu: dot(u, u), um: dot(u, m), mm: dot(m, m) }
    }

    /// Returns true if the half-plane misses it for certain: its shadow, with the best z at each α, stays above 1.
    fn is_missed(&self) -> bool {
        let speed = self.uu - self.um * self.um / self.mm;
        let along = self.ou - self.om * self.um / self.mm;
        let offset = self.oo - self.om * self.om / self.mm;
        speed > 1e-9 * self.uu && offset - along * along / speed > 1.0 + 1e-6
    }

    /// Returns where the line from `z_start` that gains `rise` lies inside.
    fn interval(&self, z_start: f64, rise: f64) -> Option<Interval> {
        let z = z_start + rise * self.nearest;
        let speed = self.uu + rise * (2.0 * self.um + rise * self.mm);
        let along = self.ou + z * self.um + rise * (self.om + z * self.mm);
        let excess = self.oo + z * (2.0 * self.om + z * self.mm) - 1.0;
        if speed <= 0.0 {
            return (excess <= 0.0).then_some([f64::NEG_INFINITY, f64::INFINITY]);
        }
        let discriminant = along * along - speed * excess;
        (discriminant > 0.0).then(|| {
            let (root, middle) = (discriminant.sqrt() / speed, self.nearest - along / speed);
            [middle - root, middle + root]
        })
    }
}

impl Tracer {
    /// Returns a tracer for these parts (the later ones replace the earlier ones) and all planes of a scanner.
    pub(super) fn new(parts: &[Part], geometry: &ScanGeometry) -> Self {
        let mut layers: Vec<Layer> = Vec::new();
        for part in parts {
            let range = part.solid.z_mm;
            if !part.solid.quadrics.iter().all(Quadric::is_upright) {
                layers.push(Layer::Other(part.clone()));
                continue;
            }
            match layers.last_mut() {
                Some(Layer::Upright { z_mm, parts }) if *z_mm == range => parts.push(part.clone()),
                _ => layers.push(Layer::Upright { z_mm: range, parts: vec![part.clone()] }),
            }
        }
        layers.reverse();
        let mut segments: Vec<SegmentPlanes> =
            geometry.segments.iter().map(|_| SegmentPlanes { rise_mm: 0.0, z_start_mm: Vec::new() }).collect();
        for plane in geometry.planes() {
            let segment = &mut segments[plane.segment];
            segment.rise_mm = plane.z_end_mm - plane.z_start_mm;
            segment.z_start_mm.push(plane.z_start_mm);
        }
        Self { layers, segments }
    }

    /// Calls `each` with the integrals of every plane in order; `false` and no call where the line in x and y misses
    /// the phantom.
    pub(super) fn trace(&self, lor: TransaxialLor, scratch: &mut Scratch, mut each: impl FnMut(LineIntegrals)) -> bool {
        scratch.cross(&self.layers, lor);
        if scratch.crossings.is_empty() {
            return false;
        }
        let width_mm = (lor.end[0] - lor.start[0]).hypot(lor.end[1] - lor.start[1]);
        for segment in &self.segments {
            let length_mm = width_mm.hypot(segment.rise_mm);
            for &z_start_mm in &segment.z_start_mm {
                let fractions = scratch.plane(z_start_mm, segment.rise_mm);
                each(LineIntegrals {
                    activity_mm: length_mm * fractions.activity_mm,
                    attenuation: length_mm * fractions.attenuation,
                });
            }
        }
        true
    }
}

/// Buffers of a thread for tracing.
#[derive(Default)]
pub(super) struct Scratch {
    crossings: Vec<Crossing>,
    covered: Vec<Interval>,
    stack: Vec<Stretch>,
    cuts: Vec<f64>,
}

/// Adds a stretch of a line.
fn add(sum: &mut LineIntegrals, fraction: f64, material: Material) {
    sum.activity_mm += fraction * material.activity;
    sum.attenuation += fraction * material.mu_per_mm;
}

impl Scratch {
    /// Finds the crossings of a transaxial LOR.
    fn cross(&mut self, layers: &[Layer], lor: TransaxialLor) {
        self.crossings.clear();
        for layer in layers {
            let crossing = match layer {
                Layer::Upright { z_mm, parts } => self.cross_upright(*z_mm, parts, lor),
                Layer::Other(part) => cross_other(part, lor),
            };
            self.crossings.extend(crossing);
        }
    }

    fn cross_upright(&mut self, z_mm: [f64; 2], parts: &[Part], lor: TransaxialLor) -> Option<Crossing> {
        self.stack.clear();
        let stretch = |part: &Part| upright_interval(&part.solid.quadrics, lor).map(|t| Stretch { t, material: part.material });
        self.stack.extend(parts.iter().filter_map(stretch));
        let mut stretches = Vec::new();
        flatten(&self.stack, &mut self.cuts, &mut stretches);
        let extent = [stretches.first()?.t[0], stretches.last()?.t[1]];
        let mut total = LineIntegrals::default();
        for stretch in &stretches {
            add(&mut total, stretch.t[1] - stretch.t[0], stretch.material);
        }
        Some(Crossing::Upright { z_mm, stretches, extent, total })
    }

    /// Returns the integrals along one plane, as fractions of its length.
    fn plane(&mut self, z_start: f64, rise: f64) -> LineIntegrals {
        let mut sum = LineIntegrals::default();
        self.covered.clear();
        let last = self.crossings.len().saturating_sub(1);
        for (index, crossing) in self.crossings.iter().enumerate() {
            match crossing {
                Crossing::Upright { z_mm, stretches, extent, total } => {
                    let Some(window) = z_interval(*z_mm, z_start, rise) else { continue };
                    let whole = window[0] <= extent[0] && extent[1] <= window[1];
                    if whole && self.covered.is_empty() && index == last {
                        add(&mut sum, 1.0, Material { activity: total.activity_mm, mu_per_mm: total.attenuation });
                        continue;
                    }
                    for stretch in stretches {
                        let Some(t) = intersection(stretch.t, window) else { continue };
                        add(&mut sum, uncovered(&self.covered, t), stretch.material);
                    }
                    if index < last {
                        for stretch in stretches {
                            let Some(t) = intersection(stretch.t, window) else { continue };
                            cover(&mut self.covered, t);
                        }
                    }
                }
                Crossing::Other { z_mm, upright, conics, material } => {
                    let inside =
                        conics.iter().try_fold(*upright, |inside, conic| intersection(inside, conic.interval(z_start, rise)?));
                    let Some(inside) = inside else { continue };
                    let Some(t) = z_interval(*z_mm, z_start, rise).and_then(|z| intersection(inside, z)) else { continue };
                    add(&mut sum, uncovered(&self.covered, t), *material);
                    if index < last {
                        cover(&mut self.covered, t);
                    }
                }
            }
        }
        sum
    }
}

/// Returns the crossing of a part that is not upright, unless the half-plane above the LOR misses it.
fn cross_other(part: &Part, lor: TransaxialLor) -> Option<Crossing> {
    let (upright, other): (Vec<Quadric>, Vec<Quadric>) = part.solid.quadrics.iter().cloned().partition(Quadric::is_upright);
    let upright = upright_interval(&upright, lor)?;
    let conics: Vec<Conic> = other.iter().map(|quadric| Conic::new(quadric, lor)).collect();
    if conics.iter().any(Conic::is_missed) {
        return None;
    }
    Some(Crossing::Other { z_mm: part.solid.z_mm, upright, conics, material: part.material })
}

/// Returns where a LOR lies inside upright quadrics, in any plane.
fn upright_interval(quadrics: &[Quadric], lor: TransaxialLor) -> Option<Interval> {
    let line = crate::geometry::Line { start: [lor.start[0], lor.start[1], 0.0], end: [lor.end[0], lor.end[1], 0.0] };
    quadrics.iter().try_fold([0.0, 1.0], |inside, quadric| intersection(inside, quadric.interval(&line)?))
}

/// Returns the length of `t` outside the disjoint intervals of `covered`.
fn uncovered(covered: &[Interval], t: Interval) -> f64 {
    let hidden = |c: &Interval| intersection(*c, t).map_or(0.0, |[from, to]| to - from);
    t[1] - t[0] - covered.iter().map(hidden).sum::<f64>()
}

/// Adds `t` to disjoint intervals.
fn cover(covered: &mut Vec<Interval>, mut t: Interval) {
    covered.retain(|c| {
        let apart = c[1] < t[0] || t[1] < c[0];
        if !apart {
            t = [c[0].min(t[0]), c[1].max(t[1])];
        }
        apart
    });
    covered.push(t);
}

#[cfg(test)]
mod tests {
    use super::super::object::Phantom;
    use super::super::solid::Solid;
    use super::*;

    /// Every bin of every phantom and of a heap of overlapping solids, against the general function of one line.
    #[test]
    fn all_planes_at_once_are_each_line_by_itself() {
        let geometry = &crate::scanner::find("small").unwrap().geometry;
        let mut phantoms: Vec<Phantom> =
            super::super::catalogue().map(|info| super::super::by_name(info.name, geometry).unwrap()).collect();
        phantoms.push(heap());
        for phantom in phantoms {
            let tracer = Tracer::new(&phantom.parts, geometry);
            let mut scratch = Scratch::default();
            let planes = geometry.planes();
            let (mut largest, mut num_hit) = (0.0f64, 0);
            for view in 0..geometry.num_views {
                for tangential_pos in 0..geometry.num_tangential {
                    let lor = geometry.transaxial_lor(view, tangential_pos, 0, 1);
                    let mut plane = 0;
                    let hit = tracer.trace(lor, &mut scratch, |found| {
                        let expected = phantom.line_integrals(&geometry.lor(lor, planes[plane]));
                        largest = largest.max((found.activity_mm - expected.activity_mm).abs());
                        largest = largest.max(100.0 * (found.attenuation - expected.attenuation).abs());
                        num_hit += usize::from(expected.activity_mm > 0.0);
                        plane += 1;
                    });
                    if !hit {
                        assert!(
                            planes.iter().all(|&p| phantom.line_integrals(&geometry.lor(lor, p)) == LineIntegrals::default())
                        );
                    }
                }
            }
            assert!(largest < 1e-9, "{}: {largest} mm", phantom.name);
            assert!(num_hit > 100, "{}: only {num_hit} lines cross it", phantom.name);
        }
    }

    fn heap() -> Phantom {
        let solids = [
            Solid::cylinder([5.0, 0.0], 40.0, [-15.1, 12.3]),
            Solid::cylinder([-20.0, 3.0], 20.0, [-15.1, 12.3]),
            Solid::ellipsoid([10.0, -20.0, 3.0], [30.0, 10.0, 12.0], 0.4),
            Solid::cuboid([-30.2, -9.1, -30.0], [12.3, 59.9, 30.0]).and(Solid::ball([0.0, 5.0, 0.0], 33.0)),
            Solid::rod([-50.0, -40.0, -10.0], [45.0, 50.0, 14.0], 6.0),
            Solid::rod([-50.0, 0.0, 0.0], [45.0, 0.0, 0.0], 3.1),
            Solid::cylinder([10.0, 0.0], 5.0, [-7.7, 30.0]),
            Solid::ball([10.0, 3.0, 1.0], 6.0),
        ];
        let part = |(index, solid): (usize, Solid)| Part {
            solid,
            material: Material { activity: (index % 4) as f64, mu_per_mm: 0.003 * (1 + index % 3) as f64 },
        };
        let parts = solids.into_iter().enumerate().map(part).collect();
        Phantom { name: "heap".into(), title: "heap".into(), parts, rois: Vec::new(), notices: Vec::new(), size: 1.0 }
    }
}
