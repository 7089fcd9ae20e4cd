//! Table 1: the device compared with the paper's.

use super::published::{GPUS, REGISTERS_AND_BLOCK};
use crate::report::TextTable;
use crate::reproduce::device::{Gpu, Limits};

/// Returns table 1 with the paper's two GPUs, and the number of resident threads of this device.
pub fn table(limits: &Limits) -> TextTable {
    let [registers, block] = REGISTERS_AND_BLOCK;
    let gpu = limits.gpu.as_ref();
    let paper = |row: usize| GPUS.map(|numbers| format!("{}", numbers[row]));
    let here = |number: &dyn Fn(&Gpu) -> String| gpu.map_or_else(|| "–".into(), number);
    let none = || ["–".to_owned(), "–".to_owned()];
    let mut rows = Vec::new();
    let mut row = |name: &str, paper: [String; 2], here: String| {
        // Rows without any value are omitted.
        if here != "–" || paper != none() {
            rows.push([vec![name.to_owned()], paper.into(), vec![here]].concat());
        }
    };
    row("CUDA cores", paper(0), here(&|g| g.num_cores().map_or_else(|| "–".into(), |n| n.to_string())));
    row("processor clock, MHz", paper(1), here(&|g| (g.limits.clock_khz / 1000).to_string()));
    row("memory bandwidth, GB/s", paper(2), here(&|g| g.bandwidth_gb_per_s().map_or_else(|| "–".into(), |b| format!("{b:.1}"))));
    row("memory, GB", paper(3), here(&|g| format!("{:.1}", g.memory_bytes as f64 * 1e-9)));
    row("compute capability", paper(4), here(&|g| format!("{}.{}", g.compute_capability.0, g.compute_capability.1)));
    row("multiprocessors", none(), here(&|g| g.limits.num_multiprocessors.to_string()));
    row("threads of a block, at most", none(), here(&|g| g.limits.max_threads_per_block.to_string()));
    row("threads of a multiprocessor, at most", none(), here(&|g| g.limits.max_threads_per_multiprocessor.to_string()));
    row("registers of a multiprocessor", none(), here(&|g| g.limits.registers_per_multiprocessor.to_string()));
    row(
        "shared memory of a multiprocessor, KiB",
        none(),
        here(&|g| (g.limits.shared_bytes_per_multiprocessor / 1024).to_string()),
    );
    row("second-level cache, MiB", none(), here(&|g| format!("{:.1}", f64::from(g.limits.l2_cache_bytes) / 1048576.0)));
    row("resident threads, at most", none(), here(&|g| g.resident_threads().to_string()));
    let name = format!("resident threads, {registers} registers, blocks of {block}");
    row(&name, none(), here(&|g| g.resident_threads_of(registers, block).to_string()));
    let remark = match gpu {
        Some(_) => "The last line takes the paper's kernels' registers and its block size for the GTX480.",
        None => "This device is no GPU: it has none of these limits.",
    };
    TextTable {
        title: "Table 1. The GPUs".into(),
        words: vec![String::new()],
        groups: vec![("paper".into(), vec!["GTX-285".into(), "GTX-480".into()]), ("here".into(), vec![limits.name.clone()])],
        rows,
        remarks: vec![remark.into()],
    }
}
