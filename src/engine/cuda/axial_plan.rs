//! The plan of axial runs ([`AxialPlan`]) as the kernels read it (`kernels/axial_runs/axial_path.cuh`): rows in their layout, the
//! kernel that fits, and the shared memory of a block.

use std::f64::consts::FRAC_1_SQRT_2;

pub(super) use super::launches::axial_path::{End, Group, Member, Pass, Path, Plan, Record};
pub(super) use super::launches::tof_path::Tof;
use crate::operator::{AxialPlan, EndRow, GroupRow, InPlanePath, MemberRow, PassRow, PlanHead, RecordRow, TofRuns};

/// Steps that the kernels load ahead.
const AHEAD: usize = 4;
/// Bins of time of flight that are open at once (`SLOT_VALUES`).
const OPEN_BINS: usize = 4;
/// (classes, registers) that kernels exist for.
const VARIANTS: [(usize, usize); 5] = [(1, 1), (1, 2), (2, 1), (2, 2), (4, 1)];

/// Returns the registers of the kernel for these classes that has at least as many.
pub(super) fn registers(classes: usize, min_registers: usize) -> Option<usize> {
    // Three places of 33 to 64 fit the kernel for two, and so on.
    let fits = |&(c, registers): &(usize, usize)| c == classes && registers >= min_registers;
    VARIANTS.into_iter().find(fits).map(|(_, registers)| registers)
}

impl Plan {
    /// Makes the head of a plan. The kernels place the beginnings of a path's steps in the slots, which are at least as many. With
    /// time of flight lane k reads slot k where it has no plane.
    pub fn new(plan: &AxialPlan) -> Self {
        let PlanHead { num_planes, nx, ny, nz, lanes, first_k, .. } = plan.head;
        let PlanHead { num_passes, num_records, num_groups, num_layers, num_slots, max_steps, max_crossings, .. } = plan.head;
        let num_slots = (num_slots as usize).max(max_steps as usize + 2 * AHEAD).max(AxialPlan::WARP);
        let num_slots = num_slots.next_multiple_of(4) as i32;
        let mut head = Self {
            num_planes,
            nx,
            ny,
            nz,
            lanes,
            first_k,
            num_passes,
            num_records,
            num_groups,
            num_layers,
            num_slots,
            max_steps,
            block_bytes: 0,
            warp_bytes: 0,
            max_crossings,
        };
        [head.block_bytes, head.warp_bytes] = shared_bytes(&head, plan.classes).map(|bytes| bytes as i32);
        head
    }

    /// Makes room for time of flight. Returns its figures for the kernels.
    pub fn with_tof(&mut self, plan: &AxialPlan, tof: &TofRuns) -> Tof {
        let [groups, passes] = [plan.groups.len(), plan.passes.len()];
        let steps = self.max_steps as usize + 2 * AHEAD;
        let (slots, places) = (self.num_slots as usize, plan.classes * self.lanes as usize);
        // Slots and ends of all open bins; then, for this alone, the groups' ends and the bins' bounds.
        let warp_bytes = (4 * (OPEN_BINS * slots + 2 * places)).next_multiple_of(16);
        let more = 4 * (groups + tof.bins.num);
        // An event of time of flight is longer: 8 bytes for itself and 8 for each class, in place of 16 or 4 and 4 for each.
        let longer = (8 + 8 * plan.classes) - event_bytes(plan.classes);
        let block_bytes = (self.block_bytes as usize + longer * plan.records.len()).next_multiple_of(16);
        self.block_bytes = (block_bytes + (16 + 16 + 4) * steps + 4 * (groups + passes)).next_multiple_of(16) as i32;
        self.warp_bytes = (warp_bytes + more).next_multiple_of(16) as i32;
        let reach = tof.kernel.reach_mm([0.0; 2])[1] / tof.kernel.sigma_mm();
        Tof {
            per_sigma: 1.0 / tof.kernel.sigma_mm(),
            reach,
            half_inverse: 0.5 / libm::erf(reach * FRAC_1_SQRT_2),
            width_mm: tof.bins.width_mm,
            max_rise_mm: tof.max_rise_mm() as f32,
            num_bins: tof.bins.num as i32,
            interleave: tof.interleave(OPEN_BINS) as i32,
            has_steepness: i32::from(tof.num_nodes() > 1),
            block_bytes: block_bytes as i32,
            warp_bytes: warp_bytes as i32,
        }
    }

    /// Returns the shared memory of a block of `num_warps` warps.
    pub fn shared_bytes(&self, num_warps: u32) -> u32 {
        self.block_bytes as u32 + num_warps * self.warp_bytes as u32
    }
}

/// Bytes of an event.
fn event_bytes(classes: usize) -> usize {
    if classes == 2 { 16 } else { 4 + 4 * classes }
}

/// Shared memory of a block and of each of its warps: the sizes of `Scratch` in the kernels, in its order.
fn shared_bytes(head: &Plan, classes: usize) -> [usize; 2] {
    let [slots, lanes, groups, passes, records, steps] =
        [head.num_slots, head.lanes, head.num_groups, head.num_passes, head.num_records, head.max_steps].map(|n| n as usize);
    let block = 16 * (steps + 2 * AHEAD + 1) + event_bytes(classes) * records + 12 * groups + 8 + 2 * passes;
    let warp = AxialPlan::SLOT_BYTES * slots + 4 * classes * lanes;
    [block, warp].map(|bytes| bytes.next_multiple_of(16))
}

impl Path {
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

/// Returns rows in the layout of the kernels.
pub(super) fn rows<R: Copy, T: From<R>>(rows: &[R]) -> Vec<T> {
    rows.iter().copied().map(T::from).collect()
}

impl From<PassRow> for Pass {
    fn from(row: PassRow) -> Self {
        let PassRow { first_tau, tau_step, num_crossings, first_end } = row;
        Self { first_tau, tau_step, num_crossings, first_end }
    }
}

impl From<RecordRow> for Record {
    fn from(row: RecordRow) -> Self {
        let RecordRow { tau, bases } = row;
        Self { tau, bases }
    }
}

impl From<EndRow> for End {
    fn from(row: EndRow) -> Self {
        let EndRow { bases, flags } = row;
        Self { bases, flags }
    }
}

impl From<GroupRow> for Group {
    fn from(row: GroupRow) -> Self {
        let GroupRow { weight, rise_mm, sign, first_row, slot, pass } = row;
        Self { weight, rise_mm, sign, first_row, slot, pass }
    }
}

impl From<MemberRow> for Member {
    fn from(row: MemberRow) -> Self {
        let MemberRow { lor, is_reversed, first, strides } = row;
        Self { lor, is_reversed, first, strides }
    }
}
