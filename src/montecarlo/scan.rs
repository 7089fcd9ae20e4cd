//! A scan of an object, count by count: a history gives a count with a probability in proportion to what it stands for, so that
//! counts are as independent, and as noisy, as those of a scanner. (The few histories that stand for more than nearly all give
//! their whole number of counts and one more with the probability of what is left.)

use std::f64::consts::PI;

use rayon::prelude::*;

use super::coincidences::{Coincidences, CrystalLine};
use super::draws::uniform;
use crate::geometry::Point;
use crate::random::stream;
use crate::scanner::ScanGeometry;
use crate::task::{Stopped, Task};

/// Histories that one task follows.
const HISTORIES_PER_TASK: u64 = 1 << 14;
/// Histories that tell what most stand for.
const NUM_TRIED: u64 = 1 << 14;
/// Histories that tell how many more are needed.
const PILOT: u64 = 1 << 22;

/// Counts of a scan.
pub struct MeasuredScan {
    /// For each bin of the scanner's geometry, in storage order.
    pub counts: Vec<f32>,
    /// How many there are.
    pub num_counts: u64,
}

/// Which bin a line belongs to.
struct Bins<'a> {
    geometry: &'a ScanGeometry,
    /// For each ring difference from −(rings − 1) on its first plane, where the scan has a segment of it alone.
    first_planes: Vec<Option<usize>>,
}

impl<'a> Bins<'a> {
    fn new(geometry: &'a ScanGeometry) -> Self {
        let most = geometry.num_rings as i32 - 1;
        let mut first_planes = vec![None; 2 * geometry.num_rings - 1];
        let mut first = 0;
        for segment in &geometry.segments {
            if !segment.is_spanned() {
                first_planes[(segment.min_ring_difference + most) as usize] = Some(first);
            }
            first += segment.num_axial_pos;
        }
        Self { geometry, first_planes }
    }

    /// The bin of a line while the gantry is turned by `turn_rad`, in storage order.
    fn bin_of(&self, line: &CrystalLine, turn_rad: f64) -> Option<u32> {
        let g = self.geometry;
        let phi_rad = line.normal[1].atan2(line.normal[0]) + turn_rad - g.phi_rad(0);
        let num_views = g.num_views as i64;
        let view = ((phi_rad / PI * g.num_views as f64).round() as i64).rem_euclid(2 * num_views);
        // Seen from the other side the line runs the other way.
        let (view, turned) = if view < num_views { (view, 1.0) } else { (view - num_views, -1.0) };
        let tangential = (turned * line.s_mm / g.central_bin_mm()).round() as i64 + (g.num_tangential / 2) as i64;
        let [first, second] = line.rings.map(|ring| ring as i64);
        let difference = if turned > 0.0 { first - second } else { second - first };
        let first_plane = (*self.first_planes.get((difference + g.num_rings as i64 - 1) as usize)?)?;
        let plane = first_plane + first.min(second) as usize;
        let is_there = (0..g.num_tangential as i64).contains(&tangential);
        is_there.then(|| ((view as usize * g.num_tangential + tangential as usize) * g.num_planes() + plane) as u32)
    }
}

/// Measures about `num_counts` counts of an object whose `activity` (a density of any unit) is `largest` at most, while the gantry
/// turns about it evenly and all the way round. `None` where nothing of it is seen.
///
/// # Errors
/// Stopped.
pub fn measure(
    coincidences: &Coincidences,
    activity: &(impl Fn(Point) -> f64 + Sync),
    largest: f64,
    num_counts: u64,
    seed: u64,
    task: &Task,
) -> Result<Option<MeasuredScan>, Stopped> {
    let geometry = coincidences.geometry();
    let bound = usual_weight(coincidences, seed) * largest;
    let bins = Bins::new(geometry);
    let follow = |history: u64| -> Option<(u32, u32)> {
        let mut random = stream(seed, history);
        let turn = 2.0 * PI * uniform(&mut random);
        let start = coincidences.start(&mut random)?;
        let [x, y, z] = start.decay;
        let (sin, cos) = turn.sin_cos();
        let density = activity([x * cos - y * sin, x * sin + y * cos, z]);
        // As many decays whose photons are followed alike; hardly ever more than one.
        let num = (start.weight_mm3 * density / bound + uniform(&mut random)).floor();
        if num < 1.0 {
            return None;
        }
        let (line, share) = coincidences.count(&start, &mut random)?;
        (uniform(&mut random) < share).then(|| Some((bins.bin_of(&line, turn)?, num as u32))).flatten()
    };
    let some = |range: std::ops::Range<u64>| -> Result<Vec<(u32, u32)>, Stopped> {
        let tasks = range.clone().step_by(HISTORIES_PER_TASK as usize).collect::<Vec<u64>>();
        let found: Vec<Vec<(u32, u32)>> = tasks
            .into_par_iter()
            .map(|first| {
                task.check()?;
                let last = (first + HISTORIES_PER_TASK).min(range.end);
                task.advance(last - first);
                Ok((first..last).filter_map(follow).collect())
            })
            .collect::<Result<_, Stopped>>()?;
        Ok(found.concat())
    };
    task.begin(PILOT);
    let mut counted = some(0..PILOT)?;
    if counted.is_empty() {
        return Ok(None);
    }
    let sum = |counted: &[(u32, u32)]| counted.iter().map(|(_, num)| u64::from(*num)).sum::<u64>();
    let total = (PILOT as f64 * num_counts as f64 / sum(&counted) as f64).round().max(1.0) as u64;
    task.begin(total);
    task.advance(PILOT.min(total));
    if total > PILOT {
        counted.extend(some(PILOT..total)?);
    } else {
        // The pilot was enough, and may have been more than that.
        counted = some(0..total)?;
    }
    let mut counts = vec![0.0f32; geometry.num_bins()];
    counted.iter().for_each(|&(bin, num)| counts[bin as usize] += num as f32);
    Ok(Some(MeasuredScan { num_counts: sum(&counted), counts }))
}

/// A weight that hardly any history exceeds, mm³.
fn usual_weight(coincidences: &Coincidences, seed: u64) -> f64 {
    let weight = |history| coincidences.start(&mut stream(seed, history)).map_or(0.0, |start| start.weight_mm3);
    (0..NUM_TRIED).map(weight).fold(0.0, f64::max)
}
