// Values of the threads beside a thread in a row of 32, where a row lies in a subgroup.

const KNOWS_NEIGHBOURS: bool = true;

// The value of the thread before; of the first thread that of the last one in `before`, the register before.
fn of_thread_before(value: f32, before: f32, thread: u32, tracked: f32) -> f32 {
    let same = subgroupShuffleUp(value, 1u);
    let last = subgroupShuffleDown(before, 31u);
    return select(same, last, thread == 0u);
}

// The value of the thread behind; of the last thread that of the first one in `behind`, the register behind.
fn of_thread_behind(value: f32, behind: f32, thread: u32, tracked: f32) -> f32 {
    let same = subgroupShuffleDown(value, 1u);
    let first = subgroupShuffleUp(behind, 31u);
    return select(same, first, thread == 31u);
}
