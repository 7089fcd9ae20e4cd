//! Pixels and voxels that are connected over their sides.

/// Returns the indices (x fastest) of the voxels connected with `start`, itself first. `take` returns whether a voxel belongs to
/// the searched set, and removes it: each is taken once, and tested from each of its sides at most.
pub fn connected(size: [usize; 3], start: usize, mut take: impl FnMut(usize) -> bool) -> Vec<usize> {
    let mut found = if take(start) { vec![start] } else { Vec::new() };
    let mut next = 0;
    while let Some(&index) = found.get(next) {
        next += 1;
        let mut stride = 1;
        for num in size {
            let place = index / stride % num;
            found.extend((place > 0 && take(index - stride)).then(|| index - stride));
            found.extend((place + 1 < num && take(index + stride)).then(|| index + stride));
            stride *= num;
        }
    }
    found
}

/// Returns the largest connected area of a mask, the first of equal ones.
pub fn largest_area(mask: &[bool], [num_x, num_y]: [usize; 2]) -> Vec<bool> {
    let mut left = mask.to_vec();
    let mut largest = Vec::new();
    for start in 0..mask.len() {
        let area = connected([num_x, num_y, 1], start, |pixel| std::mem::take(&mut left[pixel]));
        if area.len() > largest.len() {
            largest = area;
        }
    }
    let mut in_it = vec![false; mask.len()];
    largest.into_iter().for_each(|pixel| in_it[pixel] = true);
    in_it
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn areas_are_connected_over_sides_and_not_over_corners() {
        let mask: Vec<bool> = "##..# .##.. ....# ##.##".replace(' ', "").chars().map(|c| c == '#').collect();
        let expected: Vec<bool> = "##... .##.. ..... .....".replace(' ', "").chars().map(|c| c == '#').collect();
        assert_eq!(largest_area(&mask, [5, 4]), expected);
        let mut left = [true, false, true, true, true, true, false, true];
        let mut voxels = connected([2, 2, 2], 0, |voxel| std::mem::take(&mut left[voxel]));
        voxels.sort_unstable();
        assert_eq!((voxels, left[7]), (vec![0, 2, 3, 4, 5, 7], false));
    }

    #[test]
    fn the_work_is_linear_however_many_areas_there_are() {
        // A hundred thousand specks of one pixel, and as many pixels in one area.
        let specks: Vec<bool> = (0..1000 * 400).map(|pixel| pixel % 2 == 0 && pixel / 1000 % 2 == 0).collect();
        assert_eq!(specks.iter().filter(|is_there| **is_there).count(), 100_000);
        for mask in [specks, (0..100_000).map(|_| true).collect()] {
            let (mut left, mut num_looks) = (mask.clone(), 0);
            for start in 0..mask.len() {
                connected([1000, mask.len() / 1000, 1], start, |pixel| {
                    num_looks += 1;
                    std::mem::take(&mut left[pixel])
                });
            }
            let num_set = mask.iter().filter(|is_there| **is_there).count();
            assert!(num_looks <= mask.len() + 4 * num_set, "{num_looks} looks");
        }
    }
}
