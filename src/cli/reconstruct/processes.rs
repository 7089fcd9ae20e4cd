//! The processes of one command, started by `mpirun` or `srun`.

use std::path::Path;
#[cfg(feature = "mpi")]
use std::sync::{Arc, OnceLock};
#[cfg(feature = "mpi")]
use std::time::SystemTime;

#[cfg(feature = "mpi")]
use crate::algebra::Collective as _;
use crate::algebra::Shard;
use crate::cli::shared::console;
#[cfg(feature = "mpi")]
use crate::cli::shared::error::PARTIAL;
use crate::cli::shared::error::{CliError, CliResult, Done, Failure};
#[cfg(feature = "mpi")]
use crate::mpi::Processes;
#[cfg(feature = "mpi")]
use crate::plan::share_with_processes;

/// This process, if it shares data with others, and the beginning of their work.
#[cfg(feature = "mpi")]
static SHARER: OnceLock<(Arc<Processes>, SystemTime)> = OnceLock::new();

/// Returns true if this process must write a file that it usually leaves to the first one: the first is lost, and the file is
/// missing.
#[cfg(feature = "mpi")]
pub fn must_write(path: &Path) -> bool {
    let Some((processes, since)) = SHARER.get() else { return false };
    let is_written = std::fs::metadata(path).and_then(|file| file.modified()).is_ok_and(|modified| modified >= *since);
    let must_write = processes.first_is_lost() && !is_written;
    if must_write {
        console::set_mute(false);
    }
    must_write
}

/// Returns false: there is no other process.
#[cfg(not(feature = "mpi"))]
pub fn must_write(_: &Path) -> bool {
    false
}

/// The processes of one command.
pub struct ProcessGroup {
    #[cfg(feature = "mpi")]
    processes: Option<Arc<Processes>>,
}

impl ProcessGroup {
    /// Starts MPI.
    ///
    /// # Errors
    /// A failed start.
    #[cfg(feature = "mpi")]
    pub fn start() -> CliResult<Self> {
        let started = Processes::start(crate::cli::shared::signals::have_come);
        Ok(Self { processes: started.map_err(|text| CliError::failed(Failure::Processes, text))? })
    }

    /// Returns this process alone: the program was built without MPI.
    ///
    /// # Errors
    /// Several processes that MPI has started, which would all do the same.
    #[cfg(not(feature = "mpi"))]
    pub fn start() -> CliResult<Self> {
        let count = ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE"].iter().find_map(|name| std::env::var(name).ok()?.parse::<usize>().ok());
        match count.filter(|count| *count > 1) {
            None => Ok(Self {}),
            Some(count) => Err(CliError::failed(
                Failure::Processes,
                format!(
                    "{count} processes were started by MPI, and this program was built without: build it with 'cargo build --release --features mpi', or start one"
                ),
            )),
        }
    }

    /// Returns the place of this process.
    pub fn shard(&self) -> Shard {
        #[cfg(feature = "mpi")]
        if let Some(processes) = &self.processes {
            return processes.shard();
        }
        Shard::WHOLE
    }

    /// Divides the pieces of the work: each process prints.
    pub fn divide_work(&self) {
        let Shard { index, count } = self.shard();
        if count > 1 {
            console::set_name(format!("process {} of {count}: ", index + 1));
        }
    }

    /// Shares the data of all work: the first process prints and writes.
    pub fn share_data(&self) {
        #[cfg(feature = "mpi")]
        if let Some(processes) = &self.processes {
            share_with_processes(processes.group(), processes.on_this_host());
            // (They start only once.)
            let _ = SHARER.set((Arc::clone(processes), SystemTime::now()));
        }
        if self.shard().index > 0 {
            self.divide_work();
            console::set_mute(true);
        }
    }

    /// Returns the value of the first process.
    ///
    /// # Errors
    /// A process that has ended, or a signal.
    pub fn of_first(&self, value: bool) -> CliResult<bool> {
        #[cfg(feature = "mpi")]
        if let Some(processes) = &self.processes {
            let all = processes.gather(&[f64::from(u8::from(value))])?;
            return Ok(all.first() == Some(&1.0));
        }
        Ok(value)
    }

    /// Waits for the end of all processes; returns the outcome of all.
    ///
    /// # Errors
    /// The error of this process.
    pub fn end(&self, result: CliResult<Done>) -> CliResult<Done> {
        console::set_mute(false);
        #[cfg(feature = "mpi")]
        if let Some(processes) = &self.processes {
            let code = match &result {
                Ok(Done::Complete) => 0,
                Ok(Done::Partial) | Err(_) => PARTIAL,
            };
            let is_whole = processes.end(code) == Some(0);
            return result.map(|done| if is_whole { done } else { Done::Partial });
        }
        result
    }
}
