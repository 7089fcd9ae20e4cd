//! Table 2 and section 4.4: the device compared with the paper's, and the number of threads of a multiprocessor with blocks of
//! one row of the object.
//!
//! The paper counts blocks of N threads by the maximum numbers of blocks and of threads of a multiprocessor,
//!
//! ```text
//! blocks = min(most blocks, ⌊most threads / N⌋),   resident threads = N · blocks
//! ```
//!
//! and its local variables by their bytes. A block takes whole warps, which the paper leaves out: both numbers are given.

use super::plan::Plan;
use super::published::{LOCAL_VARIABLE_BYTES, RESIDENT_THREADS, gtx_760};
use crate::algebra::GpuLimits;
use crate::report::{Tables, TextTable, Value};
use crate::reproduce::device::{Gpu, Limits};

/// Marks numbers of the paper's card that are not printed.
const COUNTED: &str = "c";

fn triple([x, y, z]: [u32; 3]) -> String {
    format!("{x} x {y} x {z}")
}

/// Returns table 2.
pub fn table(limits: &Limits) -> TextTable {
    let gpu = limits.gpu.as_ref();
    let kib = |bytes: u32| (bytes / 1024).to_string();
    let mut rows = Vec::new();
    let mut row = |name: &str, paper: &dyn ToString, here: &dyn Fn(&Gpu) -> Option<String>| {
        rows.push(vec![name.to_owned(), paper.to_string(), gpu.and_then(here).unwrap_or_else(|| "–".into())]);
    };
    let cores_of_one = |g: &Gpu| Some((g.num_cores()? / g.limits.num_multiprocessors.max(1)).to_string());
    let capability = |g: &Gpu| Some(format!("{}.{}", g.compute_capability.0, g.compute_capability.1));
    let known = |size: [u32; 3]| (size != [0; 3]).then(|| triple(size));
    let limit = |of: fn(&GpuLimits) -> u32| move |g: &Gpu| Some(of(&g.limits).to_string());
    let in_kib = |of: fn(&GpuLimits) -> u32| move |g: &Gpu| Some(kib(of(&g.limits)));
    let multiprocessors = gtx_760::NUM_CORES / gtx_760::NUM_CORES_PER_MULTIPROCESSOR;
    let max_threads = gtx_760::MAX_THREADS_PER_MULTIPROCESSOR;
    row("memory, GB", &gtx_760::MEMORY_GB, &|g| Some(format!("{:.1}", g.memory_bytes as f64 * 1e-9)));
    row("cores", &gtx_760::NUM_CORES, &|g| Some(g.num_cores()?.to_string()));
    row("compute capability", &gtx_760::COMPUTE_CAPABILITY, &capability);
    row("threads of a warp", &gtx_760::WARP_SIZE, &limit(|of| of.warp_size));
    row("threads of a block, at most", &gtx_760::MAX_THREADS_PER_BLOCK, &limit(|of| of.max_threads_per_block));
    row("size of a block, at most", &triple(gtx_760::MAX_BLOCK_SIZE), &|g| known(g.limits.max_block_size));
    row("size of a launch in blocks, at most", &triple(gtx_760::MAX_GRID_SIZE), &|g| known(g.limits.max_grid_size));
    row("multiprocessors", &format!("{multiprocessors}{COUNTED}"), &limit(|of| of.num_multiprocessors));
    row("cores of a multiprocessor", &gtx_760::NUM_CORES_PER_MULTIPROCESSOR, &cores_of_one);
    let max_blocks = gtx_760::MAX_BLOCKS_PER_MULTIPROCESSOR;
    row("blocks of a multiprocessor, at most", &max_blocks, &limit(|of| of.max_blocks_per_multiprocessor));
    row("threads of a multiprocessor, at most", &max_threads, &limit(|of| of.max_threads_per_multiprocessor));
    let registers = kib(4 * gtx_760::REGISTERS_PER_MULTIPROCESSOR);
    row("registers of a multiprocessor, KiB", &registers, &in_kib(|of| 4 * of.registers_per_multiprocessor));
    let variables = kib(LOCAL_VARIABLE_BYTES * max_threads);
    let here = in_kib(|of| LOCAL_VARIABLE_BYTES * of.max_threads_per_multiprocessor);
    row("local variables of all threads, KiB", &variables, &here);
    row("shared memory of a multiprocessor, KiB", &gtx_760::SHARED_KIB, &in_kib(|of| of.shared_bytes_per_multiprocessor));
    row("local memory, KiB", &gtx_760::LOCAL_KIB, &|_| None);
    let mut remarks = vec![
        format!("{COUNTED} Not in the paper's text: the cores over those of a multiprocessor."),
        format!(
            "Local variables: {LOCAL_VARIABLE_BYTES} bytes a thread, as section 4.4 counts them; where they need less than the \
registers, the registers do not limit the threads."
        ),
        "Local memory: the paper has it for a multiprocessor; the device's limit is that of one thread.".into(),
    ];
    if gpu.is_none() {
        remarks.push("This device is no GPU: it has none of these limits.".into());
    }
    TextTable {
        title: "Table 2. The GPU".into(),
        words: vec![String::new()],
        groups: vec![("paper".into(), vec!["GTX 760".into()]), ("here".into(), vec![limits.name.clone()])],
        rows,
        remarks,
    }
}

/// Returns the number of blocks of `size` threads on a multiprocessor of the paper's card, by its reasoning.
fn blocks_of_paper(size: u32) -> u32 {
    gtx_760::MAX_BLOCKS_PER_MULTIPROCESSOR.min(gtx_760::MAX_THREADS_PER_MULTIPROCESSOR / size)
}

/// Adds section 4.4.
pub fn add_resident_threads(plan: &Plan, limits: &Limits, tables: &mut Tables) {
    let mut values = Vec::new();
    for size in super::tables::sizes(plan) {
        let threads = size as u32;
        let printed = RESIDENT_THREADS.iter().any(|&(of, _)| of == size);
        let gpu = limits.gpu.as_ref();
        let value = |column: &str, unit, paper: f64, here: Option<f64>| {
            let value = Value::new("4.4", format!("{size}³"), column, unit).paper(paper).here(here);
            Value { paper_mark: if printed { "" } else { COUNTED }, ..value.digits(usize::from(unit == "%")) }
        };
        let paper = f64::from(blocks_of_paper(threads) * threads);
        let share = 100.0 / f64::from(gtx_760::MAX_THREADS_PER_MULTIPROCESSOR);
        values.push(value("blocks", "", blocks_of_paper(threads).into(), gpu.map(|g| g.resident_blocks(threads).into())));
        let here = gpu.map(|g| f64::from(g.resident_blocks(threads) * threads));
        values.push(value("threads", "", paper, here));
        let max_threads = gpu.map(|g| f64::from(g.limits.max_threads_per_multiprocessor));
        values.push(value(
            "of the most",
            "%",
            paper * share,
            here.zip(max_threads).map(|(threads, max_threads)| 100.0 * threads / max_threads),
        ));
        let in_warps = gpu.map(|g| f64::from(g.resident_blocks_of_warps(threads) * threads));
        let warps = value("threads, blocks of whole warps", "", 0.0, in_warps);
        values.extend(in_warps.map(|_| Value { paper: None, paper_mark: "", ..warps }));
    }
    let remarks = vec![
        format!(
            "A block is a row of the object. {COUNTED} counted as section 4.4 does for 64³, 128³ and 200³; not printed there."
        ),
        "A block takes whole warps, and the last one of a row of 100, 150 or 200 is partly empty: so fewer threads fit than by the \
paper's reasoning."
            .into(),
    ];
    tables.add("Section 4.4. Threads that a multiprocessor holds", values, remarks);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_papers_reasoning_gives_the_papers_numbers() {
        for (size, threads) in RESIDENT_THREADS {
            assert_eq!(blocks_of_paper(size as u32) * size as u32, threads);
        }
        assert_eq!(LOCAL_VARIABLE_BYTES * gtx_760::MAX_THREADS_PER_MULTIPROCESSOR / 1024, 136);
    }
}
