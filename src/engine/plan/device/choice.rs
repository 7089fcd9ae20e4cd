//! Where a run computes, as the user asks for it.

use std::str::FromStr;

/// Where the run computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DeviceChoice {
    /// The best available device; the run reports which.
    Auto,
    /// The processor.
    Cpu,
    /// The CUDA device of this number.
    Cuda(usize),
    /// Several CUDA devices, which share the data out among them.
    Gpus(GpuSet),
    /// The GPU of this number through wgpu: of any manufacturer.
    WebGpu(usize),
}

/// CUDA devices of one host by their numbers, 0 to 63. As a text they are `0,1`, or `all`.
///
/// ```
/// use tomoscope_engine::plan::GpuSet;
///
/// let gpus: GpuSet = "0,2".parse()?;
/// assert_eq!(gpus.numbers(4).collect::<Vec<_>>(), [0, 2]);
/// assert_eq!(GpuSet::ALL.numbers(4).count(), 4);
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct GpuSet(u64);

impl GpuSet {
    /// All that there are.
    pub const ALL: GpuSet = GpuSet(u64::MAX);

    /// Returns the devices of these numbers; `None` if one is too large or repeated, or without any.
    pub fn of(numbers: impl IntoIterator<Item = usize>) -> Option<Self> {
        let add = |bits: u64, number: usize| {
            let bit = 1u64.checked_shl(number.try_into().ok()?)?;
            (bits & bit == 0).then_some(bits | bit)
        };
        numbers.into_iter().try_fold(0, add).filter(|bits| *bits != 0).map(Self)
    }

    /// Returns their numbers, of `num_gpus`.
    pub fn numbers(self, num_gpus: usize) -> impl Iterator<Item = usize> {
        let end = if self == Self::ALL { num_gpus } else { 64 };
        (0..end.min(64)).filter(move |number| self.0 >> number & 1 != 0)
    }
}

impl From<GpuSet> for String {
    fn from(set: GpuSet) -> Self {
        set.to_string()
    }
}

impl TryFrom<String> for GpuSet {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl FromStr for GpuSet {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "all" {
            return Ok(Self::ALL);
        }
        let numbers = text.split(',').map(|number| number.parse().ok()).collect::<Option<Vec<usize>>>();
        let set = numbers.and_then(Self::of);
        set.ok_or_else(|| format!("'{text}' is no list of GPUs; write their numbers, each once (0,1), or all"))
    }
}

impl std::fmt::Display for GpuSet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if *self == Self::ALL {
            return f.write_str("all");
        }
        let numbers: Vec<String> = self.numbers(64).map(|number| number.to_string()).collect();
        f.write_str(&numbers.join(","))
    }
}

impl FromStr for DeviceChoice {
    type Err = String;

    /// Parses auto, cpu, cuda, cuda:N, gpu, gpu:N; or several: cuda:N,M or cuda:all.
    fn from_str(text: &str) -> Result<Self, String> {
        let choice = match text {
            "auto" => Some(DeviceChoice::Auto),
            "cpu" => Some(DeviceChoice::Cpu),
            "cuda" => Some(DeviceChoice::Cuda(0)),
            "gpu" => Some(DeviceChoice::WebGpu(0)),
            _ if text.starts_with("gpu:") => text[4..].parse().ok().map(DeviceChoice::WebGpu),
            _ => text.strip_prefix("cuda:").and_then(|numbers| {
                let one = numbers.parse().map(DeviceChoice::Cuda);
                one.ok().or_else(|| numbers.parse::<GpuSet>().ok().map(DeviceChoice::Gpus))
            }),
        };
        choice.ok_or_else(|| format!("'{text}' is not a device; use auto, cpu, cuda, cuda:N, cuda:N,M, cuda:all, gpu or gpu:N"))
    }
}

impl DeviceChoice {
    /// Returns the device of work that is not shared: the first of several.
    pub(in crate::plan) fn first(self) -> Self {
        match self {
            DeviceChoice::Gpus(set) => DeviceChoice::Cuda(set.numbers(64).next().unwrap_or(0)),
            one => one,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_of_gpus_come_back_from_their_text() {
        for (text, numbers) in [("0,1", &[0, 1][..]), ("3", &[3]), ("63,0,7", &[0, 7, 63]), ("all", &[0, 1, 2])] {
            let set: GpuSet = text.parse().unwrap();
            assert_eq!(set.numbers(3).collect::<Vec<_>>(), numbers);
            assert_eq!(serde_json::from_str::<GpuSet>(&serde_json::to_string(&set).unwrap()).unwrap(), set);
            let choice = DeviceChoice::Gpus(set);
            let text = toml::to_string(&std::collections::BTreeMap::from([("device", choice)])).unwrap();
            assert_eq!(toml::from_str::<std::collections::BTreeMap<String, DeviceChoice>>(&text).unwrap()["device"], choice);
        }
        for text in ["", "0,0", "64", "1,", "-1", "some"] {
            assert!(text.parse::<GpuSet>().is_err(), "{text}");
        }
    }
}
