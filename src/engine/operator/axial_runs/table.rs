//! The axial half of the projector: where along a LOR each plane changes its z row, and how rows lie in memory.
//!
//! A LOR that rises from v_a to v_b (voxel coordinates in z, voxel i spanning i … i + 1) crosses the faces h between them
//! at τ_h = (v_a − h)/(v_a − v_b), a fraction of the LOR's length that does not depend on its transaxial position.
//! Planes of a segment whose distance is a whole number of voxels cross at the same τ, in rows a fixed distance apart:
//! they form a [`Group`]. Groups with the same τ (a segment and its mirror image) form a [`Family`].

use crate::algebra::Columns;
use crate::geometry::{FACE_TOLERANCE_VOXELS, Grid, Row, face_or_row};
use crate::operator::chunk::LANES;
use crate::operator::{Misfit, OperatorError};
use crate::scanner::{Plane, ScanGeometry};

/// Largest distance of planes in voxels (separate classes of rows).
const MAX_CLASSES: usize = 16;
/// Rows that planes may reach beyond the first of the image, either way: each takes a place in every row of a path.
const MAX_ROW: usize = 1 << 16;
/// Tolerance, in voxels, of the whole number of voxels between planes over their whole segment.
const PITCH_TOLERANCE_VOXELS: f64 = 1e-4;

/// Layout of the rows over z of one voxel column in memory: rows z ≡ c (mod `num_classes`) are contiguous.
#[derive(Clone, Debug, PartialEq)]
pub struct Layout {
    /// Distance in voxels between neighbouring planes of a group.
    pub num_classes: usize,
    /// Lanes of a class in an image column (a multiple of `LANES`, with at least one zero lane behind the last z).
    pub lanes: usize,
    /// Number of z.
    pub nz: usize,
    /// Position k of the first lane of a class in a path row (z = k·num_classes + class).
    first_k: isize,
    /// Lanes of a class in a path row.
    row_lanes: usize,
}

impl Layout {
    /// Returns the values of an image column.
    pub fn column_len(&self) -> usize {
        self.num_classes * self.lanes
    }

    /// Returns the order of an image. Behind the last column the kernel may read on.
    pub fn columns(&self) -> Columns {
        Columns { classes: self.num_classes, lanes: self.lanes, first: 0, tail: LANES }
    }

    /// Returns the values of a path row: all classes, with a gap before the last one that holds the row z = −1.
    pub fn row_len(&self) -> usize {
        self.num_classes * self.row_lanes + LANES
    }

    /// Where the image lanes of a class begin in a path row.
    pub fn row_class(&self, class: usize) -> usize {
        let gap = if class + 1 == self.num_classes { LANES } else { 0 };
        class * self.row_lanes + gap + self.first_k.unsigned_abs()
    }

    /// Where z lies in a path row.
    fn row_offset(&self, z: isize) -> u32 {
        let classes = self.num_classes as isize;
        (self.row_class(z.rem_euclid(classes) as usize) as isize + z.div_euclid(classes)) as u32
    }
}

/// Planes of one segment, `num_classes` voxels apart, that cross voxel faces at the same τ.
#[derive(Clone, Debug)]
pub struct Group {
    /// Index of the first plane among all planes.
    pub first_plane: usize,
    /// Distance between the planes of the group among all planes.
    pub plane_step: usize,
    /// Number of planes.
    pub num_planes: usize,
    /// −1 where z falls along the LOR, +1 where it rises.
    pub sign: f32,
    /// Share of the bin's value that this line carries.
    pub weight: f32,
    /// z at the LOR's end less z at its start, mm.
    pub rise_mm: f64,
    /// z of the first plane's G row at the first crossing; each further crossing adds `sign`.
    pub first_crossing_row: isize,
    /// z of the first plane's row before any crossing; each crossing adds `sign`.
    pub first_row: isize,
    /// For each crossing of the family, the place in a path row of the first plane's G row.
    pub offsets: Vec<u32>,
    /// For each number of crossings passed, the place in a path row of the first plane's row.
    pub row_offsets: Vec<u32>,
}

/// Groups that cross voxel faces at the same τ: first, first + step, …. All rise or fall by the same.
#[derive(Clone, Debug)]
pub struct Family {
    /// τ of the first crossing (0 where there is none).
    pub first_tau: f64,
    /// Distance between crossings in τ, also where the field of view has none (0 where lines stay in their plane).
    pub tau_step: f64,
    /// Number of crossings.
    pub num_crossings: usize,
    /// Index of the first crossing in [`AxialTable::taus`].
    pub first_crossing: usize,
    /// The groups.
    pub groups: Vec<Group>,
}

/// The axial half of the projector.
#[derive(Clone, Debug)]
pub struct AxialTable {
    /// Layout of rows in memory.
    pub layout: Layout,
    /// True if any line uses the row below the first z.
    pub uses_row_below: bool,
    /// All groups.
    pub families: Vec<Family>,
    /// τ of the crossings of all families, one after the other.
    pub taus: Vec<f32>,
}

/// A group before the layout is known: rows as z of the first plane.
struct Draft {
    first_tau: f64,
    tau_step: f64,
    group: Group,
    crossing_rows: Vec<isize>,
    rows: Vec<isize>,
}

impl AxialTable {
    /// Makes the table of a scan on a grid. It has the crossings with |2τ − 1| ≤ `reach`: those that a LOR can have inside the
    /// field of view.
    ///
    /// # Errors
    /// Neighbouring planes are not a whole number of voxels apart.
    pub fn new(geometry: &ScanGeometry, grid: &Grid, num_rays: usize, reach: f64) -> Result<Self, OperatorError> {
        let dz = grid.voxel_mm[2];
        let mut strides = Vec::with_capacity(geometry.segments.len());
        for segment in &geometry.segments {
            let exact = geometry.axial_sampling_mm(segment) / dz;
            let whole = exact.round();
            let drift = (exact - whole).abs() * segment.num_axial_pos as f64;
            if whole < 1.0 || whole > MAX_CLASSES as f64 || drift > PITCH_TOLERANCE_VOXELS {
                let planes_mm = geometry.axial_sampling_mm(segment);
                return Err(Misfit::PlaneStep { planes_mm, voxel_mm: dz, most: MAX_CLASSES }.into());
            }
            strides.push(whole as usize);
        }
        let num_classes = strides.iter().copied().fold(1, least_common_multiple);
        if num_classes > MAX_CLASSES {
            return Err(Misfit::Classes { strides, found: num_classes, most: MAX_CLASSES }.into());
        }
        let mut drafts = Vec::new();
        for ray in 0..num_rays {
            let planes = geometry.ray_planes(ray, num_rays);
            let mut first_plane = 0;
            for (segment, &stride) in geometry.segments.iter().zip(&strides) {
                let plane_step = num_classes / stride;
                for start in 0..plane_step.min(segment.num_axial_pos) {
                    let index = first_plane + start;
                    let num_planes = (segment.num_axial_pos - start).div_ceil(plane_step);
                    let sum = Group {
                        first_plane: index,
                        plane_step,
                        num_planes,
                        sign: 1.0,
                        weight: 1.0 / num_rays as f32,
                        rise_mm: planes[index].z_end_mm - planes[index].z_start_mm,
                        first_crossing_row: 0,
                        first_row: 0,
                        offsets: Vec::new(),
                        row_offsets: Vec::new(),
                    };
                    draft(&mut drafts, sum, planes[index], grid, reach);
                }
                first_plane += segment.num_axial_pos;
            }
        }
        let farthest = |d: &Draft| d.crossing_rows.iter().chain(&d.rows).map(|z| z.unsigned_abs()).max().unwrap_or(0);
        if drafts.iter().any(|d| farthest(d) > MAX_ROW) {
            return Err(Misfit::FarImage.into());
        }
        Ok(Self::from_drafts(drafts, num_classes, grid.size[2]))
    }

    /// Returns the rise of the steepest line, mm.
    pub fn max_rise_mm(&self) -> f64 {
        let groups = self.families.iter().flat_map(|family| &family.groups);
        groups.map(|group| group.rise_mm.abs()).fold(0.0, f64::max)
    }

    /// Lays the rows out and gathers groups into families.
    fn from_drafts(drafts: Vec<Draft>, num_classes: usize, nz: usize) -> Self {
        let classes = num_classes as isize;
        let lanes = (nz + 1).div_ceil(num_classes).next_multiple_of(LANES);
        let (mut first_k, mut last_k, mut lowest) = (0, lanes as isize - 1, 0);
        for d in &drafts {
            for &z in d.crossing_rows.iter().chain(&d.rows) {
                let k = z.div_euclid(classes);
                // The row z = −1 has its place in the gap; anything lower needs separate lanes.
                let k_low = if z == -1 { 0 } else { k };
                first_k = first_k.min(k_low);
                last_k = last_k.max(k + d.group.num_planes as isize - 1);
                lowest = lowest.min(z);
            }
        }
        let row_lanes = ((last_k - first_k + 1) as usize).next_multiple_of(LANES);
        let layout = Layout { num_classes, lanes, nz, first_k, row_lanes };
        let mut table = Self { layout, uses_row_below: lowest < 0, families: Vec::new(), taus: Vec::new() };
        for mut d in drafts {
            d.group.offsets = d.crossing_rows.iter().map(|&z| table.layout.row_offset(z)).collect();
            d.group.row_offsets = d.rows.iter().map(|&z| table.layout.row_offset(z)).collect();
            table.insert(d);
        }
        table
    }

    fn insert(&mut self, draft: Draft) {
        let num_crossings = draft.crossing_rows.len();
        let same = |family: &&mut Family| {
            family.num_crossings == num_crossings
                && (family.first_tau - draft.first_tau).abs() < 1e-12
                && (family.tau_step - draft.tau_step).abs() < 1e-12
        };
        if let Some(family) = self.families.iter_mut().find(same) {
            family.groups.push(draft.group);
            return;
        }
        let first_crossing = self.taus.len();
        self.taus.extend((0..num_crossings).map(|i| (draft.first_tau + i as f64 * draft.tau_step) as f32));
        let (first_tau, tau_step) = (draft.first_tau, draft.tau_step);
        self.families.push(Family { first_tau, tau_step, num_crossings, first_crossing, groups: vec![draft.group] });
    }
}

/// The crossings of a group whose first plane is `plane`; a direct plane in a voxel face becomes two halves.
fn draft(drafts: &mut Vec<Draft>, group: Group, plane: Plane, grid: &Grid, reach: f64) {
    let voxel = |z_mm: f64| (z_mm - grid.origin_mm[2]) / grid.voxel_mm[2];
    let (u_a, u_b) = (voxel(plane.z_start_mm), voxel(plane.z_end_mm));
    if (u_a - u_b).abs() < FACE_TOLERANCE_VOXELS {
        let rows = match face_or_row(0.5 * (u_a + u_b)) {
            Row::Inside(row) => vec![row],
            Row::Face(row) => vec![row, row + 1],
        };
        let weight = group.weight / rows.len() as f32;
        for row in rows {
            let group = Group { weight, first_crossing_row: row, first_row: row, ..group.clone() };
            drafts.push(Draft { first_tau: 0.0, tau_step: 0.0, group, crossing_rows: Vec::new(), rows: vec![row] });
        }
        return;
    }
    let (v_a, v_b) = (u_a + 0.5, u_b + 0.5);
    let rises = v_b > v_a;
    let (low, high) = (v_a.min(v_b), v_a.max(v_b));
    let faces: Vec<isize> = (low.floor() as isize + 1..=high.ceil() as isize - 1).collect();
    let tau = |h: isize| (v_a - h as f64) / (v_a - v_b);
    let mut kept: Vec<isize> = faces.into_iter().filter(|&h| (2.0 * tau(h) - 1.0).abs() <= reach).collect();
    if !rises {
        kept.reverse();
    }
    let first_tau = kept.first().map_or(0.0, |&h| tau(h));
    // Without a crossing the LOR stays in the row of its middle.
    let middle = (0.5 * (v_a + v_b)).floor() as isize;
    let start = kept.first().map_or(middle, |&h| if rises { h - 1 } else { h });
    let after = kept.iter().map(|&h| if rises { h } else { h - 1 });
    drafts.push(Draft {
        first_tau,
        tau_step: 1.0 / (high - low),
        group: Group {
            sign: if rises { 1.0 } else { -1.0 },
            first_crossing_row: kept.first().map_or(start, |&h| h - 1),
            first_row: start,
            ..group
        },
        crossing_rows: kept.iter().map(|&h| h - 1).collect(),
        rows: std::iter::once(start).chain(after).collect(),
    });
}

fn least_common_multiple(a: usize, b: usize) -> usize {
    let (mut x, mut y) = (a, b);
    while y != 0 {
        (x, y) = (y, x % y);
    }
    a / x * b
}
