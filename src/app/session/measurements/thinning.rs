//! Limit of the numbers that are stored of the steps of a run.

use std::collections::BTreeMap;

/// Largest number of stored points of a quantity.
pub const MAX_STORED: usize = 16_384;

/// Thins stored points beyond [`MAX_STORED`]: drops every second point of the older half, so that the older a point is, the fewer
/// neighbours it has. Rare points, such as those of complete iterations among steps, are thinned separately from all others.
pub fn limit<V>(points: &mut BTreeMap<usize, V>, is_rare: impl Fn(&V) -> bool) {
    if points.len() <= MAX_STORED {
        return;
    }
    let num_older = points.len() / 2;
    let (mut index, mut num_of_kind) = (0, [0_usize; 2]);
    points.retain(|_, point| {
        index += 1;
        let num = &mut num_of_kind[usize::from(is_rare(point))];
        *num += 1;
        index > num_older || *num % 2 == 1
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_older_half_loses_every_second_point_and_rare_points_are_thinned_separately() {
        // Every fourth step completes an iteration.
        let mut points: BTreeMap<usize, bool> = (1..=MAX_STORED).map(|step| (step, step % 4 == 0)).collect();
        limit(&mut points, |is_rare| *is_rare);
        assert_eq!(points.len(), MAX_STORED, "within the limit");
        points.insert(MAX_STORED + 1, false);
        limit(&mut points, |is_rare| *is_rare);
        let half = MAX_STORED / 2;
        assert_eq!(points.len(), half / 2 + half + 1);
        assert_eq!(points.range(half + 1..).count(), half + 1, "the newer half stays");
        let older = |is_rare| points.range(..=half).filter(move |(_, rare)| **rare == is_rare).map(|(step, _)| *step);
        assert_eq!(older(true).take(3).collect::<Vec<_>>(), [4, 12, 20]);
        assert_eq!(older(false).take(4).collect::<Vec<_>>(), [1, 3, 6, 9]);
        // However many steps a run has, their number stays below the limit.
        for step in MAX_STORED + 2..20 * MAX_STORED {
            points.insert(step, false);
            limit(&mut points, |is_rare| *is_rare);
        }
        assert!(points.len() <= MAX_STORED && points.contains_key(&1), "{}", points.len());
    }
}
