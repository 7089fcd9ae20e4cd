//! The tables of the axial-run kernels against the geometry itself: every plane crosses the face that a lane is sent to.

use std::sync::Arc;

use super::{AxialPlan, GroupRow};
use crate::algebra::FieldOfView;
use crate::geometry::Grid;
use crate::operator::{AxialTable, Group, InPlanePaths};
use crate::scanner::{Plane, ScanGeometry, find};

/// Largest distance, in voxels, of a plane from the face that it crosses.
const TOLERANCE_VOXELS: f64 = 1e-3;

/// A scan on a grid with its plan.
struct Case {
    name: String,
    geometry: Arc<ScanGeometry>,
    grid: Grid,
    num_rays: usize,
    reach: f64,
    table: AxialTable,
    plan: AxialPlan,
}

fn case(scanner: &str, slices_per_default: usize, odd: usize, num_rays: usize) -> Case {
    let geometry = Arc::new(find(scanner).unwrap().geometry.clone());
    let default = geometry.default_grid().unwrap();
    let ([nx, ny, nz], [dx, dy, dz]) = (default.size, default.voxel_mm);
    // Few columns over the whole field of view: what matters here is z.
    let voxel_mm = [dx * nx as f64 / 21.0, dy * ny as f64 / 19.0, dz / slices_per_default as f64];
    let grid = Grid::centred([21, 19, nz * slices_per_default + odd], voxel_mm).unwrap();
    let fov = FieldOfView::new(&grid, grid.inscribed_radius_mm());
    let reach = (fov.path_radius_mm / geometry.radius_mm()).min(1.0) + 1e-9;
    let table = AxialTable::new(&geometry, &grid, num_rays, reach).unwrap();
    let max_steps = InPlanePaths::of_all(&geometry, &grid, &fov, 1).max_steps();
    let plan = AxialPlan::new(&geometry, &grid, &table, max_steps, |_, registers| Some(registers)).unwrap();
    let name = format!("{scanner}, {slices_per_default} slices, {odd} more, {num_rays} rays");
    Case { name, geometry, grid, num_rays, reach, table, plan }
}

fn cases() -> Vec<Case> {
    let of = |scanner| [(1, 0, 1), (1, 2, 2), (2, 1, 1)].map(|(slices, odd, rays)| case(scanner, slices, odd, rays));
    ["small", "prt-1", "ecat-931"].into_iter().flat_map(of).collect()
}

/// A group with its weight and its first slot in the plan.
struct Slots<'a> {
    group: &'a Group,
    weight: f64,
    first: usize,
}

impl Case {
    /// Returns all groups, in the order of the plan.
    fn groups(&self) -> Vec<Slots<'_>> {
        let groups = self.table.families.iter().flat_map(|family| &family.groups);
        let slots = |(group, row): (_, &GroupRow)| Slots { group, weight: f64::from(row.weight), first: row.slot as usize };
        groups.zip(&self.plan.groups).map(slots).collect()
    }

    /// Where a plane is at a fraction of the LOR, in voxels whose face h lies at h.
    fn height(&self, plane: Plane, tau: f64) -> f64 {
        let z_mm = plane.z_start_mm + tau * (plane.z_end_mm - plane.z_start_mm);
        (z_mm - self.grid.origin_mm[2]) / self.grid.voxel_mm[2] + 0.5
    }
}

#[test]
fn every_plane_has_its_whole_weight_and_a_slot_of_its_own() {
    for case in cases() {
        let groups = case.groups();
        let num_planes = case.geometry.num_planes();
        let mut weight = vec![0.0; num_planes];
        let mut taken = vec![false; case.plan.head.num_slots as usize];
        for (entry, &packed) in case.plan.outputs.iter().enumerate().filter(|(_, packed)| **packed != AxialPlan::NO_ENTRY) {
            let (plane, of, slot) = (entry % num_planes, &groups[(packed >> 16) as usize], (packed & 0xffff) as usize);
            let k = slot - of.first;
            assert!(k < of.group.num_planes, "{}: plane {plane}", case.name);
            assert_eq!(of.group.first_plane + k * of.group.plane_step, plane, "{}", case.name);
            assert!(!std::mem::replace(&mut taken[slot], true), "{}: slot {slot} is used twice", case.name);
            weight[plane] += of.weight;
        }
        assert!(weight.iter().all(|sum| (sum - 1.0).abs() < 1e-6), "{}: {weight:?}", case.name);
    }
}

#[test]
fn a_lane_is_sent_to_the_plane_that_crosses_its_face() {
    for case in cases() {
        let (groups, head) = (case.groups(), &case.plan.head);
        let planes: Vec<Vec<Plane>> = (0..case.num_rays).map(|ray| case.geometry.ray_planes(ray, case.num_rays)).collect();
        let owner = |slot: usize| groups.iter().find(|of| (of.first..of.first + of.group.num_planes).contains(&slot));
        let mut found = 0;
        for record in &case.plan.records {
            let tau = f64::from(record.tau);
            for class in 0..case.plan.classes {
                let base = (record.bases[class / 2] >> (16 * (class % 2)) & 0xffff) as usize;
                assert_eq!(base % AxialPlan::SLOT_BYTES, 0);
                for lane in 0..head.lanes as usize {
                    let slot = base / AxialPlan::SLOT_BYTES + lane;
                    assert!(slot < head.num_slots as usize, "{}: lane {lane} leaves the slots", case.name);
                    let Some(of) = owner(slot) else { continue };
                    let plane = of.group.first_plane + (slot - of.first) * of.group.plane_step;
                    let face = (lane as i32 + head.first_k) * case.plan.classes as i32 + class as i32 + 1;
                    let is_near =
                        |planes: &Vec<Plane>| (case.height(planes[plane], tau) - f64::from(face)).abs() < TOLERANCE_VOXELS;
                    assert!(planes.iter().any(is_near), "{}: plane {plane} at {tau} does not cross {face}", case.name);
                    found += 1;
                }
            }
        }
        // As many as a walk along every plane meets, of those that lanes are there for.
        let lowest = head.first_k * case.plan.classes as i32;
        let faces = lowest + 1..=lowest + head.lanes * case.plan.classes as i32;
        let mut expected = 0;
        for plane in planes.iter().flatten() {
            let (start, end) = (case.height(*plane, 0.0), case.height(*plane, 1.0));
            if (end - start).abs() < TOLERANCE_VOXELS {
                continue;
            }
            let is_met = |face: &i32| (2.0 * (f64::from(*face) - start) / (end - start) - 1.0).abs() <= case.reach;
            expected += faces.clone().filter(is_met).count();
        }
        assert!(expected > 0);
        assert_eq!(found, expected, "{}", case.name);
    }
}

/// With time of flight what a pass brings is weighted by how steep its lines are.
#[test]
fn groups_of_a_family_are_equally_steep_also_where_they_cross_nothing() {
    let mut most = 0;
    for case in cases() {
        let narrow = AxialTable::new(&case.geometry, &case.grid, case.num_rays, 0.02).unwrap();
        let rise_mm = |group: &Group| group.rise_mm.abs();
        for family in &narrow.families {
            let first_mm = rise_mm(&family.groups[0]);
            assert!(family.groups.iter().all(|group| (rise_mm(group) - first_mm).abs() < 1e-6), "{}", case.name);
        }
        let without = narrow.families.iter().filter(|family| family.num_crossings == 0);
        most = without.filter(|family| rise_mm(&family.groups[0]) > 0.0).count().max(most);
    }
    assert!(most > 1, "{most} families that rise cross nothing");
}
