//! ROI sums of a run over its steps, in branches: one for each edit of the ROIs.

use std::collections::BTreeMap;
use std::collections::btree_map::OccupiedEntry;

use crate::data::{Roi, RoiSums};
use crate::session::{IterateReport, limit};

/// ROI sums of one iterate.
#[derive(Clone, Debug, PartialEq)]
pub struct RoiPoint {
    /// Number of complete iterations.
    pub iteration: usize,
    /// Number of complete steps.
    pub subiteration: usize,
    /// Sums in the order of the branch's ROIs; `None` for a ROI that was not measured at its present position.
    pub sums: Vec<Option<RoiSums>>,
    /// True if every ROI was measured. (Looking for it among the sums of all points would take most of the time of the curves.)
    pub is_complete: bool,
    /// Standard deviations of their means between replicates, in the same order; empty without replicates.
    pub deviations: Vec<Option<f64>>,
}

impl RoiPoint {
    fn new(iteration: usize, subiteration: usize, sums: &[RoiSums], deviations: &[Option<f64>]) -> Self {
        let sums = sums.iter().copied().map(Some).collect();
        Self { iteration, subiteration, sums, is_complete: true, deviations: deviations.to_vec() }
    }

    fn with_sums(self, sums: Vec<Option<RoiSums>>) -> Self {
        Self { is_complete: sums.iter().all(Option::is_some), sums, ..self }
    }

    /// Returns the standard deviation of the mean of a ROI between replicates.
    pub fn deviation(&self, index: usize) -> Option<f64> {
        self.deviations.get(index).copied().flatten()
    }

    /// Returns the sums of the ROIs with these indices.
    fn of_rois(&self, indices: &[Option<usize>]) -> Self {
        let sums = indices.iter().map(|index| *self.sums.get((*index)?)?);
        let deviations = match self.deviations.is_empty() {
            true => Vec::new(),
            false => indices.iter().map(|index| self.deviation((*index)?)).collect(),
        };
        let Self { iteration, subiteration, .. } = *self;
        Self { deviations, ..Self::new(iteration, subiteration, &[], &[]) }.with_sums(sums.collect())
    }
}

/// Returns the index of the first ROI at the same position.
fn index_of(rois: &[Roi], roi: &Roi) -> Option<usize> {
    rois.iter().position(|other| other.covers_same(roi))
}

/// ROI curves between two edits.
#[derive(Clone, Debug, Default)]
pub struct Branch {
    /// ROIs as they were sent.
    pub rois: Vec<Roi>,
    /// Points by number of complete steps, at most `MAX_STORED`.
    pub points: BTreeMap<usize, RoiPoint>,
    /// Number of the edit. All positions of a ROI during a drag are one edit.
    edit: u64,
    /// Index of each ROI in the branch before, if it is at the same position there.
    indices_before: Vec<Option<usize>>,
}

impl Branch {
    fn insert(&mut self, mut point: RoiPoint) {
        // Stored iterates, which are measured again, have no replicates: standard deviations stay.
        if point.deviations.is_empty()
            && let Some(before) = self.points.remove(&point.subiteration)
        {
            point.deviations = before.deviations;
        }
        self.points.insert(point.subiteration, point);
        limit(&mut self.points, |point| !point.is_complete);
    }

    /// Moves ROIs of the same edit to other positions. The sums of a moved ROI are those that the branch before has at this
    /// position.
    fn move_rois(&mut self, rois: Vec<Roi>, before: Option<&Branch>) {
        for (index, (roi, _)) in rois.iter().zip(&self.rois).enumerate().filter(|(_, (roi, old))| !roi.covers_same(old)) {
            let source = before.and_then(|before| Some((before, index_of(&before.rois, roi)?)));
            if let Some(before) = self.indices_before.get_mut(index) {
                *before = source.map(|(_, index)| index);
            }
            for (step, point) in &mut self.points {
                if let Some(sums) = point.sums.get_mut(index) {
                    *sums = source.and_then(|(before, index)| *before.points.get(step)?.sums.get(index)?);
                    point.is_complete = point.sums.iter().all(Option::is_some);
                }
                if let Some(deviation) = point.deviations.get_mut(index) {
                    *deviation = source.and_then(|(before, index)| before.points.get(step)?.deviation(index));
                }
            }
        }
        self.rois = rois;
    }
}

/// The newest branch and the one before, and the edits that are not measured yet.
#[derive(Clone, Debug, Default)]
pub struct RoiBranches {
    /// By branch number.
    branches: BTreeMap<u64, Branch>,
    /// ROIs that were sent during a drag, by branch number, with the number of their edit.
    drafts: BTreeMap<u64, (u64, Vec<Roi>)>,
    /// Number of the newest edit.
    newest_edit: Option<u64>,
    /// Number of changes.
    revision: u64,
}

impl RoiBranches {
    /// Returns the branch of these ROIs alone.
    pub fn new(branch: u64, rois: &[Roi]) -> Self {
        let first = Branch { rois: rois.to_vec(), edit: branch, ..Branch::default() };
        Self { branches: [(branch, first)].into(), ..Self::default() }
    }

    pub fn newest(&self) -> Option<&Branch> {
        self.newest_first().next()
    }

    /// Returns a number that grows with each change of ROIs or sums.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    pub fn newest_first(&self) -> impl Iterator<Item = &Branch> {
        self.branches.values().rev()
    }

    /// Begins the branch of an edit. Returns true if the edit is new.
    pub fn begin(&mut self, branch: u64, rois: &[Roi]) -> bool {
        self.drafts.clear();
        self.revision += 1;
        self.add(branch, branch, rois.to_vec())
    }

    /// Registers ROIs that were sent during a drag. The curves stay until these ROIs are measured; their branch then replaces
    /// that of the same edit.
    pub fn draft(&mut self, branch: u64, edit: u64, rois: &[Roi]) {
        self.drafts.insert(branch, (edit, rois.to_vec()));
    }

    /// Begins the branch of a draft, because it was measured, and discards the drafts before it. Returns true if its edit is new.
    fn begin_draft(&mut self, branch: u64) -> bool {
        self.revision += 1;
        let Some((edit, rois)) = self.drafts.remove(&branch) else { return false };
        self.drafts = self.drafts.split_off(&branch);
        let same_edit = self.branches.last_entry().filter(|newest| newest.get().edit == edit).map(OccupiedEntry::remove);
        match same_edit.filter(|newest| newest.rois.len() == rois.len()) {
            Some(mut newest) => {
                newest.move_rois(rois, self.newest());
                self.branches.insert(branch, newest);
                false
            }
            None => self.add(branch, edit, rois),
        }
    }

    fn add(&mut self, branch: u64, edit: u64, rois: Vec<Roi>) -> bool {
        let mut added = Branch { rois, edit, ..Branch::default() };
        if let Some(before) = self.newest() {
            added.indices_before = added.rois.iter().map(|roi| index_of(&before.rois, roi)).collect();
            added.points = before.points.iter().map(|(at, point)| (*at, point.of_rois(&added.indices_before))).collect();
        }
        self.branches.insert(branch, added);
        // Plots draw the newest branch and the one before.
        while self.branches.len() > 2 {
            self.branches.pop_first();
        }
        self.newest_edit.replace(edit) != Some(edit)
    }

    /// Replaces names and roles of the ROIs of a branch; their positions are the same.
    pub fn rename(&mut self, branch: u64, rois: &[Roi]) {
        self.revision += 1;
        if let Some(branch) = self.branches.get_mut(&branch) {
            branch.rois = rois.to_vec();
        }
        if let Some((_, draft)) = self.drafts.get_mut(&branch) {
            *draft = rois.to_vec();
        }
    }

    /// Adds iterates that were measured again after an edit: (iteration, steps, sums). Returns true if its edit is new.
    pub fn add_remeasured(&mut self, branch: u64, points: &[(usize, usize, Vec<RoiSums>)]) -> bool {
        let is_new = self.begin_draft(branch);
        if let Some(branch) = self.branches.get_mut(&branch) {
            points.iter().for_each(|(iteration, step, sums)| branch.insert(RoiPoint::new(*iteration, *step, sums, &[])));
        }
        is_new
    }

    /// Adds the standard deviations of means between replicates of an iterate, whose sums are added before or after.
    pub fn add_deviations(&mut self, branch: u64, subiteration: usize, deviations: &[Option<f64>]) {
        let Some(branch) = self.branches.get_mut(&branch) else { return };
        match branch.points.get_mut(&subiteration) {
            Some(point) => point.deviations = deviations.to_vec(),
            None => {
                let point = RoiPoint::new(0, subiteration, &[], deviations);
                branch.insert(point.with_sums(vec![None; deviations.len()]));
            }
        }
    }

    /// Adds the sums of a step to the branch that they were measured for, and those of unmoved ROIs to the branch after it: the
    /// solver may have measured before it received the edit. Returns true if the edit is new.
    pub fn add_step(&mut self, report: &IterateReport) -> bool {
        let is_new = self.begin_draft(report.branch);
        let point = RoiPoint::new(report.iteration, report.subiteration, &report.roi_sums, &report.roi_deviations);
        let mut branches = self.branches.range_mut(report.branch..);
        if let Some((_, branch)) = branches.next().filter(|(number, _)| **number == report.branch) {
            if let Some((_, after)) = branches.next()
                && !after.points.contains_key(&report.subiteration)
            {
                after.insert(point.of_rois(&after.indices_before));
            }
            branch.insert(point);
        }
        is_new
    }
}

#[cfg(test)]
impl RoiBranches {
    /// Returns a branch with these points.
    pub fn of_points(rois: &[Roi], points: impl IntoIterator<Item = (usize, Vec<Option<RoiSums>>)>) -> Self {
        let mut branches = Self::new(1, rois);
        let point = |(step, sums)| (step, RoiPoint::new(step, step, &[], &[]).with_sums(sums));
        branches.branches.entry(1).or_default().points = points.into_iter().map(point).collect();
        branches
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn roi(x_mm: f64) -> Roi {
        Roi::new(String::new(), crate::data::RoiShape::Sphere { radius_mm: 1.0 }, [x_mm, 0.0, 0.0])
    }

    fn sums(sum: f64) -> RoiSums {
        RoiSums { weight: 1.0, sum, sum_of_squares: 0.0, min: 0.0, max: 0.0, num_voxels: 1 }
    }

    /// Number of the newest branch, position of its first ROI, and sums after a step.
    fn newest(branches: &RoiBranches, step: usize) -> (u64, f64, Vec<Option<f64>>) {
        let (number, branch) = branches.branches.last_key_value().unwrap();
        let sums = branch.points[&step].sums.iter().map(|sums| sums.map(|s| s.sum));
        (*number, branch.rois[0].centre_mm[0], sums.collect())
    }

    fn numbers(branches: &RoiBranches) -> Vec<u64> {
        branches.branches.keys().copied().collect()
    }

    #[test]
    fn a_drag_is_one_edit_whose_curve_is_the_newest_measured_one() {
        let mut branches = RoiBranches::new(1, &[roi(0.0), roi(9.0)]);
        let measure =
            |branches: &mut RoiBranches, branch, sum| branches.add_remeasured(branch, &[(1, 1, vec![sums(sum), sums(90.0)])]);
        assert!(!measure(&mut branches, 1, 10.0));
        // A ROI is dragged over three positions. The second one is measured first, then the first one.
        for (branch, x_mm) in [(2, 1.0), (3, 2.0), (4, 3.0)] {
            branches.draft(branch, 2, &[roi(x_mm), roi(9.0)]);
            assert_eq!(newest(&branches, 1), (1, 0.0, vec![Some(10.0), Some(90.0)]), "the curve stays until then");
        }
        assert_eq!([(3, 30.0), (2, 20.0)].map(|(branch, sum)| measure(&mut branches, branch, sum)), [true, false]);
        assert_eq!(newest(&branches, 1), (3, 2.0, vec![Some(30.0), Some(90.0)]));
        assert!(!measure(&mut branches, 4, 40.0), "the same edit");
        assert_eq!(newest(&branches, 1), (4, 3.0, vec![Some(40.0), Some(90.0)]));
        // The curve from before the drag is the other one.
        assert_eq!(numbers(&branches), [1, 4]);
        branches.draft(5, 5, &[roi(4.0), roi(9.0)]);
        assert!(measure(&mut branches, 5, 50.0), "another drag is another edit");
        assert_eq!(numbers(&branches), [4, 5]);
    }

    #[test]
    fn a_roi_that_is_dragged_back_has_the_sums_of_the_branch_before() {
        let mut branches = RoiBranches::new(1, &[roi(0.0), roi(9.0)]);
        branches.add_remeasured(1, &[(1, 1, vec![sums(10.0), sums(90.0)]), (2, 2, vec![sums(11.0), sums(91.0)])]);
        branches.draft(2, 2, &[roi(1.0), roi(9.0)]);
        branches.add_remeasured(2, &[(1, 1, vec![sums(20.0), sums(90.0)])]);
        assert_eq!(newest(&branches, 2), (2, 1.0, vec![None, Some(91.0)]));
        branches.draft(3, 2, &[roi(0.0), roi(9.0)]);
        branches.add_remeasured(3, &[]);
        assert_eq!(newest(&branches, 1).2, [Some(10.0), Some(90.0)]);
        assert_eq!(newest(&branches, 2).2, [Some(11.0), Some(91.0)]);
    }

    #[test]
    fn standard_deviations_stay_with_their_iterate_and_their_rois() {
        let deviations = |branches: &RoiBranches, step: usize| branches.newest().unwrap().points[&step].deviations.clone();
        let mut branches = RoiBranches::new(1, &[roi(1.0), roi(2.0)]);
        branches.add_remeasured(1, &[(1, 1, vec![sums(1.0), sums(2.0)])]);
        branches.add_deviations(1, 1, &[Some(0.1), Some(0.2)]);
        branches.add_remeasured(1, &[(1, 1, vec![sums(1.0), sums(2.0)])]);
        assert_eq!(deviations(&branches, 1), [Some(0.1), Some(0.2)]);
        // A moved ROI has those of its new place, which may arrive before the sums of a stored iterate.
        branches.begin(2, &[roi(3.0), roi(2.0)]);
        assert_eq!(deviations(&branches, 1), [None, Some(0.2)]);
        branches.add_deviations(2, 2, &[Some(0.3), Some(0.4)]);
        branches.add_remeasured(2, &[(2, 2, vec![sums(3.0), sums(2.0)])]);
        assert_eq!((deviations(&branches, 2), newest(&branches, 2).2), (vec![Some(0.3), Some(0.4)], vec![Some(3.0), Some(2.0)]));
    }

    #[test]
    fn unmoved_rois_keep_their_sums_in_another_order() {
        let mut branches = RoiBranches::new(1, &[roi(1.0), roi(2.0)]);
        branches.add_remeasured(1, &[(1, 1, vec![sums(1.0), sums(2.0)])]);
        branches.begin(2, &[roi(3.0), roi(2.0), roi(1.0)]);
        assert_eq!(newest(&branches, 1).2, [None, Some(2.0), Some(1.0)]);
    }
}
