//! The processes of one command, as `mpirun` or `srun` starts them.

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
use crate::cli::shared::error::IN_PART;
use crate::cli::shared::error::{CliError, CliResult, Done, Failure};
#[cfg(feature = "mpi")]
use crate::mpi::Processes;
#[cfg(feature = "mpi")]
use crate::plan::share_with_processes;

/// This process where it shares work with others, and since when.
#[cfg(feature = "mpi")]
static SHARER: OnceLock<(Arc<Processes>, SystemTime)> = OnceLock::new();

/// Whether a process that leaves its files to the first one has to write them itself: the first is lost, and this one was not written.
#[cfg(feature = "mpi")]
pub fn takes_over(path: &Path) -> bool {
    let Some((processes, since)) = SHARER.get() else { return false };
    let is_written = std::fs::metadata(path).and_then(|file| file.modified()).is_ok_and(|modified| modified >= *since);
    let takes_over = processes.first_is_lost() && !is_written;
    if takes_over {
        console::be_mute(false);
    }
    takes_over
}

/// Never: nobody helps.
#[cfg(not(feature = "mpi"))]
pub fn takes_over(_: &Path) -> bool {
    false
}

/// This process among those that work on one command.
pub struct Colleagues {
    #[cfg(feature = "mpi")]
    processes: Option<Arc<Processes>>,
}

impl Colleagues {
    /// Meets them.
    ///
    /// # Errors
    /// MPI does not start.
    #[cfg(feature = "mpi")]
    pub fn meet() -> CliResult<Self> {
        let started = Processes::start(crate::cli::shared::signals::have_come);
        Ok(Self { processes: started.map_err(|text| CliError::failed(Failure::Processes, text))? })
    }

    /// Nobody: the program was built without MPI.
    ///
    /// # Errors
    /// MPI has started several, which would all do the same.
    #[cfg(not(feature = "mpi"))]
    pub fn meet() -> CliResult<Self> {
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

    /// Which of them this process is.
    pub fn shard(&self) -> Shard {
        #[cfg(feature = "mpi")]
        if let Some(processes) = &self.processes {
            return processes.shard();
        }
        Shard::WHOLE
    }

    /// From now on each does pieces of the work for itself; all speak.
    pub fn divide(&self) {
        let Shard { index, count } = self.shard();
        if count > 1 {
            console::set_name(format!("process {} of {count}: ", index + 1));
        }
    }

    /// From now on all do the same work, each with its share of the data; the first one speaks and writes.
    pub fn join(&self) {
        #[cfg(feature = "mpi")]
        if let Some(processes) = &self.processes {
            share_with_processes(processes.team(), processes.on_this_host());
            // (There is one start of them.)
            let _ = SHARER.set((Arc::clone(processes), SystemTime::now()));
        }
        if self.shard().index > 0 {
            self.divide();
            console::be_mute(true);
        }
    }

    /// What the first of them says.
    ///
    /// # Errors
    /// One has ended, or this process was asked to.
    pub fn first_says(&self, own: bool) -> CliResult<bool> {
        #[cfg(feature = "mpi")]
        if let Some(processes) = &self.processes {
            let all = processes.gather(&[f64::from(u8::from(own))])?;
            return Ok(all.first() == Some(&1.0));
        }
        Ok(own)
    }

    /// Waits until all have ended: what came of it for all of them.
    ///
    /// # Errors
    /// This process's own.
    pub fn end(&self, own: CliResult<Done>) -> CliResult<Done> {
        console::be_mute(false);
        #[cfg(feature = "mpi")]
        if let Some(processes) = &self.processes {
            let code = match &own {
                Ok(Done::Wholly) => 0,
                Ok(Done::InPart) | Err(_) => IN_PART,
            };
            let is_whole = processes.end(code) == Some(0);
            return own.map(|done| if is_whole { done } else { Done::InPart });
        }
        own
    }
}
