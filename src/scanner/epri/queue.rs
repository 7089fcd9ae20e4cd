//! Which projection comes next: as they were acquired, or each as far in angle from all before as any that has arrived, so
//! that the picture is whole early.

use super::Order;
use crate::geometry::{Point, dot};

/// The directions of projections that have arrived and are not used yet.
pub struct Queue {
    order: Order,
    directions: Vec<Point>,
    /// Those not used yet, ascending, with the cosine of the angle to the nearest used one.
    waiting: Vec<(usize, f64)>,
    used: Vec<usize>,
}

/// |cos| of the angle between two directions: a plane's normal has no sign.
fn closeness(a: Point, b: Point) -> f64 {
    dot(a, b).abs()
}

impl Queue {
    /// Of no direction yet.
    pub fn new(order: Order) -> Self {
        Self { order, directions: Vec::new(), waiting: Vec::new(), used: Vec::new() }
    }

    /// How many wait.
    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// The next one to arrive.
    pub fn push(&mut self, direction: Point) {
        let nearest = match self.order {
            Order::AsAcquired => 0.0,
            Order::Spaced => self.used.iter().map(|&used| closeness(self.directions[used], direction)).fold(0.0, f64::max),
        };
        self.waiting.push((self.directions.len(), nearest));
        self.directions.push(direction);
    }

    /// Takes up to `count` out, in the order of their use.
    pub fn take(&mut self, count: usize) -> Vec<usize> {
        let count = count.min(self.waiting.len());
        match self.order {
            Order::AsAcquired => self.waiting.drain(..count).map(|(index, _)| index).collect(),
            Order::Spaced => (0..count).filter_map(|_| self.take_farthest()).collect(),
        }
    }

    /// Those that wait, ascending.
    pub(super) fn into_waiting(self) -> Vec<usize> {
        self.waiting.into_iter().map(|(index, _)| index).collect()
    }

    fn take_farthest(&mut self) -> Option<usize> {
        let farthest = self.waiting.iter().enumerate().min_by(|(_, a), (_, b)| a.1.total_cmp(&b.1))?.0;
        let (index, _) = self.waiting.remove(farthest);
        let taken = self.directions[index];
        for (other, nearest) in &mut self.waiting {
            *nearest = nearest.max(closeness(self.directions[*other], taken));
        }
        self.used.push(index);
        Some(index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spaced_order_begins_with_three_right_angles_and_uses_each_once() {
        let mut queue = Queue::new(Order::Spaced);
        for k in 0..12 {
            let angle = f64::from(k) * std::f64::consts::PI / 12.0;
            queue.push([angle.cos(), angle.sin(), 0.0]);
        }
        queue.push([0.0, 0.0, -1.0]);
        let mut order = queue.take(3);
        assert_eq!(order[0], 0);
        assert!(order[1..].contains(&6) && order[1..].contains(&12), "{order:?}");
        order.extend(queue.take(100));
        order.sort_unstable();
        assert_eq!(order, (0..13).collect::<Vec<_>>());
        assert_eq!(queue.len(), 0);
    }
}
