//! When something was made.

use std::time::{Duration, Instant};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// When something was made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Times {
    /// Start in UTC, RFC 3339, whole seconds.
    pub started: String,
    /// Seconds that it took, pauses left out.
    pub elapsed_secs: f64,
}

/// The moment at which something was begun, on the calendar and on the clock that only goes forward.
#[derive(Clone, Copy, Debug)]
pub struct Start {
    date: Timestamp,
    clock: Instant,
}

impl Start {
    /// Returns this moment.
    pub fn now() -> Self {
        Self { date: Timestamp::now(), clock: Instant::now() }
    }

    /// Returns the start and the time since then.
    pub fn times(self) -> Times {
        self.times_of(self.clock.elapsed())
    }

    /// Returns the start with this duration.
    pub fn times_of(self, elapsed: Duration) -> Times {
        Times { started: format!("{:.0}", self.date), elapsed_secs: elapsed.as_secs_f64() }
    }
}
