//! The tables with which a GPU walks axial runs: which lane holds which z, where the bins of each group of planes lie in memory
//! that the lanes share ("slots"), and which of them a crossing touches.
//!
//! A row of lanes walks one LOR. Lane k has the places k, k + [`AxialPlan::WARP`], … of each class of an image column. At a
//! crossing it adds its G of a class to one slot: that of its plane, or a slot of the room between the groups. A kernel
//! therefore needs one address for each class and crossing, that of lane 0.

use super::table::{AxialTable, Family, Group};
use crate::algebra::Columns;
use crate::geometry::Grid;
use crate::operator::{Mirrored, MirroredColumns, Misfit, OperatorError, reversed_planes};
use crate::scanner::ScanGeometry;

/// Places of a class are padded to this many, so that rows begin on 32-byte sectors.
const SECTOR: usize = 8;
/// Classes that the addresses of a row have room for.
const MAX_CLASSES: usize = 4;
/// Slots are padded to this many, 16 bytes.
const SLOT_STEP: usize = 4;

/// Figures that all LORs of a scan have in common.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PlanHead {
    /// Number of planes of the scan.
    pub num_planes: i32,
    /// Voxels along x.
    pub nx: i32,
    /// Voxels along y.
    pub ny: i32,
    /// Voxels along z.
    pub nz: i32,
    /// Places of a class in an image column, a multiple of 8.
    pub lanes: i32,
    /// Position k of the first place: z = k · classes + class; 0 or −1.
    pub first_k: i32,
    /// Length of [`AxialPlan::passes`].
    pub num_passes: i32,
    /// Length of [`AxialPlan::records`].
    pub num_records: i32,
    /// Length of [`AxialPlan::groups`].
    pub num_groups: i32,
    /// Layers of [`AxialPlan::outputs`].
    pub num_layers: i32,
    /// Slots of a row of lanes, a multiple of 4.
    pub num_slots: i32,
    /// Upper limit of the steps of a path.
    pub max_steps: i32,
    /// Crossings of the pass with most.
    pub max_crossings: i32,
}

/// Groups that cross faces at the same τ, and whose rows never lie in the same class. At most one for each class.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PassRow {
    /// τ of the first crossing, as a fraction of the LOR.
    pub first_tau: f64,
    /// From each crossing to the next one (0 without a crossing).
    pub tau_step: f64,
    /// Number of crossings.
    pub num_crossings: i32,
    /// Index in [`AxialPlan::ends`] of the pass's end after 0 crossings; that after i crossings follows i further on.
    pub first_end: i32,
}

/// One crossing of a pass.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RecordRow {
    /// τ of the crossing, as a fraction of the LOR.
    pub tau: f32,
    /// For each class the address of lane 0 in the slots, in bytes, 16 bits each: the classes 0 and 2 in the lower halves. A class
    /// without a group has the address 0, whose slots belong to no plane.
    pub bases: [u32; 2],
}

/// Rows in which the groups of a pass end after a number of crossings.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct EndRow {
    /// For each group of the pass the address of lane 0 in the slots, as in [`RecordRow::bases`].
    pub bases: [u32; 2],
    /// For each group of the pass four bits: the class of the row (bits 0 and 1), 4 where z falls along the LOR, 8 if the group
    /// exists.
    pub flags: u32,
}

/// Planes of one segment, a whole number of classes apart.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct GroupRow {
    /// Share of the bin's value.
    pub weight: f32,
    /// z at the LOR's end less z at its start, mm.
    pub rise_mm: f32,
    /// −1 where z falls along the LOR, +1 where it rises.
    pub sign: f32,
    /// z of the first plane before any crossing; each crossing adds `sign`.
    pub first_row: i32,
    /// Slot of the first plane; the others follow.
    pub slot: i32,
    /// Index of its pass.
    pub pass: i32,
}

/// Lanes with planes of a record or an end: for each class, or each group of a pass, the first (lower 8 bits) and their number
/// (upper 8 bits), packed as [`RecordRow::bases`].
pub type Spans = [u32; 2];

/// A LOR as the mirror image of the one whose path is prepared: column (x, y) has its image at the place
/// `first` + x `strides[0]` + y `strides[1]` of an image array.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MemberRow {
    /// Number of the LOR in the data; `u32::MAX` in [`Self::NONE`].
    pub lor: u32,
    /// 1 if the image runs from this LOR's end to its start, else 0.
    pub is_reversed: u32,
    /// Place of the image of column (0, 0).
    pub first: i32,
    /// Places between the images of columns that are neighbours along x, and along y.
    pub strides: [i32; 2],
}

impl MemberRow {
    /// Entry of a row of lanes without a LOR.
    pub const NONE: Self = Self { lor: AxialPlan::NO_ENTRY, is_reversed: 0, first: 0, strides: [0; 2] };
}

/// Where the bins of the groups lie in memory that lanes share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slots {
    /// With room between the groups for lanes that have none of their planes.
    Roomy,
    /// One behind the other: only lanes with a plane may touch them.
    Dense,
}

/// All tables for one scan and one grid.
#[derive(Clone, Debug)]
pub struct AxialPlan {
    /// Figures of all LORs.
    pub head: PlanHead,
    /// Distance in voxels between neighbouring planes of a group.
    pub classes: usize,
    /// Places of a class that each of [`Self::WARP`] lanes has.
    pub registers: usize,
    /// The passes.
    pub passes: Vec<PassRow>,
    /// The crossings of all passes by τ, the order in which every LOR meets them.
    pub records: Vec<RecordRow>,
    /// For each record its pass.
    pub record_passes: Vec<u32>,
    /// For each record its lanes.
    pub record_spans: Vec<Spans>,
    /// The ends of all passes.
    pub ends: Vec<EndRow>,
    /// For each end its lanes.
    pub end_spans: Vec<Spans>,
    /// The groups, family by family.
    pub groups: Vec<GroupRow>,
    /// Rise of the steepest group.
    pub max_rise_mm: f64,
    /// `[layer][plane]`: slot (lower 16 bits) and group (upper 16 bits) of a summand of the plane's bin; [`Self::NO_ENTRY`] if
    /// the plane has fewer.
    pub outputs: Vec<u32>,
    /// For each plane the one that runs the other way; 0 in a scan without such planes.
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
    /// Lanes that walk a LOR together.
    pub const WARP: usize = 32;
    /// Bytes of a slot, an f32.
    pub const SLOT_BYTES: usize = 4;
    /// No LOR, no summand.
    pub const NO_ENTRY: u32 = u32::MAX;

    /// Makes the tables of a scan; `max_steps` = upper limit of the steps of a path. `registers` returns, for a number of classes
    /// and the smallest number of registers, the number that a kernel has.
    ///
    /// # Errors
    /// `registers` returns none, or planes are more than 4 voxels apart; a table is too large for addresses of 16 bits.
    pub fn new(
        geometry: &ScanGeometry,
        grid: &Grid,
        table: &AxialTable,
        max_steps: usize,
        registers: impl FnOnce(usize, usize) -> Option<usize>,
    ) -> Result<Self, OperatorError> {
        Self::with_slots(geometry, grid, table, max_steps, registers, Slots::Roomy)
    }

    /// Does the same with slots as given.
    ///
    /// # Errors
    /// Those of [`AxialPlan::new`].
    pub fn with_slots(
        geometry: &ScanGeometry,
        grid: &Grid,
        table: &AxialTable,
        max_steps: usize,
        registers: impl FnOnce(usize, usize) -> Option<usize>,
        slots: Slots,
    ) -> Result<Self, OperatorError> {
        let classes = table.layout.num_classes;
        let nz = grid.size[2];
        let first_k = if table.uses_row_below { -1 } else { 0 };
        let lanes = (((nz - 1) / classes + 1) as isize - first_k) as usize;
        let lanes = lanes.next_multiple_of(SECTOR);
        let registers = if classes <= MAX_CLASSES { registers(classes, lanes.div_ceil(Self::WARP)) } else { None };
        let registers = registers.ok_or(Misfit::NoKernel { slices: nz, step: classes })?;
        let mut placed = in_passes(table, classes);
        let num_slots = match slots {
            Slots::Roomy => place(&mut placed, classes, lanes, first_k, registers * Self::WARP),
            Slots::Dense => place_densely(&mut placed),
        };
        let num_slots = num_slots.next_multiple_of(SLOT_STEP);
        let Crossings { passes, records, record_passes, record_spans, ends, end_spans } =
            crossings(&placed, classes, first_k, lanes);
        let groups: Vec<GroupRow> = placed.iter().map(group_row).collect();
        let (outputs, num_layers) = outputs(&placed, geometry.num_planes());
        let head = PlanHead {
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
            max_crossings: passes.iter().map(|pass| pass.num_crossings).max().unwrap_or(0),
        };
        let max_len = [Self::SLOT_BYTES * num_slots, records.len(), groups.len(), passes.len()].into_iter().max().unwrap_or(0);
        if max_len > usize::from(u16::MAX) {
            return Err(Misfit::LargeTable(max_len).into());
        }
        let max_rise_mm = f64::from(groups.iter().fold(0.0f32, |max, group| group.rise_mm.abs().max(max)));
        let reversed = reversed_planes(geometry).unwrap_or_else(|| vec![0; geometry.num_planes()]);
        Ok(Self {
            head,
            classes,
            registers,
            passes,
            records,
            record_passes,
            record_spans,
            ends,
            end_spans,
            groups,
            max_rise_mm,
            outputs,
            reversed,
        })
    }

    /// Returns, for each record and behind the last, how many records of each pass come before: `[record][pass]`.
    pub fn ranks(&self) -> Vec<u16> {
        let mut ranks = Vec::with_capacity((self.records.len() + 1) * self.passes.len());
        let mut passed = vec![0u16; self.passes.len()];
        for &pass in &self.record_passes {
            ranks.extend_from_slice(&passed);
            passed[pass as usize] += 1;
        }
        ranks.extend_from_slice(&passed);
        ranks
    }

    /// Returns, for each record, by how much its lines rise or fall, mm.
    pub fn record_rises_mm(&self) -> Vec<f32> {
        let mut of_passes = vec![0.0; self.passes.len()];
        self.groups.iter().for_each(|group| of_passes[group.pass as usize] = group.rise_mm.abs());
        self.record_passes.iter().map(|&pass| of_passes[pass as usize]).collect()
    }

    /// Returns a LOR as the kernels find it, as the image of the one that is prepared.
    pub fn member(&self, member: &Mirrored) -> MemberRow {
        let MirroredColumns { first, strides } = member.mirror.columns([self.head.nx as usize, self.head.ny as usize]);
        let places = self.classes as isize * self.head.lanes as isize;
        let place = |columns: isize| (columns * places) as i32;
        let is_reversed = u32::from(member.is_reversed);
        MemberRow { lor: member.lor as u32, is_reversed, first: place(first), strides: strides.map(place) }
    }

    /// Returns the order of an image.
    pub fn columns(&self) -> Columns {
        Columns { classes: self.classes, lanes: self.head.lanes as usize, first: (-self.head.first_k) as usize, tail: 0 }
    }
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
        let (min, max) = rows.map(lane).fold((isize::MAX, isize::MIN), |(min, max), lane| (min.min(lane), max.max(lane)));
        let before = max.max(0) as usize;
        let behind = (lanes as isize - min - p.group.num_planes as isize).max(0) as usize;
        p.slot = end + before.max(room);
        end = p.slot + p.group.num_planes;
        room = behind;
    }
    end + room.max(held)
}

/// Gives each group its slots, one behind the other. Returns their number. Only lanes with a plane may touch them ([`Spans`]).
fn place_densely(placed: &mut [Placed<'_>]) -> usize {
    placed.iter_mut().fold(0, |end, p| {
        p.slot = end;
        end + p.group.num_planes
    })
}

/// The passes, their crossings and the rows in which their groups end.
struct Crossings {
    passes: Vec<PassRow>,
    records: Vec<RecordRow>,
    record_passes: Vec<u32>,
    record_spans: Vec<Spans>,
    ends: Vec<EndRow>,
    end_spans: Vec<Spans>,
}

/// For each crossing, and for each number of crossings passed, the slots that lane 0 of each class touches.
fn crossings(placed: &[Placed<'_>], classes: usize, first_k: isize, lanes: usize) -> Crossings {
    let num_passes = placed.iter().map(|p| p.pass + 1).max().unwrap_or(0);
    let (mut passes, mut ends) = (Vec::new(), Vec::new());
    let mut records: Vec<(RecordRow, u32, Spans)> = Vec::new();
    // The class of a row, and the address of lane 0 in it: that of the group's first plane less its lane. (In dense slots it may lie
    // before the first.)
    let address = |p: &Placed<'_>, row: isize| {
        let class = row.rem_euclid(classes as isize) as usize;
        let base = p.slot as isize - row.div_euclid(classes as isize) + first_k;
        (class, u32::from((AxialPlan::SLOT_BYTES as isize * base) as u16))
    };
    let span = |p: &Placed<'_>, row: isize| {
        let first = row.div_euclid(classes as isize) - first_k;
        let [from, to] = [first, first + p.group.num_planes as isize].map(|lane| lane.clamp(0, lanes as isize) as u32);
        from | (to - from) << 8
    };
    let put = |halves: &mut [u32; 2], at: usize, value: u32| halves[at / 2] |= value << (16 * (at % 2));
    for pass in 0..num_passes {
        let members = || placed.iter().filter(|p| p.pass == pass);
        let Some(family) = members().next().map(|p| p.family) else { continue };
        passes.push(PassRow {
            first_tau: family.first_tau,
            tau_step: family.tau_step,
            num_crossings: family.num_crossings as i32,
            first_end: ends.len() as i32,
        });
        for i in 0..family.num_crossings {
            let (mut bases, mut spans) = ([0; 2], [0; 2]);
            for p in members() {
                let row = row(p.group.first_crossing_row, p.group, i);
                let (class, base) = address(p, row);
                put(&mut bases, class, base);
                put(&mut spans, class, span(p, row));
            }
            let tau = (family.first_tau + i as f64 * family.tau_step) as f32;
            records.push((RecordRow { tau, bases }, pass as u32, spans));
        }
        for i in 0..=family.num_crossings {
            let (mut end, mut spans) = (EndRow::default(), [0; 2]);
            for (m, p) in members().enumerate() {
                let row = row(p.group.first_row, p.group, i);
                let (class, base) = address(p, row);
                put(&mut end.bases, m, base);
                put(&mut spans, m, span(p, row));
                end.flags |= (class as u32 | u32::from(p.group.sign < 0.0) << 2 | 1 << 3) << (4 * m);
            }
            ends.push((end, spans));
        }
    }
    // The order in which every LOR meets them.
    records.sort_by(|(a, ..), (b, ..)| a.tau.total_cmp(&b.tau));
    let (ends, end_spans) = ends.into_iter().unzip();
    Crossings {
        passes,
        records: records.iter().map(|(record, ..)| *record).collect(),
        record_passes: records.iter().map(|(_, pass, _)| *pass).collect(),
        record_spans: records.iter().map(|(.., spans)| *spans).collect(),
        ends,
        end_spans,
    }
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
    let entry = |layer: usize, plane: usize| of_plane[plane].get(layer).copied().unwrap_or(AxialPlan::NO_ENTRY);
    let outputs = (0..num_layers).flat_map(|layer| (0..num_planes).map(move |plane| (layer, plane)));
    (outputs.map(|(layer, plane)| entry(layer, plane)).collect(), num_layers)
}

#[cfg(test)]
mod tests;
