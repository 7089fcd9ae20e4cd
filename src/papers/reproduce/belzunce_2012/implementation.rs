//! Implementations of the paper's columns: a projector on a device, with its accumulation.

use super::plan::Plan;
use crate::operator::Accumulation;
use crate::plan::{DeviceChoice, ProjectorChoice};
use crate::report::distinct;
use crate::reproduce::device;

/// One way to reconstruct.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Implementation {
    pub device: DeviceChoice,
    /// Threads on the CPU; `None` = all.
    pub num_threads: Option<usize>,
    pub projector: ProjectorChoice,
    pub accumulation: Accumulation,
    /// True if the sensitivity image is non-atomic, too.
    pub racy_sensitivity: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::Display)]
pub enum PaperColumn {
    /// One thread.
    #[strum(serialize = "AMD Phenom 955BE")]
    Phenom,
    /// One thread: the baseline of the paper's ratios.
    #[strum(serialize = "Intel i7 860")]
    I7,
    /// Without atomics.
    #[strum(serialize = "GTX285")]
    Gtx285,
    /// Without atomics.
    #[strum(serialize = "GTX480")]
    Gtx480,
    /// With atomics.
    #[strum(serialize = "GTX480 with atomics")]
    Gtx480Atomics,
}

impl Implementation {
    /// Returns the implementation of a projector on all threads of the CPU.
    fn cpu(projector: ProjectorChoice) -> Self {
        let accumulation = Accumulation::Deterministic;
        Self { device: DeviceChoice::Cpu, num_threads: None, projector, accumulation, racy_sensitivity: false }
    }

    /// Returns the reference of all comparisons: free of races, and the same on every run.
    pub fn reference() -> Self {
        Self::cpu(ProjectorChoice::AXIAL_RUNS)
    }

    /// Returns the paper's program for the CPU: one LOR at a time in one thread.
    pub fn paper_cpu() -> Self {
        Self { num_threads: Some(1), ..Self::cpu(ProjectorChoice::PER_LOR) }
    }

    /// Returns the implementations whose images are compared.
    pub fn of_images(plan: &Plan, device: DeviceChoice) -> Vec<Self> {
        let mut all = vec![Self::reference()];
        for &projector in plan.projectors(device) {
            let with = |accumulation, racy_sensitivity| Self { device, accumulation, racy_sensitivity, ..Self::cpu(projector) };
            all.extend([
                with(Accumulation::Atomic, false),
                with(Accumulation::NonAtomic, false),
                with(Accumulation::NonAtomic, true),
                with(Accumulation::Deterministic, false),
            ]);
        }
        distinct(all.into_iter())
    }

    /// Returns the implementations of images that the paper does not show or compare: all, or only the reference where the others
    /// would take minutes each.
    pub fn of_further_images(plan: &Plan, device: DeviceChoice) -> Vec<Self> {
        let is_slow = plan.projectors(device).len() == 1;
        if is_slow { vec![Self::reference()] } else { Self::of_images(plan, device) }
    }

    /// Returns the implementations whose times are compared.
    pub fn of_times(device: DeviceChoice) -> Vec<Self> {
        let one_thread = Self { num_threads: Some(1), ..Self::reference() };
        let mut all = vec![Self::paper_cpu(), one_thread, Self::reference()];
        for projector in [ProjectorChoice::PER_LOR, ProjectorChoice::AXIAL_RUNS] {
            for accumulation in [Accumulation::NonAtomic, Accumulation::Atomic, Accumulation::Deterministic] {
                all.push(Self { device, accumulation, ..Self::cpu(projector) });
            }
        }
        distinct(all.into_iter())
    }

    /// Returns true if its projector corresponds to the paper's on this device: one LOR at a time, where images are made by it.
    pub fn stands_for_paper_in_images(&self, plan: &Plan) -> bool {
        self.projector == plan.projectors(self.device)[0]
    }

    /// Returns the corresponding columns of the paper in the tables of times. (In these our GPU corresponds to the newer one.)
    pub fn paper_columns_of_times(&self) -> &'static [PaperColumn] {
        if *self == Self::paper_cpu() {
            return &[PaperColumn::I7, PaperColumn::Phenom];
        }
        match (self.projector, self.accumulation) {
            (ProjectorChoice::PER_LOR, Accumulation::NonAtomic) => &[PaperColumn::Gtx480, PaperColumn::Gtx285],
            (ProjectorChoice::PER_LOR, Accumulation::Atomic) => &[PaperColumn::Gtx480Atomics],
            _ => &[],
        }
    }

    /// Returns the corresponding columns of the paper in the tables of image quality.
    pub fn paper_columns_of_images(&self, plan: &Plan) -> &'static [PaperColumn] {
        match self.accumulation {
            _ if *self == Self::reference() => &[PaperColumn::I7],
            _ if !self.stands_for_paper_in_images(plan) => &[],
            Accumulation::NonAtomic if self.racy_sensitivity => &[PaperColumn::Gtx480],
            Accumulation::NonAtomic => &[PaperColumn::Gtx480, PaperColumn::Gtx285],
            Accumulation::Atomic => &[PaperColumn::Gtx480Atomics],
            Accumulation::Deterministic | Accumulation::Reload | Accumulation::RandomCentralAtomic => &[],
        }
    }

    /// Returns its part of the key of a measurement.
    pub fn key(&self) -> String {
        let threads = self.num_threads.map_or(String::new(), |count| format!("-{count}-thread"));
        let racy = if self.racy_sensitivity { "-racy-sensitivity" } else { "" };
        format!("{}{threads}-{}-{}{racy}", device::key(self.device), self.projector.name(), self.accumulation)
    }

    /// Returns its name in tables.
    pub fn title(&self) -> String {
        let threads = self.num_threads.map_or(String::new(), |count| format!(", {count} thread"));
        let racy = if self.racy_sensitivity { ", sensitivity too" } else { "" };
        format!("{}{threads}, {}, {}{racy}", device::title(self.device), self.projector.name(), self.accumulation)
    }
}
