//! Table 2 and section 4.4: the device beside the paper's, and how many threads a multiprocessor of it holds with blocks of
//! one row of the object.
//!
//! The paper counts blocks of N threads by the most blocks and the most threads of a multiprocessor,
//!
//! ```text
//! blocks = min(most blocks, ⌊most threads / N⌋),   resident threads = N · blocks
//! ```
//!
//! and its local variables by their bytes. A block takes whole warps, which the paper leaves out: both numbers are given.

use super::plan::Plan;
use super::published::{LOCAL_VARIABLE_BYTES, RESIDENT_THREADS, gtx_760};
use crate::report::Tables;
use crate::report::TextTable;
use crate::report::Value;
use crate::reproduce::limits::{Gpu, Limits};

/// Marks numbers of the paper's card that are not printed.
const COUNTED: &str = "c";

fn triple([x, y, z]: [u32; 3]) -> String {
    format!("{x} x {y} x {z}")
}

/// Table 2.
pub(super) fn table(limits: &Limits) -> TextTable {
    let gpu = limits.gpu.as_ref();
    let kib = |bytes: u32| (bytes / 1024).to_string();
    let mut rows = Vec::new();
    let mut row = |name: &str, paper: String, here: &dyn Fn(&Gpu) -> Option<String>| {
        rows.push(vec![name.to_owned(), paper, gpu.and_then(here).unwrap_or_else(|| "–".into())]);
    };
    let cores_of_one = |g: &Gpu| g.num_cores().map(|cores| cores / g.limits.num_multiprocessors.max(1));
    row("memory, GB", gtx_760::MEMORY_GB.to_string(), &|g| Some(format!("{:.1}", g.memory_bytes as f64 * 1e-9)));
    row("cores", gtx_760::NUM_CORES.to_string(), &|g| Some(g.num_cores()?.to_string()));
    row("compute capability", gtx_760::COMPUTE_CAPABILITY.into(), &|g| {
        Some(format!("{}.{}", g.compute_capability.0, g.compute_capability.1))
    });
    row("threads of a warp", gtx_760::WARP_SIZE.to_string(), &|g| Some(g.limits.warp_size.to_string()));
    row("threads of a block, at most", gtx_760::MAX_THREADS_PER_BLOCK.to_string(), &|g| {
        Some(g.limits.max_threads_per_block.to_string())
    });
    let known = |size: [u32; 3]| (size != [0; 3]).then(|| triple(size));
    row("size of a block, at most", triple(gtx_760::MAX_BLOCK_SIZE), &|g| known(g.limits.max_block_size));
    row("size of a launch in blocks, at most", triple(gtx_760::MAX_GRID_SIZE), &|g| known(g.limits.max_grid_size));
    let multiprocessors = gtx_760::NUM_CORES / gtx_760::NUM_CORES_PER_MULTIPROCESSOR;
    row("multiprocessors", format!("{multiprocessors}{COUNTED}"), &|g| Some(g.limits.num_multiprocessors.to_string()));
    row("cores of a multiprocessor", gtx_760::NUM_CORES_PER_MULTIPROCESSOR.to_string(), &|g| Some(cores_of_one(g)?.to_string()));
    row("blocks of a multiprocessor, at most", gtx_760::MAX_BLOCKS_PER_MULTIPROCESSOR.to_string(), &|g| {
        Some(g.limits.max_blocks_per_multiprocessor.to_string())
    });
    row("threads of a multiprocessor, at most", gtx_760::MAX_THREADS_PER_MULTIPROCESSOR.to_string(), &|g| {
        Some(g.limits.max_threads_per_multiprocessor.to_string())
    });
    row("registers of a multiprocessor, KiB", kib(4 * gtx_760::REGISTERS_PER_MULTIPROCESSOR), &|g| {
        Some(kib(4 * g.limits.registers_per_multiprocessor))
    });
    let variables = |threads: u32| kib(LOCAL_VARIABLE_BYTES * threads);
    row("local variables of all threads, KiB", variables(gtx_760::MAX_THREADS_PER_MULTIPROCESSOR), &|g| {
        Some(variables(g.limits.max_threads_per_multiprocessor))
    });
    row("shared memory of a multiprocessor, KiB", gtx_760::SHARED_KIB.to_string(), &|g| {
        Some(kib(g.limits.shared_bytes_per_multiprocessor))
    });
    row("local memory, KiB", gtx_760::LOCAL_KIB.to_string(), &|_| None);
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

/// Blocks of `size` threads that the paper's card holds on a multiprocessor, by its reasoning.
fn blocks_of_paper(size: u32) -> u32 {
    gtx_760::MAX_BLOCKS_PER_MULTIPROCESSOR.min(gtx_760::MAX_THREADS_PER_MULTIPROCESSOR / size)
}

/// Adds section 4.4.
pub(super) fn add_resident_threads(plan: &Plan, limits: &Limits, tables: &mut Tables) {
    let mut values = Vec::new();
    for size in super::tables::sizes(plan) {
        let threads = size as u32;
        let printed = RESIDENT_THREADS.iter().any(|&(of, _)| of == size);
        let gpu = limits.gpu.as_ref();
        let value = |column: &str, unit, paper: f64, here: Option<f64>| Value {
            table: "4.4",
            row: format!("{size}³"),
            column: column.into(),
            unit,
            paper: Some(paper),
            here,
            paper_mark: if printed { "" } else { COUNTED },
            digits: Some(usize::from(unit == "%")),
            ..Value::default()
        };
        let paper = f64::from(blocks_of_paper(threads) * threads);
        let share = 100.0 / f64::from(gtx_760::MAX_THREADS_PER_MULTIPROCESSOR);
        values.push(value("blocks", "", blocks_of_paper(threads).into(), gpu.map(|g| g.resident_blocks(threads).into())));
        let here = gpu.map(|g| f64::from(g.resident_blocks(threads) * threads));
        values.push(value("threads", "", paper, here));
        let most = gpu.map(|g| f64::from(g.limits.max_threads_per_multiprocessor));
        values.push(value("of the most", "%", paper * share, here.zip(most).map(|(threads, most)| 100.0 * threads / most)));
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
