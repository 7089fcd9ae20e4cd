//! The EPRI phantoms by name, each scaled to the sampled range of a sweep. x, y, z are the gradient axes.

use std::f64::consts::TAU;

use super::draft::Draft;
use super::tumour::tumour;
use super::{Body, OXYGEN_TORR, Part, Phantom, Section};
use crate::data::{Notice, Roi, RoiRole, RoiShape};
use crate::geometry::Point;
use crate::phantom::draft::{Entry, find_entry};
use crate::phantom::{PhantomError, PhantomInfo};

impl From<Vec<Part>> for Draft {
    fn from(parts: Vec<Part>) -> Self {
        let oxygen_torr = OXYGEN_TORR.into_iter().cycle().take(parts.len()).collect();
        Self { rois: rois(&parts), parts, oxygen_torr }
    }
}

/// Makes the draft of a phantom.
type Make = fn() -> Draft;

const CATALOGUE: [Entry<Make>; 7] = [
    (PhantomInfo::new("ball", "Ball"), || ball().into()),
    (PhantomInfo::new("disc", "Disc"), || disc().into()),
    (PhantomInfo::new("balls", "Balls of five sizes"), || balls().into()),
    (PhantomInfo::new("bottle", "Bottle with solution up to its neck"), || bottle().into()),
    (PhantomInfo::new("tubes", "Tubes of five diameters"), || tubes().into()),
    (PhantomInfo::new("vials", "Six equal vials"), || vials().into()),
    (PhantomInfo::new("tumour", "Tumour-like tissue with compartments of oxygen"), tumour),
];

/// Part of the sampled half length that a phantom may fill: the filters need some zeros about it.
const FILLED: f64 = 0.95;

/// Returns all EPRI phantoms.
pub fn catalogue() -> impl Iterator<Item = PhantomInfo> {
    CATALOGUE.into_iter().map(|(info, _)| info)
}

/// Returns the entry of this name in the catalogue.
///
/// # Errors
/// No EPRI phantom has this name; the sentence lists those that there are.
pub fn find(name: &str) -> Result<PhantomInfo, PhantomError> {
    Ok(entry(name)?.0)
}

fn entry(name: &str) -> Result<Entry<Make>, PhantomError> {
    find_entry(&CATALOGUE, name, |name, known| PhantomError::UnknownEpri { name, known })
}

/// Returns the phantom of this name, scaled down if its usual size does not fit between −`half_extent_mm` and `half_extent_mm`
/// along every direction (with a notice).
///
/// # Errors
/// No EPRI phantom has this name.
pub fn by_name(name: &str, half_extent_mm: f64) -> Result<Phantom, PhantomError> {
    let (info, make) = entry(name)?;
    let Draft { parts, oxygen_torr, rois } = make();
    let usual = Phantom { name: info.name, title: info.title, parts, oxygen_torr, rois, notices: Vec::new(), size: 1.0 };
    Ok(usual.fitted(half_extent_mm))
}

/// Returns one ball in the middle.
fn ball() -> Vec<Part> {
    vec![Part { body: Body::ball([0.0; 3], 10.0), density: 1.0 }]
}

/// Returns a flat upright cylinder in the middle.
fn disc() -> Vec<Part> {
    vec![Part { body: Body::cylinder([0.0, 0.0, -2.0], [0.0, 0.0, 2.0], 10.0), density: 1.0 }]
}

/// Returns five balls off the centre, none touching another, denser the smaller they are.
fn balls() -> Vec<Part> {
    let ball = |centre: Point, radius: f64, density: f64| Part { body: Body::ball(centre, radius), density };
    vec![
        ball([-4.0, -3.0, -2.0], 6.0, 1.0),
        ball([6.5, 2.0, -4.0], 4.0, 1.5),
        ball([-2.0, 7.0, 3.0], 3.0, 2.0),
        ball([3.0, -4.0, 8.0], 2.0, 2.5),
        ball([7.0, 4.0, 6.0], 1.0, 3.0),
    ]
}

/// Returns a bottle upright along z: a wide body, a rounded shoulder, and a neck filled half-way.
fn bottle() -> Vec<Part> {
    let (wide, narrow) = (8.0f64, 3.5f64);
    let shoulder_drop = (wide * wide - narrow * narrow) / 25.0;
    let stages = vec![
        Section { heights_mm: [-13.0, 4.0], radius_squared: [wide * wide, 0.0, 0.0] },
        // r² = wide² − drop (s − 4)²: level where it meets the body, the neck's radius 5 mm higher.
        Section {
            heights_mm: [4.0, 9.0],
            radius_squared: [wide * wide - 16.0 * shoulder_drop, 8.0 * shoulder_drop, -shoulder_drop],
        },
        Section { heights_mm: [9.0, 12.5], radius_squared: [narrow * narrow, 0.0, 0.0] },
    ];
    vec![Part { body: Body::Revolution { origin_mm: [0.0; 3], axis: [0.0, 0.0, 1.0], stages }, density: 1.0 }]
}

/// Returns four upright tubes about a slanted one.
fn tubes() -> Vec<Part> {
    let upright =
        |x: f64, y: f64, radius: f64, density: f64| Part { body: Body::cylinder([x, y, -10.0], [x, y, 10.0], radius), density };
    vec![
        upright(7.5, 0.0, 4.0, 1.0),
        upright(0.0, 8.0, 3.0, 1.5),
        upright(-8.0, 0.0, 2.0, 2.0),
        upright(0.0, -8.0, 1.0, 3.0),
        Part { body: Body::cylinder([-3.0, -2.0, -9.0], [1.0, 3.0, 9.0], 1.5), density: 2.0 },
    ]
}

/// Returns six equal upright cylinders on a circle, one for each oxygen pressure of [`OXYGEN_TORR`].
fn vials() -> Vec<Part> {
    let vial = |k: usize| {
        let (sin, cos) = (TAU * k as f64 / 6.0).sin_cos();
        let (x, y) = (10.0 * cos, 10.0 * sin);
        Part { body: Body::cylinder([x, y, -8.0], [x, y, 8.0], 4.0), density: 1.0 }
    };
    (0..6).map(vial).collect()
}

/// Returns a ball in the middle of each part; the least dense part is the background of the others.
fn rois(parts: &[Part]) -> Vec<Roi> {
    let roi = |(index, part): (usize, &Part)| {
        let (centre_mm, radius_mm) = match &part.body {
            Body::Ellipsoid { centre_mm, semi_axes_mm } => {
                (*centre_mm, semi_axes_mm.iter().copied().fold(f64::INFINITY, f64::min))
            }
            Body::Revolution { origin_mm, axis, stages } => {
                let stage = stages.first().cloned().unwrap_or(Section { heights_mm: [0.0; 2], radius_squared: [0.0; 3] });
                let middle = 0.5 * (stage.heights_mm[0] + stage.heights_mm[1]);
                (std::array::from_fn(|a| origin_mm[a] + middle * axis[a]), stage.radius_squared[0].sqrt())
            }
        };
        let (role, activity_ratio) =
            if part.density > 1.0 { (RoiRole::Hot, Some(part.density)) } else { (RoiRole::Background, None) };
        let shape = RoiShape::Sphere { radius_mm: 0.7 * radius_mm };
        Roi { role, activity_ratio, ..Roi::new(format!("part {}, density {}", index + 1, part.density), shape, centre_mm) }
    };
    parts.iter().enumerate().map(roi).collect()
}

impl Body {
    fn scaled(self, factor: f64) -> Self {
        let all = |point: Point| point.map(|v| v * factor);
        match self {
            Body::Ellipsoid { centre_mm, semi_axes_mm } => {
                Body::Ellipsoid { centre_mm: all(centre_mm), semi_axes_mm: all(semi_axes_mm) }
            }
            Body::Revolution { origin_mm, axis, stages } => {
                let scaled = |stage: Section| Section {
                    heights_mm: stage.heights_mm.map(|s| s * factor),
                    radius_squared: [
                        stage.radius_squared[0] * factor * factor,
                        stage.radius_squared[1] * factor,
                        stage.radius_squared[2],
                    ],
                };
                Body::Revolution { origin_mm: all(origin_mm), axis, stages: stages.into_iter().map(scaled).collect() }
            }
        }
    }
}

impl Phantom {
    fn fitted(mut self, half_extent_mm: f64) -> Self {
        let size = (FILLED * half_extent_mm / self.reach_mm()).min(1.0);
        if size < 1.0 {
            self.notices.push(Notice::info(format!(
                "{}: scaled to {:.0} % to fit the {half_extent_mm:.1} mm that are sampled on both sides",
                self.title,
                100.0 * size,
            )));
        }
        self.parts = self.parts.into_iter().map(|part| Part { body: part.body.scaled(size), ..part }).collect();
        self.rois = self.rois.iter().map(|roi| roi.scaled(size)).collect();
        self.size = size;
        self
    }
}
