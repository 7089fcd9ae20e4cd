//! The tables of the axial-run kernels (`shaders/compute/axial_runs.wgsl`), in 32-bit words: what all LORs have in common, and the
//! steps and first crossings of each path, which the host finds in f64.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::ops::Range;

use rayon::prelude::*;

use crate::algebra::{FieldOfView, Shard};
use crate::geometry::Grid;
use crate::operator::{AxialPlan, InPlanePath, InPlanePaths, MemberRow, MirrorSets, Mirrored, TracedPath};
use crate::scanner::ScanGeometry;

/// Words of a LOR: its number, whether it is reversed, its first column, its strides, its paths from and up to, padding.
const MEMBER_WORDS: usize = 8;

/// Facts of all LORs. A group of planes has one slot for each plane, without room around them: shared memory is small. A crossing
/// has a mask of the lanes with a plane of the group.
pub(super) struct PlanTables {
    /// Ends, passes, groups, outputs and reversed planes.
    pub words: Vec<u32>,
    /// Crossings.
    pub records: Vec<[u32; 4]>,
    /// Declarations that precede the text of the kernels.
    pub constants: String,
    /// Numbers of passes of loops that are unrolled.
    pub counts: [(&'static str, usize); 5],
    /// Words of shared memory: of each row of threads, and of a group of them besides.
    shared_words: [usize; 2],
}

/// Planes of a group, as lanes find them in a row of its first plane.
struct Lanes {
    /// Slot of lane 0, which may lie before the first slot.
    base: i32,
    class: usize,
    /// For each register the lanes that have a plane, a bit each.
    masks: Vec<u32>,
}

/// Added to the slot of lane 0, which 16 bits hold.
const BASE_OFFSET: i32 = 1024;

/// Slots of the planes of each group, from and how many.
fn slots_of_groups(plan: &AxialPlan) -> Vec<[usize; 2]> {
    let mut num_planes = vec![0; plan.groups.len()];
    let entries = plan.outputs.iter().filter(|entry| **entry != AxialPlan::NO_ENTRY);
    entries.for_each(|entry| num_planes[(entry >> 16) as usize] += 1);
    num_planes.into_iter().scan(0, |next, num| Some([std::mem::replace(next, *next + num), num])).collect()
}

impl Lanes {
    /// The lanes of a group whose first plane is in row z = `row`.
    fn new(plan: &AxialPlan, [first, num]: [usize; 2], row: i32) -> Self {
        let classes = plan.classes as i32;
        let lane = row.div_euclid(classes) - plan.head.first_k;
        let has_plane = |place: i32| place >= lane && place < lane + num as i32 && place < plan.head.lanes;
        let mask = |register: i32| {
            let bits = (0..32).filter(|bit| has_plane(32 * register + bit)).map(|bit| 1u32 << bit);
            bits.fold(0, |mask, bit| mask | bit)
        };
        Self {
            base: first as i32 - lane,
            class: row.rem_euclid(classes) as usize,
            masks: (0..plan.registers as i32).map(mask).collect(),
        }
    }

    fn base_bits(&self) -> u32 {
        (self.base + BASE_OFFSET) as u32 & 0xffff
    }
}

impl PlanTables {
    /// Lays out a plan; `is_split` = whether an image lies in several buffers.
    pub fn new(plan: &AxialPlan, is_split: bool) -> Self {
        let (head, groups) = (&plan.head, slots_of_groups(plan));
        let mut words = ends(plan, &groups);
        let passes_at = words.len();
        let end_words = plan.classes * (1 + plan.registers);
        words.extend(plan.passes.iter().map(|pass| pass.first_end as u32));
        let groups_at = words.len();
        words.extend(plan.groups.iter().zip(&groups).flat_map(|(group, [first, _])| {
            let [weight, rise, sign] = [group.weight, group.rise_mm, group.sign].map(f32::to_bits);
            [weight, rise, sign, group.first_row as u32, *first as u32, group.pass as u32]
        }));
        let outputs_at = words.len();
        let compact = |&entry: &u32| {
            let group = (entry >> 16) as usize;
            let is_entry = entry != AxialPlan::NO_ENTRY;
            let plane = |slot: u32| slot as usize - plan.groups[group].slot as usize;
            if is_entry { entry & 0xffff_0000 | (groups[group][0] + plane(entry & 0xffff)) as u32 } else { entry }
        };
        words.extend(plan.outputs.iter().map(compact));
        let reversed_at = words.len();
        words.extend(&plan.reversed);
        let num_slots = groups.last().map_or(1, |[first, num]| (first + num).max(1));
        let records = records(plan, &groups);
        let record_vecs = record_vecs(plan);
        let unsigned = [
            ("CLASSES", plan.classes),
            ("REGISTERS", plan.registers),
            ("LANES", head.lanes as usize),
            ("NZ", head.nz as usize),
            ("NUM_PLANES", head.num_planes as usize),
            ("NUM_LAYERS", head.num_layers as usize),
            ("NUM_PASSES", head.num_passes as usize),
            ("NUM_GROUPS", head.num_groups as usize),
            ("NUM_SLOTS", num_slots),
            ("RECORD_VECS", record_vecs),
            ("MASKS_AT", 1 + plan.classes.div_ceil(2)),
            ("BASE_OFFSET", BASE_OFFSET as usize),
            ("END_WORDS", end_words),
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
        // Slots, ends and totals of each row; two words of each group; two batches of 16 steps with five words of each.
        let of_row = num_slots + head.lanes as usize * (plan.classes + 1);
        let shared_words = [of_row, 2 * plan.groups.len() + 2 * 16 * 5];
        let counts = [
            ("CLASSES", plan.classes),
            ("REGISTERS", plan.registers),
            ("COLUMN", plan.classes * plan.registers),
            ("RECORD_VECS", record_vecs),
            ("AHEAD", 8),
        ];
        Self { words, records, constants, counts, shared_words }
    }

    /// Returns the shared memory of a group of threads, bytes; `rows` = its LORs.
    pub fn shared_bytes(&self, rows: usize) -> u32 {
        let [of_row, of_group] = self.shared_words;
        4 * (rows * of_row + of_group) as u32
    }
}

/// Four-word vectors of a crossing: τ, with a sign bit if threads wait, the slots of lane 0 of each class, 16 bits each, and
/// for each class and register the lanes that have a plane.
fn record_vecs(plan: &AxialPlan) -> usize {
    (1 + plan.classes.div_ceil(2) + plan.classes * plan.registers).div_ceil(4)
}

/// Returns the crossings, with one more behind them. Threads wait before a crossing of a pass that they have met since they last
/// waited: it meets the same planes at each of its crossings, each time in other lanes.
fn records(plan: &AxialPlan, groups: &[[usize; 2]]) -> Vec<[u32; 4]> {
    let mut crossings: Vec<(f32, usize, i32)> = Vec::with_capacity(plan.records.len());
    for (number, pass) in plan.passes.iter().enumerate() {
        let tau = |i: i32| (pass.first_tau + f64::from(i) * pass.tau_step) as f32;
        crossings.extend((0..pass.num_crossings).map(|i| (tau(i), number, i)));
    }
    // The order of the plan.
    crossings.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (bases_at, masks_at) = (1, 1 + plan.classes.div_ceil(2));
    let mut met = HashSet::new();
    let record = |(tau, pass, i): (f32, usize, i32)| {
        let waits = !met.insert(pass);
        if waits {
            met.clear();
            met.insert(pass);
        }
        let mut words = vec![0u32; 4 * record_vecs(plan)];
        words[0] = tau.to_bits() | u32::from(waits) << 31;
        for (group, slots) in plan.groups.iter().zip(groups).filter(|(group, _)| group.pass as usize == pass) {
            // The row below the face: of planes that fall it is the one behind it.
            let row = if group.sign < 0.0 { group.first_row - 1 - i } else { group.first_row + i };
            let lanes = Lanes::new(plan, *slots, row);
            words[bases_at + lanes.class / 2] |= lanes.base_bits() << (16 * (lanes.class % 2));
            let masks = &mut words[masks_at + lanes.class * plan.registers..][..plan.registers];
            masks.copy_from_slice(&lanes.masks);
        }
        words
    };
    let mut words: Vec<u32> = crossings.into_iter().flat_map(record).collect();
    words.resize(words.len() + 4 * record_vecs(plan), 0);
    words.as_chunks().0.to_vec()
}

/// Returns for each pass and number of crossings the rows in which its groups end: for each group its slot of lane 0, its class
/// (bits 16 and 17), whether it falls (18) and exists (19), then its lanes.
fn ends(plan: &AxialPlan, groups: &[[usize; 2]]) -> Vec<u32> {
    let mut words = Vec::new();
    for (number, pass) in plan.passes.iter().enumerate() {
        for i in 0..=pass.num_crossings {
            let mut end = vec![0u32; plan.classes * (1 + plan.registers)];
            let members = plan.groups.iter().zip(groups).filter(|(group, _)| group.pass as usize == number);
            for ((group, slots), end) in members.zip(end.chunks_exact_mut(1 + plan.registers)) {
                let row = if group.sign < 0.0 { group.first_row - i } else { group.first_row + i };
                let lanes = Lanes::new(plan, *slots, row);
                let flags = lanes.class as u32 | u32::from(group.sign < 0.0) << 2 | 1 << 3;
                end[0] = lanes.base_bits() | flags << 16;
                end[1..].copy_from_slice(&lanes.masks);
            }
            words.extend(end);
        }
    }
    words
}

/// Sets of mirror images with their paths and steps, as many as fit one binding.
pub(super) struct SetTables {
    /// The groups of threads among all of the subset, in the order of the tables.
    pub groups: Range<usize>,
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
    /// LORs of a group of threads.
    pub rows: usize,
}

impl Scan<'_> {
    /// Returns the tables of some views, whose LORs are in sets of mirror images, the longest paths first: the shortest then fill
    /// the gaps at the end. None of them has more than `max_steps` steps, unless a single set has.
    pub fn tables(&self, views: &[usize], mirrored: &MirrorSets, max_steps: usize) -> Vec<SetTables> {
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
        let (mut from, mut num_groups) = (0, 0);
        while from < order.len() {
            let mut num_steps = 0;
            let fits = |traced: &&Vec<Traced>| {
                num_steps += traced.iter().map(|path| path.steps.len()).sum::<usize>();
                num_steps <= max_steps
            };
            let num_sets = traced[from..].iter().take_while(fits).count().max(1);
            let part = order[from..from + num_sets].iter().zip(&traced[from..from + num_sets]);
            let table = self.table(num_groups, part.map(|((_, set), paths)| (mirrored.set(*set), paths.as_slice())));
            num_groups = table.groups.end;
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
            let places = set.len().next_multiple_of(self.rows);
            let members = set.iter().map(|member| self.plan.member(member));
            for row in members.chain(std::iter::repeat(MemberRow::NONE)).take(places) {
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
        let num_groups = paths_at / (MEMBER_WORDS * self.rows);
        SetTables { groups: first..first + num_groups, words, paths_at, steps }
    }

    /// Follows a path; `None` where it crosses no column.
    fn traced(&self, path: &mut TracedPath, start: &InPlanePath, share: f32) -> Option<Traced> {
        if !path.follow(self.grid, start) {
            return None;
        }
        let (lor_mm, start_mm, length_mm) = (start.lor_mm as f32, start.start_mm as f32, start.length_mm as f32);
        // All looks at a crossing use this.
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
