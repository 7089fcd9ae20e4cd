//! One reconstruction by a group of workers: GPUs of one host, processes of several. Each has the whole image and a shard of the
//! data.
//!
//! All members do the same at the same time, each with its own data. Where a sum over data is needed they meet: every member
//! calls the same function, which ends when all have called it and gives all of them the same bits. Sums are taken in the order
//! of the members, or of integers, so that they do not hang on who came first.

use std::fmt::Debug;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::BackendError;
use super::collective::{Collective, Shard};
use super::rendezvous;

/// A member's place in a group; or that there is none.
#[derive(Clone, Debug, Default)]
pub struct PeerGroup(Option<Member>);

#[derive(Clone, Debug)]
struct Member {
    meeting: Arc<dyn Collective>,
    /// True once the members meet. Before that each works alone, as in trials.
    is_assembled: Arc<AtomicBool>,
}

impl PeerGroup {
    /// No other member.
    pub const ALONE: PeerGroup = PeerGroup(None);

    /// Makes a member of those who meet there, once they have assembled.
    pub fn of(meeting: Arc<dyn Collective>) -> Self {
        Self(Some(Member { meeting, is_assembled: Arc::default() }))
    }

    /// Returns the places of `count` threads of this process, in a group with those of other processes where this one is `among`
    /// some. `let_go` is called where one fails, for those who wait for it otherwise than in a meeting.
    ///
    /// # Errors
    /// Another process has left or is out of reach.
    pub fn of_threads(
        among: &PeerGroup,
        count: usize,
        let_go: impl Fn() + Send + Sync + 'static,
    ) -> Result<Vec<PeerGroup>, BackendError> {
        match (among.place(), count) {
            (None, 0 | 1) => Ok(vec![PeerGroup::ALONE]),
            (beyond, _) => {
                Ok(rendezvous::places(count, beyond.cloned(), Box::new(let_go))?.into_iter().map(PeerGroup::of).collect())
            }
        }
    }

    /// Where the others will be met, if there are any.
    pub fn place(&self) -> Option<&Arc<dyn Collective>> {
        self.0.as_ref().map(|member| &member.meeting)
    }

    /// From now on this member meets the others.
    pub fn assemble(&self) {
        if let Some(member) = &self.0 {
            member.is_assembled.store(true, Ordering::Relaxed);
        }
    }

    /// Returns the member's shard of the data.
    pub fn shard(&self) -> Shard {
        self.0.as_ref().map_or(Shard::WHOLE, |member| member.meeting.shard())
    }

    /// Where the others are met, if there are any and all have assembled.
    pub fn meeting(&self) -> Option<&dyn Collective> {
        let member = self.0.as_ref().filter(|member| member.is_assembled.load(Ordering::Relaxed))?;
        Some(&*member.meeting)
    }

    /// Waits for the others.
    ///
    /// # Errors
    /// A member has left or is out of reach.
    pub fn meet(&self) -> Result<(), BackendError> {
        self.meeting().map_or(Ok(()), |meeting| meeting.gather(&[]).map(drop))
    }

    /// Returns the sums of some values over all members.
    ///
    /// # Errors
    /// A member has left or is out of reach.
    pub fn sums<const N: usize>(&self, own: [f64; N]) -> Result<[f64; N], BackendError> {
        let Some(meeting) = self.meeting() else { return Ok(own) };
        let mut sums = [0.0; N];
        for values in meeting.gather(&own)?.as_chunks::<N>().0 {
            sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
        }
        Ok(sums)
    }

    /// Returns the largest of a value over all members.
    ///
    /// # Errors
    /// A member has left or is out of reach.
    pub fn largest(&self, own: f32) -> Result<f32, BackendError> {
        let Some(meeting) = self.meeting() else { return Ok(own) };
        Ok(meeting.gather(&[f64::from(own)])?.into_iter().fold(f64::NEG_INFINITY, f64::max) as f32)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU64;

    use super::*;

    fn together<T: Send>(count: usize, work: impl Fn(PeerGroup) -> T + Sync) -> Vec<T> {
        std::thread::scope(|scope| {
            let start = |group: PeerGroup| {
                group.assemble();
                scope.spawn(|| work(group))
            };
            let threads: Vec<_> =
                PeerGroup::of_threads(&PeerGroup::ALONE, count, || {}).unwrap().into_iter().map(start).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        })
    }

    #[test]
    fn all_members_have_the_same_sums_in_the_order_of_the_members() {
        for count in [2, 3, 5] {
            let found = together(count, |group| {
                let own = group.shard().index as f64;
                let mut image = [1e-3_f32 + 1e4 * own as f32; 7];
                let mut integers = [u64::MAX - group.shard().index as u64, 1];
                for _ in 0..200 {
                    assert_eq!(group.sums([own, 1.0]).unwrap(), [(count * (count - 1) / 2) as f64, count as f64]);
                    assert_eq!(group.largest(own as f32).unwrap(), count as f32 - 1.0);
                }
                group.meeting().unwrap().sum_in_order(&mut &mut image[..]).unwrap();
                group.meeting().unwrap().sum_integers(&mut integers).unwrap();
                (image.iter().map(|value| value.to_bits()).collect::<Vec<u32>>(), integers)
            });
            let expected = (0..count).fold(0.0_f32, |sum, index| sum + (1e-3 + 1e4 * index as f32));
            let integers = [(0..count as u64).fold(0u64, |sum, index| sum.wrapping_add(u64::MAX - index)), count as u64];
            for (image, sums) in found {
                assert!(image.iter().all(|bits| *bits == expected.to_bits()));
                assert_eq!(sums, integers);
            }
        }
    }

    #[test]
    fn whoever_leaves_lets_the_others_go() {
        let num_let_go = Arc::new(AtomicU64::new(0));
        let count = Arc::clone(&num_let_go);
        let groups = PeerGroup::of_threads(&PeerGroup::ALONE, 3, move || _ = count.fetch_add(1, Ordering::Relaxed)).unwrap();
        groups.iter().for_each(PeerGroup::assemble);
        for round in 0..50 {
            let outcomes: Vec<bool> = std::thread::scope(|scope| {
                let meet = |group: &PeerGroup| (0..10).all(|_| group.sums([1.0]).is_ok());
                let threads: Vec<_> = groups[..2].iter().map(|group| scope.spawn(move || meet(group))).collect();
                assert!((0..5).all(|_| groups[2].sums([1.0]).is_ok()));
                groups[2].meeting().unwrap().leave(round % 2 == 0);
                threads.into_iter().map(|thread| thread.join().unwrap()).collect()
            });
            assert_eq!(outcomes, [false, false]);
            groups[0].meeting().unwrap().begin_again();
        }
        assert_eq!(num_let_go.load(Ordering::Relaxed), 25);
    }

    #[test]
    fn before_they_assemble_each_works_alone() {
        let group = &PeerGroup::of_threads(&PeerGroup::ALONE, 2, || {}).unwrap()[1];
        assert_eq!((group.shard(), group.sums([3.0]), group.largest(2.0)), (Shard { index: 1, count: 2 }, Ok([3.0]), Ok(2.0)));
        assert_eq!(
            (PeerGroup::ALONE.shard(), PeerGroup::of_threads(&PeerGroup::ALONE, 1, || {}).unwrap().len()),
            (Shard::WHOLE, 1)
        );
    }
    /// Two processes, here played by threads, of one and of three members.
    fn of_processes<T: Send>(work: impl Fn(PeerGroup) -> T + Sync) -> Vec<T> {
        let work = &work;
        let process = |process: PeerGroup| {
            let count = 1 + 2 * process.shard().index;
            let members = PeerGroup::of_threads(&process, count, || {}).unwrap();
            std::thread::scope(|scope| {
                let start = |group: PeerGroup| {
                    group.assemble();
                    scope.spawn(|| work(group))
                };
                let threads: Vec<_> = members.into_iter().map(start).collect();
                threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<T>>()
            })
        };
        together(2, process).into_iter().flatten().collect()
    }

    #[test]
    fn threads_of_several_processes_are_one_team() {
        let found = of_processes(|group| {
            let Shard { index, count } = group.shard();
            assert_eq!(count, 4);
            let mut image = vec![0.5 + index as f32; 5];
            let mut integers = [u64::MAX - index as u64, 1];
            for _ in 0..100 {
                assert_eq!(
                    group.meeting().unwrap().gather(&[index as f64, 9.0]).unwrap(),
                    [0.0, 9.0, 1.0, 9.0, 2.0, 9.0, 3.0, 9.0]
                );
                group.meet().unwrap();
            }
            group.meeting().unwrap().sum_in_order(&mut &mut image[..]).unwrap();
            group.meeting().unwrap().sum_integers(&mut integers).unwrap();
            assert_eq!((image, integers), (vec![8.0; 5], [u64::MAX - 9, 4]));
            index
        });
        assert_eq!(found, [0, 1, 2, 3]);
    }

    #[test]
    fn whoever_leaves_lets_threads_of_all_processes_go() {
        for leaver in 0..4 {
            let outcomes = of_processes(|group| {
                for round in 0..20 {
                    assert_eq!(group.sums([1.0]).unwrap(), [4.0]);
                    if group.shard().index == leaver && round == 12 {
                        group.meeting().unwrap().leave(true);
                        return round;
                    }
                    if round >= 12 {
                        assert_eq!(group.sums([1.0]), Err(BackendError::PeerAborted));
                        return round;
                    }
                }
                unreachable!("somebody left")
            });
            assert_eq!(outcomes, [12; 4]);
        }
    }
}
