//! Several GPUs of one host: each has its share of the data, and images are added over all of them.

use cudarc::driver::{CudaSlice, DeviceRepr};

use super::nccl::Link;
use super::probe::guarded;
use super::{CudaArray, CudaBackend, CudaError};
use crate::algebra::{BackendError, Image, Meeting, Team};

/// What ties a GPU to the others of its team.
#[derive(Clone, Debug, Default)]
pub(super) struct Peers {
    pub team: Team,
    /// Without it images go through the memory of the computer.
    link: Option<Link>,
}

impl CudaBackend {
    /// Makes a team of several GPUs: their places, and why NCCL does not link them, where it does not.
    pub fn join(backends: &mut [CudaBackend]) -> (Vec<Team>, Option<String>) {
        let numbers: Vec<usize> = backends.iter().map(|backend| backend.info().number).collect();
        let (links, why_not) = match numbers.len() {
            0 | 1 => (Vec::new(), None),
            _ => Link::between(&numbers).map_or_else(|text| (Vec::new(), Some(text)), |links| (links, None)),
        };
        // Who waits for the image of a GPU that has failed does so on its own GPU.
        let any_link = links.first().cloned();
        let teams = Team::of_threads(backends.len(), move || any_link.iter().for_each(Link::give_up));
        for (k, (backend, team)) in backends.iter_mut().zip(&teams).enumerate() {
            backend.peers = Peers { team: team.clone(), link: links.get(k).cloned() };
        }
        (teams, why_not)
    }

    /// Its place in its team.
    pub fn team(&self) -> Team {
        self.peers.team.clone()
    }

    /// `image` = its sum over the team.
    pub(super) fn sum_over_team(&self, image: &mut CudaArray<Image>) -> Result<(), BackendError> {
        let Peers { team, link } = &self.peers;
        let Some(meeting) = team.meeting() else { return Ok(()) };
        match link {
            Some(link) => self.sum_linked(meeting, link, |link| link.sum(&self.stream, &mut image.0)),
            None => self.through_the_host(&mut image.0, |values| team.sum(values)),
        }
    }

    /// The same of integers.
    pub(super) fn sum_integers_over_team(&self, image: &mut CudaSlice<u64>) -> Result<(), BackendError> {
        let Peers { team, link } = &self.peers;
        let Some(meeting) = team.meeting() else { return Ok(()) };
        match link {
            Some(link) => self.sum_linked(meeting, link, |link| link.sum(&self.stream, image)),
            None => self.through_the_host(image, |values| meeting.sum_integers(values)),
        }
    }

    fn sum_linked(
        &self,
        meeting: &dyn Meeting,
        link: &Link,
        sum: impl FnOnce(&Link) -> Result<(), CudaError>,
    ) -> Result<(), BackendError> {
        // Whoever begins to add waits for all others on the GPU, where nothing can call it back: first all must be here.
        meeting.gather(&[])?;
        let added = sum(link);
        if added.is_err() {
            link.give_up();
        }
        Ok(added?)
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
