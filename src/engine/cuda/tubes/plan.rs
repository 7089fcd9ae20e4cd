//! The tables of the kernels of tubes of response (`kernels/tubes/tubes.cu`), from those of the CPU.

pub(in crate::cuda) use crate::cuda::launches::tubes::{Group as GroupRow, Line as LineRow, Plan as PlanHead, Slot as SlotRow};
use crate::geometry::Grid;
use crate::operator::{MAX_AXIAL, Misfit, OperatorError, TAPS, TubeTable};
use crate::scanner::ScanGeometry;

/// Samples of a tube across that the kernels take.
const ACROSS: usize = MAX_AXIAL;
/// Rings that the lanes of a warp hold, and slices of one parity.
const MAX_RINGS: usize = 32;
/// Planes up to which two rows of a group share a warp.
const FEW_PLANES: usize = 16;
/// Zeros before and behind every group of bins in shared memory.
const ROOM: usize = 7;
/// |tangential indices| of a block of `project`.
pub(in crate::cuda) const RADIALS: usize = 2;
/// Warps of a block of `project`.
pub(in crate::cuda) const PROJECT_WARPS: usize = 11;
/// Dynamic shared memory of a block of `project` and of `spread`, as the kernels divide it up.
pub(in crate::cuda) const PROJECT_SHARED_BYTES: u32 = 44_416;
pub(in crate::cuda) const SPREAD_SHARED_BYTES: u32 = 92_192;
/// Lines of a warp.
pub(in crate::cuda) const LINES: usize = 4;
/// Values of an image column: even and odd slices.
pub(in crate::cuda) const COLUMN: usize = 2 * MAX_RINGS;

impl SlotRow {
    pub(in crate::cuda) const NONE: Self = Self { groups: [-1; 2], are_mirrored: [0; 2], difference: 0, is_small: 0 };
}

/// Everything that does not depend on the view.
pub(in crate::cuda) struct TubesPlan {
    pub head: PlanHead,
    pub groups: Vec<GroupRow>,
    /// `[part][warp]`
    pub slots: Vec<SlotRow>,
    /// The ring differences of each part, −1 behind the last.
    pub differences: Vec<i32>,
    /// `[radial][row][difference][across][parity][tap]`
    pub weights: Vec<f32>,
    /// `[group][row]`
    pub windows: Vec<i32>,
    /// For each |tangential index| the rows that its tubes see, from and up to.
    pub rows: Vec<[i32; 2]>,
    /// For each plane its place among the bins in shared memory.
    pub places: Vec<i32>,
    /// For each row how many |tangential indices| see it.
    pub num_seen: Vec<i32>,
    /// The rows that most see first.
    pub row_order: Vec<i32>,
}

impl TubesPlan {
    /// Makes the plan of some tubes.
    ///
    /// # Errors
    /// More rings, slices or samples across than the kernels take; lines of a view that are not equally long.
    pub fn new(geometry: &ScanGeometry, grid: &Grid, spacing_mm: [f64; 3], table: &TubeTable) -> Result<Self, OperatorError> {
        if geometry.num_rings > MAX_RINGS || grid.size[2] > COLUMN || table.num_across > ACROSS {
            return Err(Misfit::LargeTubes { rings: MAX_RINGS, across: ACROSS, slices: COLUMN }.into());
        }
        let windows = windows(table).ok_or(Misfit::UnequalLines)?;
        let groups: Vec<GroupRow> = table
            .groups
            .iter()
            .map(|group| GroupRow {
                first_plane: group.first_plane as i32,
                num_planes: group.num_planes as i32,
                difference: group.ring_difference as i32,
                is_mirrored: i32::from(group.is_mirrored),
            })
            .collect();
        let num_tiles = table.num_radial.div_ceil(RADIALS);
        let no_rows = |radial| if radial < table.num_radial { table.rows(radial) } else { 0..0 };
        let rows: Vec<[i32; 2]> =
            (0..num_tiles * RADIALS).map(no_rows).map(|rows| [rows.start as i32, rows.end as i32]).collect();
        let sees = |row: usize| (0..table.num_radial).filter(|&radial| table.rows(radial).contains(&row)).count();
        let num_seen: Vec<i32> = (0..table.num_along).map(|row| sees(row) as i32).collect();
        let mut row_order: Vec<i32> = (0..table.num_along as i32).collect();
        row_order.sort_by_key(|&row| -num_seen[row as usize]);
        let mut places = vec![0; geometry.num_planes()];
        let mut at = ROOM;
        for group in &table.groups {
            (0..group.num_planes).for_each(|p| places[group.first_plane + p] = (at + p) as i32);
            at += group.num_planes + ROOM;
        }
        let (slots, differences) = parts(&slots(&groups));
        let [nx, ny, nz] = grid.size.map(|n| n as i32);
        let [axis_x, axis_y] = [0, 1].map(|a| (-grid.origin_mm[a] / grid.voxel_mm[a]) as f32);
        Ok(Self {
            head: PlanHead {
                num_radial: table.num_radial as i32,
                num_rows: table.num_along as i32,
                num_differences: table.num_differences as i32,
                num_groups: groups.len() as i32,
                num_columns: (num_tiles * RADIALS + ACROSS - 1) as i32,
                num_tangential: geometry.num_tangential as i32,
                num_planes: geometry.num_planes() as i32,
                nx,
                ny,
                nz,
                axis_x,
                axis_y,
                along_mm: spacing_mm[0] as f32,
                across_mm: spacing_mm[1] as f32,
                radius_mm: table.radius_mm as f32,
            },
            groups,
            slots,
            differences,
            weights: weights(table, num_tiles * RADIALS),
            windows,
            rows,
            places,
            num_seen,
            row_order,
        })
    }

    /// Blocks of `project` that share the groups of some lines and tangential indices.
    pub fn num_parts(&self) -> usize {
        self.slots.len() / PROJECT_WARPS
    }

    /// Blocks of `project` that share the tangential indices.
    pub fn num_tiles(&self) -> usize {
        self.rows.len() / RADIALS
    }

    /// Returns a bound of the elements of the matrix: the largest weight, from each of the samples about a voxel that `collect`
    /// interpolates to it. A bin is on one of the two lines of its view, or with half its weight on both.
    pub fn largest_element(&self, grid: &Grid) -> f64 {
        let side_mm = grid.voxel_mm[0].max(grid.voxel_mm[1]);
        let num_about = |spacing_mm: f32| 1.0 + 2.0 * std::f64::consts::SQRT_2 * side_mm / f64::from(spacing_mm);
        let largest = self.weights.iter().fold(0.0_f32, |largest, weight| largest.max(weight.abs()));
        2.0 * num_about(self.head.along_mm) * num_about(self.head.across_mm) * f64::from(largest)
    }

    /// Cells of a line.
    pub fn cells_of_line(&self) -> usize {
        self.head.num_rows as usize * self.head.num_columns as usize * COLUMN
    }
}

impl LineRow {
    /// Makes the lattice of the lines of a view whose tangential indices are positive, or negative.
    pub fn new(grid: &Grid, spacing_mm: [f64; 3], phi_rad: f64, is_negative: bool) -> Self {
        let (sin, cos) = phi_rad.sin_cos();
        let [dx, dy, _] = grid.voxel_mm;
        let (along, across) = (spacing_mm[0], if is_negative { -spacing_mm[1] } else { spacing_mm[1] });
        Self {
            column_x: (across * cos / dx) as f32,
            column_y: (across * sin / dy) as f32,
            row_x: (along * sin / dx) as f32,
            row_y: (-along * cos / dy) as f32,
            x_column: (dx * cos / across) as f32,
            y_column: (dy * sin / across) as f32,
            x_row: (dx * sin / along) as f32,
            y_row: (-dy * cos / along) as f32,
        }
    }
}

/// Returns the windows of all groups and rows, if they are the same for all |tangential indices|.
fn windows(table: &TubeTable) -> Option<Vec<i32>> {
    let rows = 0..table.num_along;
    let of = |radial: usize| (0..table.groups.len()).flat_map(move |group| table.windows(radial, group, &(0..table.num_along)));
    if (1..table.num_radial).any(|radial| !of(radial).eq(of(0))) {
        return None;
    }
    debug_assert_eq!(of(0).count(), rows.len() * table.groups.len());
    let code = |place: u32| {
        let (class, lane) = table.class_and_lane(place);
        (2 * lane as i32 + class as i32) as u16
    };
    Some(of(0).map(|&[even, odd]| (u32::from(code(even)) | u32::from(code(odd)) << 16) as i32).collect())
}

/// Returns the weights for the kernels: with as many samples across as they take, and tubes of zeros up to `num_radial`.
fn weights(table: &TubeTable, num_radial: usize) -> Vec<f32> {
    let each = ACROSS * TAPS;
    let missing = (ACROSS - table.num_across) / 2 * TAPS;
    let mut weights = vec![0.0; num_radial * table.num_along * table.num_differences * each];
    for (number, weights) in
        weights.chunks_exact_mut(each).enumerate().take(table.num_radial * table.num_along * table.num_differences)
    {
        let (row, difference) = (number / table.num_differences, number % table.num_differences);
        let (radial, row) = (row / table.num_along, row % table.num_along);
        let of_table = table.weights(radial, difference, &(row..row + 1));
        let samples = weights[missing..].chunks_exact_mut(TAPS).zip(of_table.chunks_exact(TAPS));
        for (sample, of_table) in samples {
            (0..TAPS).for_each(|tap| sample[tap % 2 * (TAPS / 2) + tap / 2] = of_table[tap]);
        }
    }
    weights
}

/// Distributes groups among warps: one for each group of many planes, one for both groups of a ring difference with few.
fn slots(groups: &[GroupRow]) -> Vec<SlotRow> {
    let mut slots: Vec<SlotRow> = Vec::new();
    for (number, group) in groups.iter().enumerate() {
        let is_small = group.num_planes as usize <= FEW_PLANES;
        let partner = slots.iter_mut().find(|slot| is_small && slot.difference == group.difference);
        match partner {
            Some(slot) => (slot.groups[1], slot.are_mirrored[1]) = (number as i32, group.is_mirrored),
            None => slots.push(SlotRow {
                groups: [number as i32, -1],
                are_mirrored: [group.is_mirrored, 0],
                difference: group.difference,
                is_small: i32::from(is_small),
            }),
        }
    }
    slots
}

/// Slots in parts for a block each, with the ring differences of each part; a slot's difference is then one of these. Slots of
/// one difference stay together, so that its weights are needed once.
fn parts(slots: &[SlotRow]) -> (Vec<SlotRow>, Vec<i32>) {
    let mut slots = slots.to_vec();
    slots.sort_by_key(|slot| slot.difference);
    let num_parts = slots.len().div_ceil(PROJECT_WARPS).max(1);
    let per_part = slots.len().div_ceil(num_parts).max(1);
    let (mut all, mut differences) = (Vec::new(), Vec::new());
    for (part, slots) in slots.chunks(per_part).enumerate() {
        let first = differences.len();
        for slot in slots {
            if differences[first..].last() != Some(&slot.difference) {
                differences.push(slot.difference);
            }
            all.push(SlotRow { difference: (differences.len() - first - 1) as i32, ..*slot });
        }
        all.resize((part + 1) * PROJECT_WARPS, SlotRow::NONE);
        differences.resize((part + 1) * PROJECT_WARPS, -1);
    }
    (all, differences)
}
