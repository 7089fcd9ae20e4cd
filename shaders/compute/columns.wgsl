// Columns of an image: value k of column c of a block of `width` columns lies at c % width + k width, and the blocks of
// width x len values follow each other. One thread has a column, or the part of it that lies in the buffer.

struct Columns {
    len: u32,
    width: u32,
    // Places of the buffer: from the first on.
    first: u32,
    num: u32,
    least: f32,
    // The first column of `largest`, and how many it has.
    first_column: u32,
    num_columns: u32,
}

const THREADS: u32 = 256u;

@group(0) @binding(0) var<uniform> columns: Columns;
@group(0) @binding(1) var<storage, read_write> values: array<f32>;
@group(0) @binding(2) var<storage, read_write> largest: array<f32>;

// The column of a thread, counted from the first of `largest`.
fn column_of(thread: u32, group: vec3u, groups: vec3u) -> u32 {
    return (group.x + group.y * groups.x) * THREADS + thread;
}

// Where value k of a column lies in the buffer; at `num` or beyond if it lies in another one.
fn place(column: u32, k: u32) -> u32 {
    return column / columns.width * (columns.width * columns.len) + column % columns.width + k * columns.width - columns.first;
}

// largest[column] = the largest value of a column, at least 0
@compute @workgroup_size(THREADS)
fn find_largest(@builtin(local_invocation_index) thread: u32, @builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let column = column_of(thread, group, groups);
    if column < columns.num_columns {
        var most = largest[column];
        for (var k = 0u; k < columns.len; k++) {
            let at = place(columns.first_column + column, k);
            if at < columns.num {
                most = max(most, values[at]);
            }
        }
        largest[column] = most;
    }
}

// values = 0 where they are at most `least` of the largest of their column
@compute @workgroup_size(THREADS)
fn drop_rounding(@builtin(local_invocation_index) thread: u32, @builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let column = column_of(thread, group, groups);
    if column < columns.num_columns {
        let least = columns.least * largest[column];
        for (var k = 0u; k < columns.len; k++) {
            let at = place(columns.first_column + column, k);
            if at < columns.num && values[at] <= least {
                values[at] = 0.0;
            }
        }
    }
}
