//! The tables of the axial-run kernels (`shaders/compute/axial_runs.wgsl`), in 32-bit words: what all LORs have in common, and the
//! steps and first crossings of each path, which the host finds in f64.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::ops::Range;

use rayon::prelude::*;

use crate::algebra::{FieldOfView, Shard};
use crate::geometry::Grid;
use crate::operator::{AxialPlan, InPlanePath, InPlanePaths, MirrorSets, Mirrored, TracedPath};
use crate::scanner::ScanGeometry;

/// Words of a LOR: its number, whether it is reversed, its first column, its strides, its paths from and up to, padding.
const MEMBER_WORDS: usize = 8;

/// What all LORs have in common.
pub(super) struct PlanTables {
    /// Ends, passes, groups, outputs and reversed planes.
    pub words: Vec<u32>,
    /// Crossings.
    pub records: Vec<[u32; 4]>,
    /// Declarations that precede the text of the kernels.
    pub constants: String,
    /// Shared memory of a group of threads, bytes.
    pub shared_bytes: u32,
}

impl PlanTables {
    /// Lays out a plan; `is_split` = whether an image lies in several buffers.
    pub fn new(plan: &AxialPlan, is_split: bool) -> Self {
        let head = &plan.head;
        let mut words: Vec<u32> = plan.ends.iter().flat_map(|end| [end.bases[0], end.bases[1], end.flags]).collect();
        let passes_at = words.len();
        words.extend(plan.passes.iter().map(|pass| pass.first_end as u32));
        let groups_at = words.len();
        words.extend(plan.groups.iter().flat_map(|group| {
            let [weight, rise, sign] = [group.weight, group.rise_mm, group.sign].map(f32::to_bits);
            [weight, rise, sign, group.first_row as u32, group.slot as u32, group.pass as u32]
        }));
        let outputs_at = words.len();
        words.extend(&plan.outputs);
        let reversed_at = words.len();
        words.extend(&plan.reversed);
        let unsigned = [
            ("CLASSES", plan.classes),
            ("REGISTERS", plan.registers),
            ("LANES", head.lanes as usize),
            ("NZ", head.nz as usize),
            ("NUM_PLANES", head.num_planes as usize),
            ("NUM_LAYERS", head.num_layers as usize),
            ("NUM_PASSES", head.num_passes as usize),
            ("NUM_SLOTS", head.num_slots as usize),
            ("ENDS_AT", 0),
            ("PASSES_AT", passes_at),
            ("GROUPS_AT", groups_at),
            ("OUTPUTS_AT", outputs_at),
            ("REVERSED_AT", reversed_at),
        ];
        let mut constants = String::new();
        for (name, value) in unsigned {
            // A string takes everything.
            let _ = writeln!(constants, "const {name}: u32 = {value}u;");
        }
        let _ = writeln!(constants, "const FIRST_K: i32 = {};\nconst IS_SPLIT: bool = {is_split};", head.first_k);
        let shared = head.num_slots + head.lanes * (plan.classes as i32 + 1);
        Self { words, records: records(plan), constants, shared_bytes: 4 * shared as u32 }
    }
}

/// Returns the crossings with a mark where the threads of a group have to wait: a pass meets the same planes at each of its
/// crossings, each time in other threads.
fn records(plan: &AxialPlan) -> Vec<[u32; 4]> {
    let mut passes: Vec<(f32, usize)> = Vec::with_capacity(plan.records.len());
    for (number, pass) in plan.passes.iter().enumerate() {
        let tau = |i: i32| (pass.first_tau + f64::from(i) * pass.tau_step) as f32;
        passes.extend((0..pass.num_crossings).map(|i| (tau(i), number)));
    }
    // The order of the plan.
    passes.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut met = HashSet::new();
    let mark = |(record, (_, pass)): (&crate::operator::RecordRow, (f32, usize))| {
        let waits = met.contains(&pass);
        if waits {
            met.clear();
        }
        met.insert(pass);
        [record.tau.to_bits(), record.bases[0], record.bases[1], u32::from(waits)]
    };
    plan.records.iter().zip(passes).map(mark).collect()
}

/// Some sets of mirror images with their paths and steps, of which one binding holds all.
pub(super) struct SetTables {
    /// The LORs among all of the subset, in the order of the tables.
    pub members: Range<usize>,
    /// LORs, then paths.
    pub words: Vec<u32>,
    /// Where the paths begin.
    pub paths_at: usize,
    /// x and y of the column, length, beginning and first crossing of each step.
    pub steps: Vec<[u32; 4]>,
}

/// Inputs of the tables of a subset.
pub(super) struct Scan<'a> {
    pub geometry: &'a ScanGeometry,
    pub grid: &'a Grid,
    pub fov: &'a FieldOfView,
    pub num_rays: usize,
    pub plan: &'a AxialPlan,
}

impl Scan<'_> {
    /// Returns the tables of some views, the longest paths first: the shortest then fill the gaps at the end. None of them has
    /// more than `max_steps` steps, unless a single set has.
    pub fn tables(&self, views: &[usize], max_steps: usize) -> Vec<SetTables> {
        let mirrored = MirrorSets::new(self.geometry, self.grid, self.fov, views);
        let sets = mirrored.of_shard(Shard::WHOLE);
        let num_tangential = self.geometry.num_tangential;
        let first = |set: usize| {
            let Mirrored { lor, .. } = mirrored.set(set)[0];
            [views[lor / num_tangential], lor % num_tangential]
        };
        let paths = InPlanePaths::new(self.geometry, self.grid, self.fov, self.num_rays, sets.clone().into_par_iter().map(first));
        let of_set = |set: usize| &paths.paths[paths.first[set] as usize..paths.first[set + 1] as usize];
        let mut order: Vec<(f64, usize)> =
            sets.map(|set| (of_set(set).iter().map(|(path, _)| path.length_mm).sum(), set)).collect();
        order.sort_by(|a, b| b.0.total_cmp(&a.0));
        let traced: Vec<Vec<Traced>> = order
            .par_iter()
            .map_init(
                || TracedPath::new(self.grid),
                |path, (_, set)| of_set(*set).iter().filter_map(|(start, share)| self.traced(path, start, *share)).collect(),
            )
            .collect();
        let mut tables: Vec<SetTables> = Vec::new();
        let (mut from, mut num_members) = (0, 0);
        while from < order.len() {
            let mut num_steps = 0;
            let fits = |traced: &&Vec<Traced>| {
                num_steps += traced.iter().map(|path| path.steps.len()).sum::<usize>();
                num_steps <= max_steps
            };
            let num_sets = traced[from..].iter().take_while(fits).count().max(1);
            let part = order[from..from + num_sets].iter().zip(&traced[from..from + num_sets]);
            let table = self.table(num_members, part.map(|((_, set), paths)| (mirrored.set(*set), paths.as_slice())));
            num_members = table.members.end;
            tables.push(table);
            from += num_sets;
        }
        tables
    }

    fn table<'a>(&self, first: usize, sets: impl Iterator<Item = (&'a [Mirrored], &'a [Traced])>) -> SetTables {
        let (mut words, mut paths, mut steps) = (Vec::new(), Vec::new(), Vec::new());
        let mut num_paths = 0;
        for (set, traced) in sets {
            let range = [num_paths, num_paths + traced.len()].map(|path| path as u32);
            num_paths += traced.len();
            for member in set {
                let row = self.plan.member(member);
                let strides = row.strides.map(|stride| stride as u32);
                words.extend([row.lor, row.is_reversed, row.first as u32, strides[0], strides[1], range[0], range[1], 0]);
            }
            for path in traced {
                let numbers = [path.lor_mm, path.start_mm, path.share, path.rounding].map(f32::to_bits);
                paths.extend([steps.len() as u32, path.steps.len() as u32 - 1]);
                paths.extend(numbers);
                paths.extend(&path.passed);
                steps.extend_from_slice(&path.steps);
            }
        }
        let paths_at = words.len();
        words.extend(paths);
        SetTables { members: first..first + paths_at / MEMBER_WORDS, words, paths_at, steps }
    }

    /// Follows a path; `None` where it crosses no column.
    fn traced(&self, path: &mut TracedPath, start: &InPlanePath, share: f32) -> Option<Traced> {
        if !path.follow(self.grid, start) {
            return None;
        }
        let (lor_mm, start_mm, length_mm) = (start.lor_mm as f32, start.start_mm as f32, start.length_mm as f32);
        // The same tau, in the same order, wherever a crossing is looked at.
        let at_mm = |tau: f32| tau.mul_add(lor_mm, -start_mm);
        let records = &self.plan.records;
        let mut event = records.partition_point(|record| at_mm(record.tau) <= 0.0);
        let end = records.partition_point(|record| at_mm(record.tau) < length_mm).max(event);
        let mut steps: Vec<[u32; 4]> = Vec::with_capacity(path.num_steps + 1);
        for step in path.steps() {
            while !steps.is_empty() && event < end && at_mm(records[event].tau) < step.from_mm {
                event += 1;
            }
            let [x, y] = step.column.map(|place| place as u32);
            let is_seen = self.fov.contains(x as usize, y as usize);
            let length = if is_seen { step.length_mm } else { 0.0 };
            steps.push([x | y << 16, length.to_bits(), step.from_mm.to_bits(), event as u32]);
        }
        let [column, _, from, _] = *steps.last()?;
        steps.push([column, 0, from, end as u32]);
        let passed = |pass: &crate::operator::PassRow| {
            let tau = |i: i32| (pass.first_tau + f64::from(i) * pass.tau_step) as f32;
            (0..pass.num_crossings).take_while(|&i| at_mm(tau(i)) < length_mm).count() as u32
        };
        let num_terms = (path.num_steps as i32 + self.plan.head.max_crossings) as f64;
        let secant = 1f64.hypot(self.plan.max_rise_mm / start.lor_mm);
        let rounding = (f64::from(share) * secant * num_terms * f64::from(f32::EPSILON) / 2.0) as f32;
        let passed = self.plan.passes.iter().map(passed).collect();
        Some(Traced { lor_mm, start_mm, share, rounding, passed, steps })
    }
}

/// A path as the kernels find it.
struct Traced {
    lor_mm: f32,
    start_mm: f32,
    share: f32,
    /// Bound of the rounding of a bin, for a largest row integral of 1.
    rounding: f32,
    /// Crossings of each pass before its end.
    passed: Vec<u32>,
    /// Its steps and one more, without length, for the end of the last.
    steps: Vec<[u32; 4]>,
}
