//! An acquisition whose file is still being written: each poll returns its new complete projections.
//!
//! A projection is complete when all its bytes are in the file. In a file that was allocated in advance, which ends in
//! projections of zeros, a projection is complete if its last sample or a later projection is not zero; the very last one also if
//! it did not change between two polls. A file that gets shorter, disappears or is replaced is reported once, and all projections
//! read before remain. If the file returns with the same projections, following continues; if it returns with others, following
//! ends.

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
    /// True if the header can still add projections.
    is_open_ended: bool,
    num_read: usize,
    /// Records that were in the file before they were measured.
    num_allocated: usize,
    /// The last record of an allocated file, when it may be half written.
    unsettled: Option<Projection>,
    /// First and last record that were read, with their numbers. They identify the file.
    witnesses: Vec<(usize, Projection)>,
    /// The current trouble, which is reported once.
    trouble: Option<Trouble>,
    has_ended: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trouble {
    Unreadable,
    Shorter,
}

/// Returns true if both have the same samples, bit by bit: NaN equals itself.
fn is_same(a: &Projection, b: &Projection) -> bool {
    a.values.iter().map(|value| value.to_bits()).eq(b.values.iter().map(|value| value.to_bits()))
}

/// Changes since the last poll.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SweepUpdate {
    /// Projections that have become complete, in the order of acquisition.
    pub projections: Vec<Projection>,
    /// The phase that complex projections are turned back by, when it was found.
    pub phase: Option<Phase>,
    /// Notices for the user.
    pub notices: Vec<Notice>,
}

impl SweepFollower {
    /// Returns a study without projections from a header, and the follower of its data file. The first [`SweepFollower::poll`]
    /// returns projections; the data file need not exist yet.
    ///
    /// # Errors
    /// The header does not read.
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

    /// Returns true if no projections will follow: all were read, or the file was replaced.
    pub fn is_finished(&self) -> bool {
        self.has_ended || (!self.is_open_ended && self.num_read == self.records.plan.len())
    }

    /// Looks at the file again.
    pub fn poll(&mut self) -> SweepUpdate {
        let mut update = SweepUpdate::default();
        if !self.is_finished()
            && let Err(error) = self.look(&mut update)
        {
            self.report_trouble(&mut update, Trouble::Unreadable, format!("{error}; waiting for it"));
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
            self.report_trouble(update, Trouble::Shorter, text);
            return Ok(());
        }
        if !self.is_unchanged()? {
            self.end(update, &data);
            return Ok(());
        }
        let mut fresh = self.records.read(self.num_read..num_complete)?;
        self.remove_unmeasured(&mut fresh, update);
        if self.trouble.take().is_some() {
            update.notices.push(Notice::info(format!("{data} is available again, unchanged")));
        }
        let num_next = self.num_read + fresh.len();
        if let Some(phase) = self.records.find_phase(self.num_read..num_next, self.phase)? {
            update.notices.push(bes3t::phase_notice("The complex projections", &phase));
            update.phase = Some(phase);
            fresh = self.records.read(self.num_read..num_next)?;
        }
        self.update_witnesses(&fresh);
        for (index, projection) in (self.num_read..).zip(fresh) {
            match check_finite(&self.records.data, &format!("projection {}", index + 1), &projection.values) {
                Ok(()) if projection.is_zero() => update.notices.push(Notice::warning(format!(
                    "A projection was left out: {data}: projection {} contains zeros only, it was not measured",
                    index + 1
                ))),
                Ok(()) => update.projections.push(projection),
                Err(error) => update.notices.push(Notice::warning(format!("A projection was left out: {error}"))),
            }
        }
        self.num_read = num_next;
        Ok(())
    }

    /// Removes the allocated, unmeasured projections from the end.
    fn remove_unmeasured(&mut self, fresh: &mut Vec<Projection>, update: &mut SweepUpdate) {
        let num_available = self.num_read + fresh.len();
        let num_measured = num_measured(fresh);
        if num_measured < fresh.len() {
            if self.num_allocated == 0 {
                update.notices.push(Notice::info(format!(
                    "{} was allocated in advance: its projections {} to {num_available} are zero; each is taken in when it is measured",
                    self.records.data.display(),
                    self.num_read + num_measured + 1
                )));
            }
            self.num_allocated = self.num_allocated.max(num_available);
            fresh.truncate(num_measured);
        }
        let num_measured = self.num_read + fresh.len();
        let may_be_half = |last: &Projection| num_measured <= self.num_allocated && last.values.last() == Some(&0.0);
        let Some(last) = fresh.pop_if(|last| may_be_half(last)) else { return };
        if num_measured == num_available && self.unsettled.as_ref().is_some_and(|before| is_same(before, &last)) {
            fresh.push(last);
        } else {
            self.unsettled = Some(last);
        }
    }

    /// Returns the notice on projections that were not measured when following ended.
    pub fn unmeasured(&self) -> Option<Notice> {
        let num_zero = self.num_allocated.checked_sub(self.num_read).filter(|&num| num > 0)?;
        Some(Notice::warning(format!(
            "{num_zero} of {} projections in {} were not measured when following ended; they are not in the image",
            self.num_allocated,
            self.records.data.display()
        )))
    }

    /// Reads the header again if all planned projections were read and more may come.
    fn extend_plan(&mut self, update: &mut SweepUpdate) -> Result<(), IoError> {
        if !self.is_open_ended || self.num_read < self.records.plan.len() {
            return Ok(());
        }
        let (study, records) = (self.read_header)(&self.header)?;
        if records.plan.len() < self.records.plan.len() && self.records.plan.starts_with(&records.plan) {
            // The directions are in a data file that is shorter now or missing; its length is reported.
            return Ok(());
        }
        if !records.plan.starts_with(&self.records.plan) || records.num_points != self.records.num_points {
            self.end(update, &self.header.display().to_string());
            return Ok(());
        }
        self.is_open_ended = study.measured.num_expected != Some(records.plan.len());
        self.records = records;
        Ok(())
    }

    fn is_unchanged(&self) -> Result<bool, IoError> {
        for (index, projection) in &self.witnesses {
            let again = self.records.read(*index..index + 1)?;
            if !again.first().is_some_and(|again| is_same(again, projection)) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn update_witnesses(&mut self, fresh: &[Projection]) {
        let (Some(first), Some(last)) = (fresh.first(), fresh.last()) else { return };
        if self.witnesses.is_empty() {
            self.witnesses.push((self.num_read, first.clone()));
        }
        self.witnesses.truncate(1);
        self.witnesses.push((self.num_read + fresh.len() - 1, last.clone()));
    }

    fn report_trouble(&mut self, update: &mut SweepUpdate, trouble: Trouble, text: String) {
        if self.trouble.replace(trouble) != Some(trouble) {
            update.notices.push(Notice::warning(text));
        }
    }

    /// Ends the following of a file that was replaced.
    fn end(&mut self, update: &mut SweepUpdate, file: &str) {
        self.has_ended = true;
        let text = "was replaced by another acquisition; the data read so far are used: open it again to read the new one";
        update.notices.push(Notice::warning(format!("{file} {text}")));
    }
}
