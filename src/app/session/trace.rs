//! Time line as JSON lines: the source of every figure about start-up, latency or frames.
//!
//! ```text
//! {"iteration":2,"run":1,"subiteration":28,"t":1.234567,"what":"iterate_published"}
//! ```
//!
//! `t` is in seconds since the start of the process, on a monotonic clock. The solver writes
//! `run_started`, `iterate_measured`, `iterate_published` and `run_ended`; the command line and the window write theirs.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::{Duration, Instant};

static PROCESS_START: LazyLock<Instant> = LazyLock::new(Instant::now);

/// Records the start of the process at the first call; the first line of `main` calls it.
pub fn mark_process_start() {
    LazyLock::force(&PROCESS_START);
}

pub fn since_process_start() -> Duration {
    PROCESS_START.elapsed()
}

/// Writer of the time line; clones write to the same file. The default is off and costs nothing.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    file: Option<Arc<Mutex<BufWriter<File>>>>,
}

impl Trace {
    /// Returns a time line without a file.
    pub fn off() -> Self {
        Self::default()
    }

    /// Returns a time line in a new file; its first line is the start of the process at 0.
    ///
    /// # Errors
    /// Creating the file failed.
    pub fn to_file(path: &Path) -> io::Result<Self> {
        let trace = Self { file: Some(Arc::new(Mutex::new(BufWriter::new(File::create(path)?)))) };
        trace.write_line(0.0, "process_start", &[]);
        Ok(trace)
    }

    /// Returns true if lines are written.
    pub fn is_on(&self) -> bool {
        self.file.is_some()
    }

    /// Writes one line: an occurrence with its figures. A full disk does not stop the work.
    pub fn record(&self, what: &str, figures: &[(&str, f64)]) {
        if self.is_on() {
            self.write_line(since_process_start().as_secs_f64(), what, figures);
        }
    }

    fn write_line(&self, secs: f64, what: &str, figures: &[(&str, f64)]) {
        let Some(file) = &self.file else { return };
        let mut line = serde_json::Map::new();
        line.insert("t".into(), number((secs * 1e6).round() / 1e6));
        line.insert("what".into(), what.into());
        for &(name, value) in figures {
            line.insert(name.into(), number(value));
        }
        let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
        // Each line is flushed, so that a killed program leaves its complete time line.
        let _ = serde_json::to_writer(&mut *file, &line).map_err(io::Error::from).and_then(|()| {
            file.write_all(b"\n")?;
            file.flush()
        });
    }
}

/// Returns a whole number without ".0", and null for a value that is not finite.
fn number(value: f64) -> serde_json::Value {
    if value.fract() == 0.0 && value.abs() < 1e15 { (value as i64).into() } else { value.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_json_with_a_monotonic_time() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("trace.jsonl");
        let trace = Trace::to_file(&path).unwrap();
        trace.clone().record("first", &[("run", 1.0), ("secs", 0.25)]);
        trace.record("second", &[("bad", f64::NAN)]);
        let text = std::fs::read_to_string(&path).unwrap();
        let lines: Vec<serde_json::Value> = text.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
        assert_eq!(lines.len(), 3);
        assert_eq!(lines[0]["what"], "process_start");
        assert_eq!((&lines[1]["run"], &lines[1]["secs"]), (&1.into(), &0.25.into()));
        assert!(lines[2]["bad"].is_null());
        let times: Vec<f64> = lines.iter().map(|l| l["t"].as_f64().unwrap()).collect();
        assert!(times.is_sorted() && times[0] == 0.0, "{times:?}");
        Trace::off().record("nothing", &[]);
    }
}
