//! How many bytes of images may be under way: as many as the line takes up, and a few milliseconds more, so that it never runs dry
//! and nothing else waits long behind them.
//!
//! The other end tells of each piece that it has. How long that took beyond the line's own delay is how long pieces stood in a queue;
//! the number of bytes under way follows that time to [`QUEUE`] (as LEDBAT does, RFC 6817). The line's own delay is that of a piece
//! before which nothing was under way: now and then the line is let run dry for one. After it there are twice as many in each time of the
//! line until it is full again.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// How long pieces may wait for those before them.
const QUEUE: Duration = Duration::from_millis(5);

/// Bytes with which a line begins: what one of 100 Mbit/s takes up in 20 ms.
const BEGIN: f64 = 256e3;

/// Fewest and most bytes.
const RANGE: [f64; 2] = [32e3, 16e6];

/// How often the line's own delay is measured anew.
const MEASURE_EVERY: Duration = Duration::from_secs(10);

/// Bytes by which it is told how many the line carries.
const RATE_OVER: usize = 1 << 20;

/// Part of what is wrong that is put right in one time of the line.
const GAIN: f64 = 0.5;

/// A piece that is under way.
struct Piece {
    at: Instant,
    bytes: usize,
    /// Whether slices are there with it.
    ends_slices: bool,
    /// Whether it measures the line's own delay: nothing was under way when it was sent.
    measures: bool,
}

/// What is under way, and how much may be.
pub struct Flow {
    under_way: VecDeque<Piece>,
    num_bytes: usize,
    /// How many bytes may be, and how many of them now.
    most: f64,
    most_now: f64,
    /// Whether no queue has formed yet: until then more and more may be.
    is_beginning: bool,
    /// The line's own delay, and when it was measured.
    delay: Option<(Duration, Instant)>,
    /// Whether the line is let run dry.
    is_drained: bool,
    /// When a piece arrived last, how many bytes have since it is counted, and how long they were what the line carried.
    last_arrived: Option<Instant>,
    carried: (usize, Duration),
    bytes_per_sec: f64,
}

impl Default for Flow {
    fn default() -> Self {
        Self {
            under_way: VecDeque::new(),
            num_bytes: 0,
            most: BEGIN,
            most_now: BEGIN,
            is_beginning: true,
            delay: None,
            is_drained: false,
            last_arrived: None,
            carried: (0, Duration::ZERO),
            bytes_per_sec: 0.0,
        }
    }
}

impl Flow {
    /// Whether another piece may be sent.
    pub fn has_room(&mut self, now: Instant) -> bool {
        self.is_drained |= self.is_to_measure(now) && !self.under_way.is_empty();
        if self.is_drained { self.under_way.is_empty() } else { (self.num_bytes as f64) < self.most_now }
    }

    fn is_to_measure(&self, now: Instant) -> bool {
        self.delay.is_none_or(|(_, at)| now.duration_since(at) > MEASURE_EVERY)
    }

    /// A piece is sent, perhaps the last of slices.
    pub fn sent(&mut self, now: Instant, bytes: usize, ends_slices: bool) {
        let measures = self.under_way.is_empty() && self.is_to_measure(now);
        if measures {
            self.delay = Some((self.delay.map_or(Duration::MAX, |(delay, _)| delay), now));
            if std::mem::take(&mut self.is_drained) {
                self.most_now = 0.0;
            }
        }
        self.under_way.push_back(Piece { at: now, bytes, ends_slices, measures });
        self.num_bytes += bytes;
    }

    /// Bytes that the line carries in a second, at least; zero where it is not known yet.
    pub fn bytes_per_sec(&self) -> f64 {
        self.bytes_per_sec
    }

    /// How many pieces under way are the last of slices.
    pub fn num_slices(&self) -> usize {
        self.under_way.iter().filter(|piece| piece.ends_slices).count()
    }

    /// The next piece has arrived; `None` where none is under way.
    pub fn arrived(&mut self, now: Instant) -> Option<()> {
        let was_full = self.num_bytes as f64 >= self.most;
        let Piece { at, bytes, measures, .. } = self.under_way.pop_front()?;
        self.num_bytes -= bytes;
        let time = now.duration_since(at);
        let (before, measured_at) = self.delay.unwrap_or((time, now));
        let delay = if measures { time } else { before.min(time) };
        self.delay = Some((delay, measured_at));
        let queue = time - delay;
        // What was sent at once to begin with has not formed one that lasts.
        self.is_beginning &= queue < QUEUE.max(delay / 4);
        let wrong = (QUEUE.as_secs_f64() - queue.as_secs_f64()) / time.as_secs_f64().max(1e-6);
        let more = if self.is_beginning { 1.0 } else { GAIN * wrong.clamp(-1.0, 2.0) };
        // Where less was under way than might have been it is not known whether more could be.
        if was_full || more < 0.0 {
            self.most = (self.most + bytes as f64 * more).clamp(RANGE[0], RANGE[1]);
        }
        self.most_now = (self.most_now + bytes as f64).min(self.most);
        self.count(bytes, now.duration_since(self.last_arrived.map_or(at, |last| last.max(at))));
        self.last_arrived = Some(now);
        Some(())
    }

    /// So many bytes more have arrived, so long after those before them or after they were sent.
    fn count(&mut self, bytes: usize, time: Duration) {
        let (carried, taken) = (self.carried.0 + bytes, self.carried.1 + time);
        self.carried = (carried, taken);
        if carried >= RATE_OVER {
            // Where either end was busy with something else it was less than the line carries.
            self.bytes_per_sec = (carried as f64 / taken.as_secs_f64().max(1e-6)).max(0.8 * self.bytes_per_sec);
            self.carried = (0, Duration::ZERO);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PIECE: usize = 24_000;

    /// Sends over a line of so many bytes a second and so long a way there and back for some seconds: bytes a second that arrived in
    /// the second half of the time, and how long a piece waited for others then, at most and in the mean.
    fn send(flow: &mut Flow, start: Instant, bytes_per_sec: f64, way: f64, secs: f64) -> (f64, f64, f64) {
        let at = |secs: f64| start + Duration::from_secs_f64(secs);
        let (mut now, mut free, mut under_way) = (0.0f64, 0.0f64, VecDeque::new());
        let (mut num_bytes, mut waits) = (0, Vec::new());
        while now < secs {
            while flow.has_room(at(now)) {
                flow.sent(at(now), PIECE, false);
                let wait = (free - now).max(0.0);
                free = now + wait + PIECE as f64 / bytes_per_sec;
                under_way.push_back(free + way);
                if now > secs / 2.0 {
                    waits.push(wait);
                }
            }
            now = under_way.pop_front().unwrap();
            flow.arrived(at(now)).unwrap();
            num_bytes += if now > secs / 2.0 { PIECE } else { 0 };
        }
        let mean = waits.iter().sum::<f64>() / waits.len() as f64;
        (num_bytes as f64 / (secs / 2.0), waits.into_iter().fold(0.0, f64::max), mean)
    }

    #[test]
    fn every_line_is_filled_and_no_queue_forms() {
        for bytes_per_sec in [1.25e6, 12.5e6, 125e6] {
            for way in [0.001, 0.02, 0.1] {
                let (rate, longest, mean) = send(&mut Flow::default(), Instant::now(), bytes_per_sec, way, 20.0);
                let piece = PIECE as f64 / bytes_per_sec;
                let words = format!("{bytes_per_sec} B/s, {way} s: {rate} B/s, waits {mean} s, at most {longest} s");
                assert!(rate > 0.85 * bytes_per_sec, "{words}");
                // It is longer for a moment after the line ran dry.
                assert!(mean < 0.007 + piece && longest < 0.01 + 0.5 * way + 2.0 * piece, "{words}");
            }
        }
    }

    #[test]
    fn a_line_that_becomes_another_is_known_again() {
        let (mut flow, start) = (Flow::default(), Instant::now());
        send(&mut flow, start, 12.5e6, 0.02, 12.0);
        while flow.arrived(start + Duration::from_secs(13)).is_some() {}
        let (rate, longest, mean) = send(&mut flow, start + Duration::from_secs(13), 5e6, 0.08, 30.0);
        assert!(rate > 4.5e6 && mean < 0.007 && longest < 0.06, "{rate} {longest} {mean}");
        assert!(Flow::default().arrived(start).is_none());
    }
}
