//! A sweep whose file is still being written: new complete projections, each time it is asked.
//!
//! A projection is complete when all its bytes are in the file. Where the file was allocated in advance, which projections of
//! zeros at its end show, one is complete when something stands in its last sample or in a projection after it; the very
//! last one also when it has stopped changing from one look to the next. Files that get shorter, vanish or are replaced by others are
//! told as notices, once; nothing that was read before is taken back. A file that comes back with the same projections goes
//! on where it was; one with others ends the following.

use std::path::{Path, PathBuf};

use super::bes3t;
use super::records::{ReadHeader, Records, check_finite, num_measured};
use crate::data::{Notice, Phase, Projection, Study, Sweep};
use crate::io::error::IoError;

/// Follows the data file of a sweep.
#[derive(Debug)]
pub struct SweepFollower {
    header: PathBuf,
    read_header: ReadHeader,
    records: Records,
    /// The phase that was asked for, degrees.
    phase: Option<f64>,
    /// Whether the header may yet tell of further projections.
    is_open_ended: bool,
    num_read: usize,
    /// Records that were in the file before they were measured.
    num_allocated: usize,
    /// The last record of an allocated file, when it may be half written.
    unsettled: Option<Projection>,
    /// The first and the last record that were read, by number: they tell whether the file is still the same.
    witnesses: Vec<(usize, Projection)>,
    /// What was wrong when last looked at, to say it once.
    trouble: Option<Trouble>,
    has_ended: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trouble {
    Unreadable,
    Shorter,
}

/// Whether both hold the same samples, bit by bit: NaN too is the same as itself.
fn is_same(a: &Projection, b: &Projection) -> bool {
    a.values.iter().map(|value| value.to_bits()).eq(b.values.iter().map(|value| value.to_bits()))
}

/// What has happened since the last time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SweepUpdate {
    /// Projections that have become complete, in the order of acquisition.
    pub projections: Vec<Projection>,
    /// The phase that complex projections are turned back by, when it was found.
    pub phase: Option<Phase>,
    /// What the user should know.
    pub notices: Vec<Notice>,
}

impl SweepFollower {
    /// Returns a study without projections, which has the content of a header, and what follows its data file. The first
    /// [`SweepFollower::poll`] returns projections; the data file need not exist yet.
    ///
    /// # Errors
    /// The header cannot be read.
    pub fn new(path: &Path, read_header: ReadHeader) -> Result<(Study<Sweep>, Self), IoError> {
        let (study, records) = read_header(path)?;
        let follower = Self {
            header: path.to_owned(),
            read_header,
            is_open_ended: study.measured.num_expected != Some(records.plan.len()),
            records,
            phase: None,
            num_read: 0,
            num_allocated: 0,
            unsettled: None,
            witnesses: Vec::new(),
            trouble: None,
            has_ended: false,
        };
        Ok((study, follower))
    }

    /// Sets the phase, in degrees, that complex projections are turned back by. By default it is the one that those have which
    /// are complete when the first ones are read.
    ///
    /// # Errors
    /// The values are real.
    pub fn set_phase(&mut self, degrees: f64) -> Result<(), IoError> {
        self.records.check_phase(&self.header, Some(degrees))?;
        self.phase = Some(degrees);
        Ok(())
    }

    /// Whether nothing more will come: all projections were read, or the file became another.
    pub fn is_finished(&self) -> bool {
        self.has_ended || (!self.is_open_ended && self.num_read == self.records.plan.len())
    }

    /// Looks at the file again.
    pub fn poll(&mut self) -> SweepUpdate {
        let mut update = SweepUpdate::default();
        if !self.is_finished()
            && let Err(error) = self.look(&mut update)
        {
            self.tell_trouble(&mut update, Trouble::Unreadable, format!("{error}; waiting for it"));
        }
        update
    }

    fn look(&mut self, update: &mut SweepUpdate) -> Result<(), IoError> {
        self.extend_plan(update)?;
        let (num_complete, len) = self.records.num_complete()?;
        let data = self.records.data.display().to_string();
        if num_complete < self.num_read {
            let text = format!(
                "{data} has become shorter: {len} bytes, {num_complete} projections, where {} were read; these are used, and more \
                 are added when it has grown again",
                self.num_read
            );
            self.tell_trouble(update, Trouble::Shorter, text);
            return Ok(());
        }
        if !self.is_the_same()? {
            self.end(
                update,
                format!(
                    "{data} was replaced by another acquisition; the data read so far are used: open it again to read the new one"
                ),
            );
            return Ok(());
        }
        let mut fresh = self.records.read(self.num_read..num_complete)?;
        self.leave_unmeasured(&mut fresh, update);
        if self.trouble.take().is_some() {
            update.notices.push(Notice::info(format!("{data} is available again, unchanged")));
        }
        let num_next = self.num_read + fresh.len();
        if let Some(phase) = self.records.find_phase(self.num_read..num_next, self.phase)? {
            update.notices.push(bes3t::phase_notice("The complex projections", &phase));
            update.phase = Some(phase);
            fresh = self.records.read(self.num_read..num_next)?;
        }
        self.keep_witnesses(&fresh);
        for (index, projection) in (self.num_read..).zip(fresh) {
            match check_finite(&self.records.data, &format!("projection {}", index + 1), &projection.values) {
                Ok(()) => update.projections.push(projection),
                Err(error) => update.notices.push(Notice::warning(format!("A projection was left out: {error}"))),
            }
        }
        self.num_read = num_next;
        Ok(())
    }

    /// Takes off the end what is allocated and not measured.
    fn leave_unmeasured(&mut self, fresh: &mut Vec<Projection>, update: &mut SweepUpdate) {
        let num_there = self.num_read + fresh.len();
        let num_measured = num_measured(fresh);
        if num_measured < fresh.len() {
            if self.num_allocated == 0 {
                update.notices.push(Notice::info(format!(
                    "{} was allocated in advance: its projections {} to {num_there} are zero; each is taken in when it is measured",
                    self.records.data.display(),
                    self.num_read + num_measured + 1
                )));
            }
            self.num_allocated = self.num_allocated.max(num_there);
            fresh.truncate(num_measured);
        }
        let num_measured = self.num_read + fresh.len();
        let may_be_half = |last: &Projection| num_measured <= self.num_allocated && last.values.last() == Some(&0.0);
        let Some(last) = fresh.pop_if(|last| may_be_half(last)) else { return };
        if num_measured == num_there && self.unsettled.as_ref().is_some_and(|before| is_same(before, &last)) {
            fresh.push(last);
        } else {
            self.unsettled = Some(last);
        }
    }

    /// What is said when nobody waits any longer for what was not measured.
    pub fn unmeasured(&self) -> Option<Notice> {
        let num_zero = self.num_allocated.checked_sub(self.num_read).filter(|&num| num > 0)?;
        Some(Notice::warning(format!(
            "{num_zero} of {} projections in {} were not measured when following ended; they are not in the image",
            self.num_allocated,
            self.records.data.display()
        )))
    }

    /// Where all planned projections were read and more may come: reads the header again.
    fn extend_plan(&mut self, update: &mut SweepUpdate) -> Result<(), IoError> {
        if !self.is_open_ended || self.num_read < self.records.plan.len() {
            return Ok(());
        }
        let (study, records) = (self.read_header)(&self.header)?;
        if records.plan.len() < self.records.plan.len() && self.records.plan.starts_with(&records.plan) {
            // The directions stand in a data file that has become shorter, or is gone: its own length tells.
            return Ok(());
        }
        if !records.plan.starts_with(&self.records.plan) || records.num_points != self.records.num_points {
            let header = self.header.display();
            self.end(
                update,
                format!("{header} was replaced by another acquisition; the data read so far are used: open it again to read the new one"),
            );
            return Ok(());
        }
        self.is_open_ended = study.measured.num_expected != Some(records.plan.len());
        self.records = records;
        Ok(())
    }

    fn is_the_same(&self) -> Result<bool, IoError> {
        for (index, projection) in &self.witnesses {
            let again = self.records.read(*index..index + 1)?;
            if !again.first().is_some_and(|again| is_same(again, projection)) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn keep_witnesses(&mut self, fresh: &[Projection]) {
        let (Some(first), Some(last)) = (fresh.first(), fresh.last()) else { return };
        if self.witnesses.is_empty() {
            self.witnesses.push((self.num_read, first.clone()));
        }
        self.witnesses.truncate(1);
        self.witnesses.push((self.num_read + fresh.len() - 1, last.clone()));
    }

    fn tell_trouble(&mut self, update: &mut SweepUpdate, trouble: Trouble, text: String) {
        if self.trouble.replace(trouble) != Some(trouble) {
            update.notices.push(Notice::warning(text));
        }
    }

    fn end(&mut self, update: &mut SweepUpdate, text: String) {
        self.has_ended = true;
        update.notices.push(Notice::warning(text));
    }
}
