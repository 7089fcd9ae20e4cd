//! The studies that are open at the solver's end, by the window's numbers: the one that is used, and newer ones for which the window may
//! yet leave it.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use super::super::WireError;
use super::super::messages::StudyId;
use crate::data::Study;
use crate::plan::Data;
use crate::task::Task;

/// Studies that are open at most beside the one that is used: the one that the window shows before it asks anything of it, and the one
/// that it may show next.
const MAX_UNUSED: usize = 2;

/// Open studies, and the one that is being read.
#[derive(Default)]
pub(super) struct Studies {
    open: BTreeMap<StudyId, Arc<Study<Data>>>,
    reading: Option<(StudyId, Task)>,
    /// Number of the one used last; 0 before any.
    used: StudyId,
    /// Number of the one asked for last.
    last: StudyId,
}

impl Studies {
    /// Begins to read a study; gives its stop flag. The one that was being read is given up.
    ///
    /// # Errors
    /// Its number is not larger than all before it.
    pub fn begin(&mut self, study: StudyId) -> Result<Task, WireError> {
        if study <= self.last {
            return Err(WireError::cannot_be(format!("study {study} after study {}", self.last)));
        }
        self.stop();
        let task = Task::new();
        (self.last, self.reading) = (study, Some((study, task.clone())));
        Ok(task)
    }

    /// Whether a study is still being read, which it no longer is.
    pub fn end(&mut self, study: StudyId) -> bool {
        self.reading.take_if(|(reading, _)| *reading == study).is_some()
    }

    /// Takes a study in that was read.
    pub fn opened(&mut self, study: StudyId, scan: Arc<Study<Data>>) {
        self.end(study);
        self.open.insert(study, scan);
        let mut unused = self.open.range((Bound::Excluded(self.used), Bound::Unbounded)).map(|(open, _)| *open).rev();
        if let Some(oldest) = unused.nth(MAX_UNUSED) {
            self.open.remove(&oldest);
        }
    }

    /// Closes a study, or stops reading it.
    pub fn close(&mut self, study: StudyId) {
        self.open.remove(&study);
        if let Some((_, task)) = self.reading.take_if(|(reading, _)| *reading == study) {
            task.stop();
        }
    }

    /// Stops reading.
    pub fn stop(&mut self) {
        if let Some((_, task)) = self.reading.take() {
            task.stop();
        }
    }

    /// The study of this number, which the window uses from now on: older ones are closed. `None` where it is not open.
    pub fn used(&mut self, study: StudyId) -> Option<&Arc<Study<Data>>> {
        if self.open.contains_key(&study) {
            self.used = study;
            self.open.retain(|open, _| *open >= study);
        }
        self.open.get(&study)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Counts, Michelogram};
    use crate::scanner::find;

    fn scan() -> Arc<Study<Data>> {
        let geometry = Arc::new(find("small").unwrap().geometry.clone());
        Arc::new(Study::new("flat", Data::from(Counts::new(Michelogram::elsewhere(geometry)))))
    }

    fn open(studies: &mut Studies, study: StudyId) {
        studies.begin(study).unwrap();
        assert!(studies.end(study));
        studies.opened(study, scan());
    }

    fn opened(studies: &Studies) -> Vec<StudyId> {
        studies.open.keys().copied().collect()
    }

    #[test]
    fn the_study_in_use_stays_until_another_is_used() {
        let mut studies = Studies::default();
        open(&mut studies, 1);
        assert!(studies.used(1).is_some());
        for study in 2..=5 {
            open(&mut studies, study);
        }
        assert_eq!(opened(&studies), [1, 4, 5], "few wait");
        assert!(studies.used(1).is_some() && studies.used(4).is_some());
        assert_eq!(opened(&studies), [4, 5]);
        assert!(studies.used(1).is_none() && studies.used(3).is_none() && studies.used(0).is_none());
        studies.close(5);
        assert!(studies.used(4).is_some() && studies.used(5).is_none());
    }

    #[test]
    fn a_study_that_is_not_wanted_any_more_is_not_read_on() {
        let mut studies = Studies::default();
        let [first, second] = [1, 2].map(|study| studies.begin(study).unwrap());
        assert!(first.check().is_err() && second.check().is_ok());
        assert!(!studies.end(1), "the first one comes too late");
        studies.close(2);
        assert!(second.check().is_err() && !studies.end(2));
        assert!(studies.begin(2).is_err() && studies.begin(0).is_err() && studies.begin(u64::MAX).is_ok());
        open_last(&mut studies);
        assert!(studies.begin(u64::MAX).is_err());
    }

    /// The largest number that there is.
    fn open_last(studies: &mut Studies) {
        assert!(studies.end(u64::MAX));
        studies.opened(u64::MAX, scan());
        assert!(studies.used(u64::MAX).is_some());
        studies.opened(u64::MAX, scan());
    }
}
