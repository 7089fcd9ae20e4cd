//! Several GPUs, of one process or of several: each has its share of the data, and images are added over all of them.

use std::sync::{Arc, OnceLock};
use std::thread::{Builder, sleep};
use std::time::Duration;

use cudarc::driver::{CudaSlice, DeviceRepr};

use super::nccl::{self, Clique, Link, Name};
use super::probe::guarded;
use crate::algebra::{BackendError, Collective, Image, PeerGroup, Shard};
use crate::cuda::{CudaArray, CudaBackend};

/// How often a process that shares its work with others looks whether it is to end, and how long it then leaves its GPUs to end as usual:
/// `mpirun` leaves about a second in all.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
const GRACE: Duration = Duration::from_millis(300);

/// What ties a GPU to the others of its team.
#[derive(Clone, Debug, Default)]
pub(in crate::cuda) struct Peers {
    pub team: PeerGroup,
    /// Without it images go through the memory of the computer.
    link: Option<Link>,
    /// Whether some are of other processes.
    are_elsewhere: bool,
}

impl CudaBackend {
    /// Makes a team of several GPUs, with those of other processes where this one is `among` some: their places, and why NCCL does not
    /// link them, where it does not.
    ///
    /// # Errors
    /// Another process has left or is out of reach.
    pub fn join(backends: &mut [CudaBackend], among: &PeerGroup) -> Result<(Vec<PeerGroup>, Option<String>), BackendError> {
        let clique = Arc::new(OnceLock::<Arc<Clique>>::new());
        let there = Arc::clone(&clique);
        // Who waits for the image of a GPU that has failed does so on its own GPU.
        let teams =
            PeerGroup::of_threads(among, backends.len(), move || there.get().into_iter().for_each(|clique| clique.give_up()))?;
        let share = teams.first().map_or(Shard::WHOLE, PeerGroup::shard);
        if share == Shard::WHOLE {
            return Ok((teams, None));
        }
        let numbers: Vec<usize> = backends.iter().map(|backend| backend.info().number).collect();
        let linked = match among.place() {
            None => Link::among(&numbers),
            Some(meeting) => link_with_others(&numbers, share, meeting)?,
        };
        let (links, why_not) = linked.map_or_else(|text| (Vec::new(), Some(text)), |links| (links, None));
        links.first().into_iter().for_each(|link| _ = clique.set(Arc::clone(link.clique())));
        for (k, (backend, team)) in backends.iter_mut().zip(&teams).enumerate() {
            let are_elsewhere = among.place().is_some();
            backend.peers = Peers { team: team.clone(), link: links.get(k).cloned(), are_elsewhere };
        }
        Ok((teams, why_not))
    }

    /// Its place in its team.
    pub fn team(&self) -> PeerGroup {
        self.peers.team.clone()
    }

    /// `image` = its sum over the team.
    pub(in crate::cuda) fn sum_over_team(&self, image: &mut CudaArray<Image>) -> Result<(), BackendError> {
        let Peers { team, link, .. } = &self.peers;
        let Some(meeting) = team.meeting() else { return Ok(()) };
        match link {
            Some(link) => self.sum_linked(meeting, link, |link| link.sum(&self.stream, &mut image.0)),
            None => self.through_the_host(&mut image.0, |values| team.sum(values)),
        }
    }

    /// The same of integers.
    pub(in crate::cuda) fn sum_integers_over_team(&self, image: &mut CudaSlice<u64>) -> Result<(), BackendError> {
        let Peers { team, link, .. } = &self.peers;
        let Some(meeting) = team.meeting() else { return Ok(()) };
        match link {
            Some(link) => self.sum_linked(meeting, link, |link| link.sum(&self.stream, image)),
            None => self.through_the_host(image, |values| meeting.sum_integers(values)),
        }
    }

    fn sum_linked(
        &self,
        meeting: &dyn Collective,
        link: &Link,
        sum: impl FnOnce(&Link) -> Result<(), BackendError>,
    ) -> Result<(), BackendError> {
        if self.peers.are_elsewhere {
            // What another process does not live to add is waited for as shortly as can be.
            guarded("wait for the device", || self.stream.synchronize())?;
        }
        // Whoever begins to add waits for all others on the GPU, where nothing can call it back: first all must be here.
        meeting.gather(&[])?;
        let added = sum(link);
        if added.is_err() {
            link.clique().give_up();
        }
        added
    }

    fn through_the_host<T: DeviceRepr + Clone>(
        &self,
        array: &mut CudaSlice<T>,
        sum: impl FnOnce(&mut [T]) -> Result<(), BackendError>,
    ) -> Result<(), BackendError> {
        let mut values = guarded("copy an image from the device", || {
            let values = self.stream.clone_dtoh(array)?;
            self.stream.synchronize()?;
            Ok(values)
        })?;
        sum(&mut values)?;
        Ok(guarded("copy an image to the device", || {
            self.stream.memcpy_htod(&values, array)?;
            self.stream.synchronize()
        })?)
    }
}

/// Links the GPUs of all processes, of which this one's are those from `share` on: all of them, or none, and why.
fn link_with_others(
    numbers: &[usize],
    share: Shard,
    meeting: &Arc<dyn Collective>,
) -> Result<Result<Vec<Link>, String>, BackendError> {
    let is_first = meeting.shard().index == 0;
    let name = if is_first { Name::new().map(<[u64; Name::LEN]>::from) } else { nccl::look().map(|()| [0; Name::LEN]) };
    // Who is linked waits for all others, so that all must be able to.
    let mut name = match all_succeed(&**meeting, name)? {
        Ok(name) => name,
        Err(why_not) => return Ok(Err(why_not)),
    };
    meeting.sum_integers(&mut name)?;
    let links = Link::between(name.into(), share.index, share.count, numbers);
    let watched = links.and_then(|links| {
        links.first().map_or(Ok(()), |link| give_up_at_the_end(link.clique(), meeting))?;
        Ok(links)
    });
    all_succeed(&**meeting, watched)
}

/// A process's own, if all processes have one.
fn all_succeed<T>(meeting: &dyn Collective, own: Result<T, String>) -> Result<Result<T, String>, BackendError> {
    let have = meeting.gather(&[f64::from(u8::from(own.is_ok()))])?;
    let all_have = have.iter().all(|has| *has == 1.0);
    Ok(own.and_then(|own| if all_have { Ok(own) } else { Err("not by every process".into()) }))
}

/// A process that is lost may leave others waiting on their GPUs: `mpirun` then asks them to end.
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
