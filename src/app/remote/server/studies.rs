//! Open studies of a server by the window's numbers: the study in use, and newer ones that the window may use next.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use crate::data::Study;
use crate::plan::Data;
use crate::remote::protocol::error::RemoteError;
use crate::remote::protocol::study::StudyId;
use crate::task::Task;

/// Maximum number of open studies besides the one in use: the displayed study before its first use, and the next one.
const MAX_UNUSED: usize = 2;

/// Open studies, and the study that is being read.
#[derive(Default)]
pub(super) struct Studies {
    open: BTreeMap<StudyId, Arc<Study<Data>>>,
    reading: Option<(StudyId, Task)>,
    /// Number of the study used last; 0 before any.
    used: StudyId,
    /// Number of the study requested last.
    last: StudyId,
}

impl Studies {
    /// Begins to read a study, and returns its stop flag. Reading of another study is stopped.
    ///
    /// # Errors
    /// Its number is not larger than all before.
    pub fn begin(&mut self, study: StudyId) -> Result<Task, RemoteError> {
        if study <= self.last {
            return Err(RemoteError::invalid(format!("study {study} after study {}", self.last)));
        }
        self.stop();
        let task = Task::new();
        (self.last, self.reading) = (study, Some((study, task.clone())));
        Ok(task)
    }

    /// Ends reading of a study. Returns false if it was stopped before.
    pub fn end(&mut self, study: StudyId) -> bool {
        self.reading.take_if(|(reading, _)| *reading == study).is_some()
    }

    /// Adds a study that was read.
    pub fn opened(&mut self, study: StudyId, data: Arc<Study<Data>>) {
        self.end(study);
        self.open.insert(study, data);
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

    /// Stops reading a study.
    pub fn stop(&mut self) {
        if let Some((_, task)) = self.reading.take() {
            task.stop();
        }
    }

    /// Returns the study of this number, which the window uses from now on, and closes older ones. `None` if it is not open.
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
    fn an_unwanted_study_is_no_longer_read() {
        let mut studies = Studies::default();
        let [first, second] = [1, 2].map(|study| studies.begin(study).unwrap());
        assert!(first.check().is_err() && second.check().is_ok());
        assert!(!studies.end(1), "the first one is too late");
        studies.close(2);
        assert!(second.check().is_err() && !studies.end(2));
        assert!(studies.begin(2).is_err() && studies.begin(0).is_err() && studies.begin(u64::MAX).is_ok());
        open_last(&mut studies);
        assert!(studies.begin(u64::MAX).is_err());
    }

    /// Opens the study of the largest number.
    fn open_last(studies: &mut Studies) {
        assert!(studies.end(u64::MAX));
        studies.opened(u64::MAX, scan());
        assert!(studies.used(u64::MAX).is_some());
        studies.opened(u64::MAX, scan());
    }
}
