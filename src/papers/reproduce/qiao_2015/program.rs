//! The compared programs: those of the paper's section 3, and ours.

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
    /// Returns the paper's program for the GPU, if there is one.
    pub fn gs(device: DeviceChoice) -> Option<Self> {
        if let DeviceChoice::Cuda(number) = device { Some(Program::PaperKernel(number)) } else { None }
    }

    /// Returns our program for the GPU, if there is one.
    pub fn fast(device: DeviceChoice) -> Option<Self> {
        if let DeviceChoice::Cuda(number) = device { Some(Program::FastKernel(number)) } else { None }
    }

    /// Returns the programs whose times are compared.
    pub fn of_times(device: DeviceChoice) -> Vec<Self> {
        let on_cpu = [Program::Plain, Program::MultiStage, Program::MultiStageAll, Program::SingleStage];
        on_cpu.into_iter().chain(Self::gs(device)).chain(Self::fast(device)).collect()
    }

    /// Returns the programs whose images are compared, which do not depend on the number of threads.
    pub fn of_images(device: DeviceChoice) -> Vec<Self> {
        Self::of_times(device).into_iter().filter(|program| *program != Program::MultiStageAll).collect()
    }

    /// Returns the number of threads of the CPU; `None` = all.
    pub fn num_threads(self) -> Option<usize> {
        matches!(self, Program::Plain | Program::MultiStage).then_some(1)
    }

    pub fn angles(self) -> Angles {
        if matches!(self, Program::MultiStage | Program::MultiStageAll) { Angles::Linear } else { Angles::Solid }
    }

    pub fn paper_name(self) -> Option<&'static str> {
        match self {
            Program::Plain => Some("CS"),
            Program::MultiStage => Some("CM"),
            Program::PaperKernel(_) => Some("GS"),
            _ => None,
        }
    }

    /// Returns its part of the key of a measurement, and its name in tables.
    fn names(self) -> (String, String) {
        let (key, title) = match self {
            Program::Plain => ("cpu-1-thread-plain", "CPU, 1 thread, plain"),
            Program::MultiStage => ("cpu-1-thread-multi-stage", "CPU, 1 thread, multi-stage"),
            Program::MultiStageAll => ("cpu-multi-stage", "CPU, all threads, multi-stage"),
            Program::SingleStage => ("cpu-single-stage", "CPU, all threads, single-stage"),
            Program::PaperKernel(number) => return (format!("cuda-{number}-paper"), format!("cuda:{number}, paper's kernel")),
            Program::FastKernel(number) => {
                return (format!("cuda-{number}-single-stage"), format!("cuda:{number}, single-stage"));
            }
        };
        (key.into(), title.into())
    }

    /// Returns its part of the key of a measurement.
    pub fn key(self) -> String {
        self.names().0
    }

    /// Returns its name in tables.
    pub fn title(self) -> String {
        self.names().1
    }
}
