//! The tables of the axial-run kernels (`kernels/axial_runs/axial_path.cuh`, `kernels/axial_runs/axial_runs.cuh`): which lane of a warp holds
//! which z, where the bins of each group of planes lie in shared memory ("slots"), and which of them a crossing touches.

pub(super) use super::launches::axial_path::{
    End as EndRow, Group as GroupRow, Member as MemberRow, Pass as PassRow, Path as PathRow, Plan as PlanHead,
    Record as RecordRow,
};
use crate::algebra::Columns;
use crate::geometry::Grid;
use crate::operator::{
    AxialTable, Family, Group, InPlanePath, Mirrored, MirroredColumns, Misfit, OperatorError, reversed_planes,
};
use crate::scanner::ScanGeometry;

/// Lanes of a warp.
const WARP: usize = 32;
/// Steps that the kernels load ahead.
const AHEAD: usize = 4;
/// Places of a class are padded to this many, so that rows begin on 32-byte sectors.
const SECTOR: usize = 8;
/// Bytes of a slot.
const SLOT_BYTES: usize = 4;
/// No entry, in the output table.
const NO_ENTRY: u32 = u32::MAX;
/// (classes, places of a class over 32) that kernels exist for.
pub(super) const VARIANTS: [(usize, usize); 5] = [(1, 1), (1, 2), (2, 1), (2, 2), (4, 1)];

impl PathRow {
    /// Makes the row of a path across columns in rows of `nx`; `max_rise_mm` = largest rise of its lines.
    pub fn new((path, share): &(InPlanePath, f32), nx: usize, max_rise_mm: f64) -> Self {
        let secant = 1f64.hypot(max_rise_mm / path.lor_mm);
        Self {
            next: path.next,
            pitch: path.pitch,
            length_mm: path.length_mm,
            start_mm: path.start_mm,
            lor_mm: path.lor_mm,
            column: [path.column % nx, path.column / nx].map(|place| place as i32),
            stride: path.stride.map(|stride| stride.signum() as i32),
            share: *share,
            rounding: (f64::from(*share) * secant * f64::from(f32::EPSILON) / 2.0) as f32,
        }
    }
}

impl MemberRow {
    /// Entry of a warp without a LOR.
    pub const NONE: Self = Self { lor: NO_ENTRY, is_reversed: 0, first: 0, strides: [0; 2] };
}

/// All tables for one scan and one grid.
pub(super) struct AxialPlan {
    pub head: PlanHead,
    pub classes: usize,
    /// Places of a class over [`WARP`], rounded up.
    pub registers: usize,
    pub passes: Vec<PassRow>,
    pub records: Vec<RecordRow>,
    pub ends: Vec<EndRow>,
    pub groups: Vec<GroupRow>,
    /// Rise of the steepest group.
    pub max_rise_mm: f64,
    /// For each layer and plane the slot and the group that it takes its value from, 16 bits each.
    pub outputs: Vec<u32>,
    /// For each plane the one that runs the other way; 0 where there is none.
    pub reversed: Vec<u32>,
}

/// A group with the pass that it belongs to and its place in the slots.
struct Placed<'a> {
    group: &'a Group,
    family: &'a Family,
    pass: usize,
    slot: usize,
}

impl AxialPlan {
    /// Makes the tables of a scan.
    ///
    /// # Errors
    /// No kernel exists for the number of z or the distance of planes in voxels.
    pub fn new(geometry: &ScanGeometry, grid: &Grid, table: &AxialTable, max_steps: usize) -> Result<Self, OperatorError> {
        let classes = table.layout.num_classes;
        let nz = grid.size[2];
        let first_k = if table.uses_row_below { -1 } else { 0 };
        let lanes = (((nz - 1) / classes + 1) as isize - first_k) as usize;
        let lanes = lanes.next_multiple_of(SECTOR);
        let registers = lanes.div_ceil(WARP);
        // Three places of 33 to 64 fit the kernel for two, and so on.
        let Some(&(_, registers)) = VARIANTS.iter().find(|(c, r)| *c == classes && *r >= registers) else {
            return Err(Misfit::NoKernel { slices: nz, step: classes }.into());
        };
        let mut placed = in_passes(table, classes);
        let num_slots = place(&mut placed, classes, lanes, first_k, registers * WARP);
        let Crossings { passes, records, ends } = crossings(&placed, classes, first_k);
        let groups: Vec<GroupRow> = placed.iter().map(group_row).collect();
        let (outputs, num_layers) = outputs(&placed, geometry.num_planes());
        let num_slots = num_slots.max(max_steps + 2 * AHEAD).next_multiple_of(4);
        let mut head = PlanHead {
            num_planes: geometry.num_planes() as i32,
            nx: grid.size[0] as i32,
            ny: grid.size[1] as i32,
            nz: nz as i32,
            lanes: lanes as i32,
            first_k: first_k as i32,
            num_passes: passes.len() as i32,
            num_records: records.len() as i32,
            num_groups: groups.len() as i32,
            num_layers: num_layers as i32,
            num_slots: num_slots as i32,
            max_steps: max_steps as i32,
            block_bytes: 0,
            warp_bytes: 0,
            max_crossings: passes.iter().map(|pass| pass.num_crossings).max().unwrap_or(0),
        };
        [head.block_bytes, head.warp_bytes] = shared_bytes(&head, classes).map(|bytes| bytes as i32);
        let most = [SLOT_BYTES * num_slots, records.len(), groups.len(), passes.len()].into_iter().max().unwrap_or(0);
        if most > usize::from(u16::MAX) {
            return Err(Misfit::LargeTable(most).into());
        }
        let max_rise_mm = f64::from(groups.iter().fold(0.0f32, |most, group| group.rise_mm.abs().max(most)));
        let reversed = reversed_planes(geometry).unwrap_or_else(|| vec![0; geometry.num_planes()]);
        Ok(Self { head, classes, registers, passes, records, ends, groups, max_rise_mm, outputs, reversed })
    }

    /// Returns a LOR as the kernels find it, as the image of the one that is prepared.
    pub fn member(&self, member: &Mirrored) -> MemberRow {
        let MirroredColumns { first, strides } = member.mirror.columns([self.head.nx as usize, self.head.ny as usize]);
        let places = self.classes as isize * self.head.lanes as isize;
        let place = |columns: isize| (columns * places) as i32;
        let is_reversed = u32::from(member.is_reversed);
        MemberRow { lor: member.lor as u32, is_reversed, first: place(first), strides: strides.map(place) }
    }

    /// Returns the shared memory of a block of `num_warps` warps.
    pub fn shared_bytes(&self, num_warps: u32) -> u32 {
        self.head.block_bytes as u32 + num_warps * self.head.warp_bytes as u32
    }

    /// Returns the order of an image.
    pub fn columns(&self) -> Columns {
        Columns { classes: self.classes, lanes: self.head.lanes as usize, first: (-self.head.first_k) as usize, tail: 0 }
    }
}

/// Shared memory of a block and of each of its warps: the sizes of `Scratch` in the kernels, in its order.
fn shared_bytes(head: &PlanHead, classes: usize) -> [usize; 2] {
    let [slots, lanes, groups, passes, records, steps] =
        [head.num_slots, head.lanes, head.num_groups, head.num_passes, head.num_records, head.max_steps].map(|n| n as usize);
    let event = if classes == 2 { 16 } else { 4 + 4 * classes };
    let block = 16 * (steps + 2 * AHEAD + 1) + event * records + 12 * groups + 8 + 2 * passes;
    let warp = SLOT_BYTES * slots + 4 * classes * lanes;
    [block, warp].map(|bytes| bytes.next_multiple_of(16))
}

/// Returns the row of a group's first plane after `i` crossings have been passed, or its G row at crossing `i`.
fn row(first: isize, group: &Group, i: usize) -> isize {
    if group.sign < 0.0 { first - i as isize } else { first + i as isize }
}

/// Gathers the groups of each family into passes: groups whose rows never lie in the same class, so that one event can
/// touch all of them at once, a class each.
fn in_passes(table: &AxialTable, classes: usize) -> Vec<Placed<'_>> {
    let mut placed: Vec<Placed<'_>> = Vec::new();
    let mut num_passes = 0;
    for family in &table.families {
        let first_pass = num_passes;
        for group in &family.groups {
            let class = |g: &Group, i: usize| row(g.first_crossing_row, g, i).rem_euclid(classes as isize);
            let meets = |other: &&Placed<'_>| (0..family.num_crossings).any(|i| class(group, i) == class(other.group, i));
            let has_room = |pass: &usize| {
                let members = || placed.iter().filter(|other| other.pass == *pass);
                members().count() < classes && !members().any(|other| meets(&other))
            };
            let pass = (first_pass..num_passes).find(has_room).unwrap_or(num_passes);
            num_passes = num_passes.max(pass + 1);
            placed.push(Placed { group, family, pass, slot: 0 });
        }
    }
    placed
}

/// Gives each group its slots, with room on both sides for the lanes whose z it has no plane for. Returns their number.
/// Groups of one pass are no neighbours, so that the room between two is touched by one of them only in an event.
fn place(placed: &mut [Placed<'_>], classes: usize, lanes: usize, first_k: isize, held: usize) -> usize {
    // A class without a group points there.
    let mut end = held;
    let mut room = 0;
    let mut by_rank: Vec<(usize, usize)> = Vec::with_capacity(placed.len());
    for (g, p) in placed.iter().enumerate() {
        by_rank.push((placed[..g].iter().filter(|other| other.pass == p.pass).count(), g));
    }
    by_rank.sort_unstable();
    for (_, g) in by_rank {
        let p = &mut placed[g];
        let rows = (0..p.family.num_crossings)
            .map(|i| row(p.group.first_crossing_row, p.group, i))
            .chain((0..=p.family.num_crossings).map(|i| row(p.group.first_row, p.group, i)));
        // The lane of the first plane.
        let lane = |row: isize| row.div_euclid(classes as isize) - first_k;
        let (least, most) = rows.map(lane).fold((isize::MAX, isize::MIN), |(l, m), lane| (l.min(lane), m.max(lane)));
        let before = most.max(0) as usize;
        let behind = (lanes as isize - least - p.group.num_planes as isize).max(0) as usize;
        p.slot = end + before.max(room);
        end = p.slot + p.group.num_planes;
        room = behind;
    }
    end + room.max(held)
}

/// The passes, their crossings and the rows in which their groups end.
struct Crossings {
    passes: Vec<PassRow>,
    records: Vec<RecordRow>,
    ends: Vec<EndRow>,
}

/// For each crossing, and for each number of crossings passed, the slots that lane 0 of each class touches.
fn crossings(placed: &[Placed<'_>], classes: usize, first_k: isize) -> Crossings {
    let num_passes = placed.iter().map(|p| p.pass + 1).max().unwrap_or(0);
    let mut all = Crossings { passes: Vec::new(), records: Vec::new(), ends: Vec::new() };
    // The class of a row, and the address of lane 0 in it: that of the group's first plane less its lane.
    let address = |p: &Placed<'_>, row: isize| {
        let class = row.rem_euclid(classes as isize) as usize;
        let base = p.slot as isize - row.div_euclid(classes as isize) + first_k;
        (class, (SLOT_BYTES as isize * base) as u32)
    };
    let put = |bases: &mut [u32; 2], (class, base): (usize, u32)| bases[class / 2] |= base << (16 * (class % 2));
    for pass in 0..num_passes {
        let members = || placed.iter().filter(|p| p.pass == pass);
        let Some(family) = members().next().map(|p| p.family) else { continue };
        all.passes.push(PassRow {
            first_tau: family.first_tau,
            tau_step: family.tau_step,
            num_crossings: family.num_crossings as i32,
            first_end: all.ends.len() as i32,
        });
        for i in 0..family.num_crossings {
            let mut bases = [0; 2];
            members().for_each(|p| put(&mut bases, address(p, row(p.group.first_crossing_row, p.group, i))));
            let tau = (family.first_tau + i as f64 * family.tau_step) as f32;
            all.records.push(RecordRow { tau, bases });
        }
        for i in 0..=family.num_crossings {
            let mut end = EndRow::default();
            for (m, p) in members().enumerate() {
                let (class, base) = address(p, row(p.group.first_row, p.group, i));
                put(&mut end.bases, (m, base));
                end.flags |= (class as u32 | u32::from(p.group.sign < 0.0) << 2 | 1 << 3) << (4 * m);
            }
            all.ends.push(end);
        }
    }
    // The order in which every LOR meets them.
    all.records.sort_by(|a, b| a.tau.total_cmp(&b.tau));
    all
}

fn group_row(placed: &Placed<'_>) -> GroupRow {
    let group = placed.group;
    GroupRow {
        weight: group.weight,
        rise_mm: group.rise_mm as f32,
        sign: group.sign,
        first_row: group.first_row as i32,
        slot: placed.slot as i32,
        pass: placed.pass as i32,
    }
}

/// Returns the output table and its number of layers: as many as the plane with the most groups has.
fn outputs(placed: &[Placed<'_>], num_planes: usize) -> (Vec<u32>, usize) {
    let mut of_plane: Vec<Vec<u32>> = vec![Vec::new(); num_planes];
    for (g, p) in placed.iter().enumerate() {
        for k in 0..p.group.num_planes {
            of_plane[p.group.first_plane + k * p.group.plane_step].push((g as u32) << 16 | (p.slot + k) as u32);
        }
    }
    let num_layers = of_plane.iter().map(Vec::len).max().unwrap_or(0);
    let entry = |layer: usize, plane: usize| of_plane[plane].get(layer).copied().unwrap_or(NO_ENTRY);
    let outputs = (0..num_layers).flat_map(|layer| (0..num_planes).map(move |plane| (layer, plane)));
    (outputs.map(|(layer, plane)| entry(layer, plane)).collect(), num_layers)
}

#[cfg(test)]
mod tests;
