//! Groups of GPUs, of one process or of several: each has its shard of the data, and images are summed over all of them.

use std::sync::{Arc, OnceLock};
use std::thread::{Builder, sleep};
use std::time::Duration;

use cudarc::driver::{CudaSlice, CudaStream};

use super::driver::{copied, guarded};
use super::nccl::{self, Clique, Link, Name, Summed};
use crate::algebra::{BackendError, Collective, PeerGroup, Shard};

/// Interval at which a process of a group checks if it must end, and the time that it then gives its GPUs to end as usual:
/// `mpirun` leaves about a second in all.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
const GRACE: Duration = Duration::from_millis(300);

/// Ties of a GPU to the others of its group.
#[derive(Clone, Debug, Default)]
pub(in crate::cuda) struct Peers {
    pub group: PeerGroup,
    /// Link of NCCL; without it images are summed in the memory of the computer.
    link: Option<Link>,
    /// True if the group has GPUs of other processes.
    spans_processes: bool,
}

impl Peers {
    /// Makes a group of this process's GPUs, by their numbers, and of those of other processes if this one is `among` some.
    /// Returns the ties of each GPU, and the reason if NCCL links none of them.
    ///
    /// # Errors
    /// Another process has left or is out of reach.
    pub fn join(numbers: &[usize], among: &PeerGroup) -> Result<(Vec<Self>, Option<String>), BackendError> {
        let clique = Arc::new(OnceLock::<Arc<Clique>>::new());
        let linked_clique = Arc::clone(&clique);
        // A GPU that waits for the image of one that has failed waits on the device.
        let let_go = move || linked_clique.get().into_iter().for_each(|clique| clique.give_up());
        let groups = PeerGroup::of_threads(among, numbers.len(), let_go)?;
        let shard = groups.first().map_or(Shard::WHOLE, PeerGroup::shard);
        let (links, why_not) = if shard == Shard::WHOLE {
            (Vec::new(), None)
        } else {
            let linked = match among.place() {
                None => Link::among(numbers),
                Some(meeting) => link_with_others(numbers, shard, meeting)?,
            };
            linked.map_or_else(|text| (Vec::new(), Some(text)), |links| (links, None))
        };
        links.first().into_iter().for_each(|link| _ = clique.set(Arc::clone(link.clique())));
        let spans_processes = among.place().is_some();
        let peers = |(k, group)| Self { group, link: links.get(k).cloned(), spans_processes };
        Ok((groups.into_iter().enumerate().map(peers).collect(), why_not))
    }

    /// `values` = their sum over the group.
    pub fn sum<T: Summed>(&self, stream: &Arc<CudaStream>, values: &mut CudaSlice<T>) -> Result<(), BackendError> {
        let Some(meeting) = self.group.meeting() else { return Ok(()) };
        let Some(link) = &self.link else {
            let mut on_host = copied(stream, "copy an image from the device", values)?;
            T::sum_on_host(meeting, &mut on_host)?;
            return Ok(guarded("copy an image to the device", || {
                stream.memcpy_htod(&on_host, values)?;
                stream.synchronize()
            })?);
        };
        if self.spans_processes {
            // Shortens the wait for a process that may end before it adds.
            guarded("wait for the device", || stream.synchronize())?;
        }
        // The sum waits for all others on the GPU, where no call can end it: first all must be here.
        meeting.gather(&[])?;
        let added = link.sum(stream, values);
        if added.is_err() {
            link.clique().give_up();
        }
        added
    }
}

/// Links the GPUs of all processes; those of this one begin at `shard`. Returns the reason if one is not linked.
fn link_with_others(
    numbers: &[usize],
    shard: Shard,
    meeting: &Arc<dyn Collective>,
) -> Result<Result<Vec<Link>, String>, BackendError> {
    let is_first = meeting.shard().index == 0;
    let name = if is_first { Name::new().map(|name| name.0) } else { nccl::look().map(|()| [0; Name::LEN]) };
    // A linked process waits for all others: all must be able to link.
    let mut name = match all_succeed(&**meeting, name)? {
        Ok(name) => name,
        Err(why_not) => return Ok(Err(why_not)),
    };
    meeting.sum_integers(&mut name)?;
    let links = Link::between(Name(name), shard.index, shard.count, numbers);
    let watched = links.and_then(|links| {
        links.first().map_or(Ok(()), |link| give_up_at_the_end(link.clique(), meeting))?;
        Ok(links)
    });
    all_succeed(&**meeting, watched)
}

/// Returns the value of this process if all processes have one.
fn all_succeed<T>(meeting: &dyn Collective, own: Result<T, String>) -> Result<Result<T, String>, BackendError> {
    let have = meeting.gather(&[f64::from(u8::from(own.is_ok()))])?;
    let all_have = have.iter().all(|has| *has == 1.0);
    Ok(own.and_then(|own| if all_have { Ok(own) } else { Err("not by every process".into()) }))
}

/// Starts a thread that gives up the links when this process must end. Processes that wait for a lost one on their GPUs are asked
/// to end by `mpirun`.
fn give_up_at_the_end(clique: &Arc<Clique>, meeting: &Arc<dyn Collective>) -> Result<(), String> {
    let (clique, meeting) = (Arc::downgrade(clique), Arc::clone(meeting));
    let watch = move || {
        while let Some(clique) = clique.upgrade() {
            if meeting.is_ending() {
                sleep(GRACE);
                return clique.give_up();
            }
            drop(clique);
            sleep(POLL_INTERVAL);
        }
    };
    Builder::new().name("links".into()).spawn(watch).map(drop).map_err(|error| error.to_string())
}
