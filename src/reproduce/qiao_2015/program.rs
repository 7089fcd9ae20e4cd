//! The programs that are compared: those of the paper's section 3, and ours.

use crate::plan::DeviceChoice;

/// A program that backprojects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    /// The plain loop in double precision, on one thread: the paper's CS.
    Plain,
    /// Two stages on one thread: the paper's CM.
    MultiStage,
    /// Two stages on all threads.
    MultiStageAll,
    /// One stage on all threads.
    SingleStage,
    /// The paper's kernel on this CUDA device: the paper's GS.
    PaperKernel(usize),
    /// The fast kernel on this CUDA device.
    FastKernel(usize),
}

/// Angles of the projections that a program uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Angles {
    /// As measured.
    Solid,
    /// Resampled to equal linear angles.
    Linear,
}

impl Program {
    /// The paper's program for the GPU, where there is one.
    pub fn gs(device: DeviceChoice) -> Option<Self> {
        if let DeviceChoice::Cuda(number) = device { Some(Program::PaperKernel(number)) } else { None }
    }

    /// Ours for the GPU, where there is one.
    pub fn fast(device: DeviceChoice) -> Option<Self> {
        if let DeviceChoice::Cuda(number) = device { Some(Program::FastKernel(number)) } else { None }
    }

    /// Those whose times are compared.
    pub fn of_times(device: DeviceChoice) -> Vec<Self> {
        let on_cpu = [Program::Plain, Program::MultiStage, Program::MultiStageAll, Program::SingleStage];
        on_cpu.into_iter().chain(Self::gs(device)).chain(Self::fast(device)).collect()
    }

    /// Those whose images are compared: a number of threads makes no difference there.
    pub fn of_images(device: DeviceChoice) -> Vec<Self> {
        Self::of_times(device).into_iter().filter(|program| *program != Program::MultiStageAll).collect()
    }

    /// Threads of the processor; `None` = all.
    pub fn num_threads(self) -> Option<usize> {
        matches!(self, Program::Plain | Program::MultiStage).then_some(1)
    }

    /// The projections that it uses.
    pub fn angles(self) -> Angles {
        if matches!(self, Program::MultiStage | Program::MultiStageAll) { Angles::Linear } else { Angles::Solid }
    }

    /// Its part of the key of a measurement.
    pub fn key(self) -> String {
        match self {
            Program::Plain => "cpu-1-thread-plain".into(),
            Program::MultiStage => "cpu-1-thread-multi-stage".into(),
            Program::MultiStageAll => "cpu-multi-stage".into(),
            Program::SingleStage => "cpu-single-stage".into(),
            Program::PaperKernel(number) => format!("cuda-{number}-paper"),
            Program::FastKernel(number) => format!("cuda-{number}-single-stage"),
        }
    }

    /// Its name in the paper.
    pub fn paper_name(self) -> Option<&'static str> {
        match self {
            Program::Plain => Some("CS"),
            Program::MultiStage => Some("CM"),
            Program::PaperKernel(_) => Some("GS"),
            _ => None,
        }
    }

    /// Its name in tables.
    pub fn title(self) -> String {
        match self {
            Program::Plain => "CPU, 1 thread, plain".into(),
            Program::MultiStage => "CPU, 1 thread, multi-stage".into(),
            Program::MultiStageAll => "CPU, all threads, multi-stage".into(),
            Program::SingleStage => "CPU, all threads, single-stage".into(),
            Program::PaperKernel(number) => format!("cuda:{number}, paper's kernel"),
            Program::FastKernel(number) => format!("cuda:{number}, single-stage"),
        }
    }
}
