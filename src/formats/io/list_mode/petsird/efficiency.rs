//! Detection efficiencies of pairs of crystals. For detection bins i and j the efficiency is
//!
//! ```text
//! calibration · bin[i] · bin[j] · module pair[group][element and energy of i][element and energy of j]
//! ```
//!
//! where the group is that of symmetric pairs of modules; −1 = not in coincidence; absent factors are 1. The efficiency of a pair
//! of crystals is the sum over its energy bins.

use super::binary::{Value, unlike};
use super::geometry::ModuleType;
use crate::data::{Fingerprint, PairEfficiency};
use crate::io::error::Mismatch;
use crate::io::list_mode::petsird::problem::PetsirdProblem;

/// The efficiencies of a file, energies together.
#[derive(Debug)]
pub struct Efficiencies {
    calibration: f64,
    /// Type, module and element of each crystal.
    locations: Vec<[u32; 3]>,
    /// Of each type's detection bins.
    bins: Vec<Vec<f32>>,
    /// Of each crystal, its energies together.
    sums: Vec<f64>,
    types: Vec<ModuleType>,
    num_energies: Vec<usize>,
    /// Of types t₁ ≥ t₂, at t₁ (t₁ + 1) / 2 + t₂.
    pairs: Vec<ModulePairs>,
}

/// The pairs of modules of two types.
#[derive(Debug, Default)]
struct ModulePairs {
    /// The group of each pair, `[module₁][module₂]`; no rows where all pairs are in coincidence.
    groups: Vec<Vec<i32>>,
    /// Of each group; none where it is 1.
    tables: Vec<Table>,
}

/// `[element₁ (and energy)][element₂ (and energy)]`
#[derive(Debug)]
struct Table {
    values: Vec<f32>,
    num_columns: usize,
    /// True if energies do not matter: a row and a column for an element.
    is_merged: bool,
}

impl Efficiencies {
    /// Reads a `detectionEfficiencies`; `None` = all pairs count as 1.
    ///
    /// # Errors
    /// Sizes that contradict the modules, values that are none.
    pub fn new(
        value: &Value,
        types: &[ModuleType],
        num_energies: &[usize],
        calibration: f64,
    ) -> Result<Option<Self>, PetsirdProblem> {
        let of_types = |name: &str| value.maybe(name).map(|_| value.list(name)).transpose().map(Option::unwrap_or_default);
        let bins = of_types("detectionBinEfficiencies")?;
        let groups = of_types("modulePairSGIDLUT")?;
        let vectors = of_types("modulePairEfficienciesVectors")?;
        let (mut all_bins, mut sums, mut locations, mut pairs) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for (t1, ty) in types.iter().enumerate() {
            let expected = ty.num_crystals().saturating_mul(num_energies[t1]);
            let of_bins = bin_values(bins, t1, expected)?;
            sums.extend((0..ty.num_crystals()).map(|crystal| sum_of_bins(&of_bins, crystal, num_energies[t1])));
            locations.extend((0..ty.num_crystals()).map(|i| [t1, i / ty.num_elements, i % ty.num_elements].map(|n| n as u32)));
            all_bins.push(of_bins);
            for (t2, other) in types.iter().enumerate().take(t1 + 1) {
                let sides = [(ty, num_energies[t1]), (other, num_energies[t2])];
                let rows = of_pair(groups, t1, t2).and_then(Value::items).unwrap_or_default();
                let groups = module_groups(rows, sides, t1 == t2)?;
                let tables = of_pair(vectors, t1, t2).and_then(Value::items).unwrap_or_default();
                let tables = tables
                    .iter()
                    .enumerate()
                    .map(|(group, table)| Table::new(table, group, sides))
                    .collect::<Result<Vec<_>, _>>()?;
                let last = groups.iter().flatten().copied().max().unwrap_or(0);
                if !tables.is_empty() && last as i64 >= tables.len() as i64 {
                    return Err(PetsirdProblem::NoGroup(last, tables.len()));
                }
                pairs.push(ModulePairs { groups, tables });
            }
        }
        let is_one = |pair: &ModulePairs| pair.tables.is_empty() && pair.groups.iter().flatten().all(|group| *group >= 0);
        if calibration == 1.0 && sums.iter().all(|sum| *sum == 1.0) && pairs.iter().all(is_one) {
            return Ok(None);
        }
        let (types, num_energies) = (types.to_vec(), num_energies.to_vec());
        Ok(Some(Self { calibration, locations, bins: all_bins, sums, types, num_energies, pairs }))
    }

    /// Returns the sum over the energy bins of two crystals, whose efficiencies depend on both energies.
    fn over_energies(&self, table: &Table, locations: [[u32; 3]; 2]) -> f64 {
        let side = |side: usize| {
            let [ty, module, element] = locations[side].map(|n| n as usize);
            let (num, ty_of) = (self.num_energies[ty], &self.types[ty]);
            let first_bin = (module * ty_of.num_elements + element) * num;
            (0..num)
                .map(move |energy| (self.bins[ty].get(first_bin + energy).map_or(1.0, |v| f64::from(*v)), element * num + energy))
        };
        let of_row = |(bin, row): (f64, usize)| {
            side(1).map(|(other, column)| other * f64::from(table.values[row * table.num_columns + column])).sum::<f64>() * bin
        };
        side(0).map(of_row).sum()
    }
}

impl PairEfficiency for Efficiencies {
    fn is_normalization(&self) -> bool {
        true
    }

    fn of(&self, [first, second]: [u32; 2]) -> f32 {
        // Pairs have the higher type, and within one the higher detection bin, first; so are crystals numbered.
        let [first, second] = [first.max(second), first.min(second)].map(|crystal| crystal as usize);
        let locations = [self.locations[first], self.locations[second]];
        let [t1, t2] = locations.map(|location| location[0] as usize);
        let pair = &self.pairs[t1 * (t1 + 1) / 2 + t2];
        let group =
            pair.groups.get(locations[0][1] as usize).and_then(|row| row.get(locations[1][1] as usize)).copied().unwrap_or(0);
        if group < 0 {
            return 0.0;
        }
        let sum = match pair.tables.get(group as usize) {
            Some(table) if table.is_merged => {
                let value = table.values[locations[0][2] as usize * table.num_columns + locations[1][2] as usize];
                self.sums[first] * self.sums[second] * f64::from(value)
            }
            Some(table) => self.over_energies(table, locations),
            None => self.sums[first] * self.sums[second],
        };
        (self.calibration * sum) as f32
    }

    fn identify(&self, into: &mut Fingerprint) {
        let Self { calibration, locations, bins, sums, types: _, num_energies, pairs } = self;
        into.text("petsird");
        into.number(*calibration);
        // (The places contain the relevant part of the types.)
        locations.iter().flatten().for_each(|location| into.whole((*location).into()));
        bins.iter().for_each(|bins| into.numbers(bins));
        sums.iter().for_each(|sum| into.number(*sum));
        num_energies.iter().for_each(|num| into.whole(*num as u64));
        for ModulePairs { groups, tables } in pairs {
            into.whole(groups.len() as u64);
            groups.iter().flatten().for_each(|group| into.whole(*group as u64));
            for Table { values, num_columns, is_merged } in tables {
                into.numbers(values);
                into.whole(*num_columns as u64);
                into.whole((*is_merged).into());
            }
        }
    }
}

/// Returns true if any modules of two types can be in coincidence: unless all their pairs are in the group -1. (Contradictions
/// are refused when efficiencies are read.)
pub fn are_in_coincidence(scanner: &Value, [t1, t2]: [usize; 2]) -> bool {
    let groups = scanner.maybe("detectionEfficiencies").and_then(|value| value.list("modulePairSGIDLUT").ok());
    let Some(rows) = groups.and_then(|groups| of_pair(groups, t1, t2)).and_then(Value::items) else { return true };
    // For one type, only pairs with the higher module first are stored.
    let num = |row: usize| if t1 == t2 { row + 1 } else { usize::MAX };
    let mut all = rows.iter().enumerate().flat_map(|(row, groups)| groups.as_numbers().unwrap_or_default().iter().take(num(row)));
    rows.is_empty() || all.any(|group| *group >= 0.0)
}

/// Returns the entry of a pair of types in a matrix over pairs of types.
fn of_pair(rows: &[Value], t1: usize, t2: usize) -> Option<&Value> {
    rows.get(t1)?.items()?.get(t2)
}

/// Returns values as efficiencies.
fn efficiencies(values: &[f64], field: &'static str) -> Result<Vec<f32>, PetsirdProblem> {
    match values.iter().find(|value| !(value.is_finite() && **value >= 0.0)) {
        Some(&value) => Err(PetsirdProblem::Efficiency(value, field)),
        None => Ok(values.iter().map(|value| *value as f32).collect()),
    }
}

/// Returns the efficiencies of a type's detection bins; none if they are absent.
fn bin_values(bins: &[Value], ty: usize, expected: usize) -> Result<Vec<f32>, PetsirdProblem> {
    let Some(values) = bins.get(ty) else { return Ok(Vec::new()) };
    let values = values.as_numbers().ok_or_else(|| unlike("detectionBinEfficiencies", "a list of lists of numbers"))?;
    if values.is_empty() || values.len() == expected {
        return efficiencies(values, "detectionBinEfficiencies");
    }
    Err(PetsirdProblem::BinEfficiencies(Mismatch { found: values.len(), expected }))
}

fn sum_of_bins(bins: &[f32], crystal: usize, num_energies: usize) -> f64 {
    match bins.get(crystal * num_energies..(crystal + 1) * num_energies) {
        Some(values) => values.iter().map(|value| f64::from(*value)).sum(),
        None => num_energies as f64,
    }
}

/// Returns the groups of pairs of modules. Those of one type need no second module above the first.
fn module_groups(rows: &[Value], sides: [(&ModuleType, usize); 2], is_one_type: bool) -> Result<Vec<Vec<i32>>, PetsirdProblem> {
    let [num1, num2] = sides.map(|(ty, _)| ty.num_modules);
    if !rows.is_empty() && rows.len() != num1 {
        return Err(PetsirdProblem::GroupRows(Mismatch { found: rows.len(), expected: num1 }));
    }
    let of_row = |(module, row): (usize, &Value)| {
        let numbers = row.as_numbers().ok_or_else(|| unlike("modulePairSGIDLUT", "a table of numbers"))?;
        let min = if is_one_type { module + 1 } else { num2 };
        if numbers.len() < min || numbers.len() > num2 {
            return Err(PetsirdProblem::GroupValues(module, Mismatch { found: numbers.len(), expected: num2 }));
        }
        Ok(numbers.iter().map(|number| *number as i32).collect())
    };
    rows.iter().enumerate().map(of_row).collect()
}

impl Table {
    fn new(value: &Value, group: usize, sides: [(&ModuleType, usize); 2]) -> Result<Self, PetsirdProblem> {
        let [num_rows, num_columns] = sides.map(|(ty, energies)| ty.num_elements.saturating_mul(energies));
        let number = value.number("sgid")?;
        if number != group as f64 {
            return Err(PetsirdProblem::GroupNumber(number, group));
        }
        let rows = value.list("values")?;
        let columns = rows.iter().map(|row| row.as_numbers().map(<[f64]>::len).unwrap_or_default());
        if rows.len() != num_rows || columns.into_iter().any(|columns| columns != num_columns) {
            return Err(PetsirdProblem::GroupSize(group, [num_rows, num_columns]));
        }
        let mut values = Vec::new();
        for row in rows {
            values.extend(efficiencies(row.as_numbers().unwrap_or_default(), "modulePairEfficienciesVectors")?);
        }
        Ok(Self { values, num_columns, is_merged: sides.iter().all(|(_, energies)| *energies == 1) }.merged(sides))
    }

    /// Returns a table with a row and a column for an element, if energies do not matter.
    fn merged(self, sides: [(&ModuleType, usize); 2]) -> Self {
        let [energies1, energies2] = sides.map(|(_, energies)| energies);
        let value = |row: usize, column: usize| self.values[row * self.num_columns + column];
        let (num_rows, num_columns) = (sides[0].0.num_elements, sides[1].0.num_elements);
        let of_element = |i: usize| (i / num_columns * energies1, i % num_columns * energies2);
        let is_equal = |i: usize| {
            let (row, column) = of_element(i);
            (0..energies1).all(|e1| (0..energies2).all(|e2| value(row + e1, column + e2) == value(row, column)))
        };
        if self.is_merged || !(0..num_rows * num_columns).all(is_equal) {
            return self;
        }
        let values = (0..num_rows * num_columns).map(|i| value(of_element(i).0, of_element(i).1)).collect();
        Self { values, num_columns, is_merged: true }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::io::list_mode::petsird::schema::Record;

    fn record(fields: &[(&str, Value)]) -> Value {
        let names = fields.iter().map(|(name, _)| (*name).to_owned()).collect();
        let record = Record { name: "a record".into(), names, types: Vec::new() };
        Value::Record(Arc::new(record), fields.iter().map(|(_, value)| value.clone()).collect())
    }

    fn list<const N: usize>(values: [Value; N]) -> Value {
        Value::List(values.to_vec())
    }

    fn numbers<const N: usize>(values: [f64; N]) -> Value {
        Value::Numbers(values.to_vec())
    }

    /// Two modules of one crystal, and one of two; the first type has two energy bins.
    const TYPES: [ModuleType; 2] = [
        ModuleType { num_modules: 2, num_elements: 1, first_crystal: 0 },
        ModuleType { num_modules: 1, num_elements: 2, first_crystal: 2 },
    ];

    fn read(bins: Value, groups: Value, vectors: Value) -> Result<Option<Efficiencies>, PetsirdProblem> {
        let fields =
            [("detectionBinEfficiencies", bins), ("modulePairSGIDLUT", groups), ("modulePairEfficienciesVectors", vectors)];
        Efficiencies::new(&record(&fields), &TYPES, &[2, 1], 10.0)
    }

    fn table(sgid: f64, values: Value) -> Value {
        record(&[("values", values), ("sgid", Value::Number(sgid))])
    }

    fn bins() -> Value {
        list([numbers([0.25, 0.75, 0.5, 1.5]), numbers([2.0, 3.0])])
    }

    fn groups(last: f64) -> Value {
        let within = list([numbers([-1.0]), numbers([0.0, -1.0])]);
        list([list([within]), list([list([numbers([last, 0.0])]), list([numbers([-1.0])])])])
    }

    fn vectors() -> Value {
        // Of both crystals' energies, and of elements of the second type with the energies of the first.
        let by_energies = table(0.0, list([numbers([1.0, 2.0]), numbers([3.0, 4.0])]));
        let first = table(0.0, list([numbers([5.0, 5.0]), numbers([6.0, 6.0])]));
        let second = table(1.0, list([numbers([7.0, 8.0]), numbers([9.0, 9.0])]));
        list([list([list([by_energies])]), list([list([first, second]), list([])])])
    }

    #[test]
    fn energies_are_summed_over_whatever_depends_on_them() {
        let found = read(bins(), groups(1.0), vectors()).unwrap().unwrap();
        let of = |a, b| {
            assert_eq!(found.of([a, b]), found.of([b, a]));
            found.of([a, b])
        };
        // Crystal 1 has the bins 0.5 and 1.5, crystal 0 has 0.25 and 0.75.
        assert_eq!(of(1, 0), 10.0 * (0.5 * (0.25 * 1.0 + 0.75 * 2.0) + 1.5 * (0.25 * 3.0 + 0.75 * 4.0)));
        // Crystals 2 and 3 count with module 0 as group 1 and with module 1 as group 0 tells.
        assert_eq!(of(2, 0), 10.0 * 2.0 * (0.25 * 7.0 + 0.75 * 8.0));
        assert_eq!(of(3, 0), 10.0 * 3.0 * (0.25 + 0.75) * 9.0);
        assert_eq!(of(2, 1), 10.0 * 2.0 * (0.5 + 1.5) * 5.0);
        assert_eq!(of(3, 1), 10.0 * 3.0 * (0.5 + 1.5) * 6.0);
        assert_eq!([of(3, 2), of(0, 0)], [0.0; 2], "not in coincidence");
    }

    #[test]
    fn what_is_absent_is_one() {
        let nothing = || Value::List(Vec::new());
        let found = read(nothing(), nothing(), nothing()).unwrap().unwrap();
        assert_eq!([found.of([0, 1]), found.of([0, 2]), found.of([3, 2])], [40.0, 20.0, 10.0]);
        let fields = [("detectionBinEfficiencies", nothing())];
        assert!(Efficiencies::new(&record(&fields), &TYPES, &[1, 1], 1.0).unwrap().is_none());
        let only_groups = read(nothing(), groups(0.0), nothing()).unwrap().unwrap();
        assert_eq!([only_groups.of([0, 1]), only_groups.of([1, 1])], [40.0, 0.0]);
    }

    #[test]
    fn sizes_that_contradict_the_modules_are_refused() {
        let problem = |bins, groups, vectors| read(bins, groups, vectors).unwrap_err();
        let three = problem(list([numbers([1.0; 3])]), groups(1.0), vectors());
        assert_eq!(three, PetsirdProblem::BinEfficiencies(Mismatch { found: 3, expected: 4 }));
        let negative = problem(list([numbers([1.0, -1.0, 1.0, 1.0])]), groups(1.0), vectors());
        assert_eq!(negative, PetsirdProblem::Efficiency(-1.0, "detectionBinEfficiencies"));
        assert_eq!(problem(bins(), groups(2.0), vectors()), PetsirdProblem::NoGroup(2, 2));
        let one_row = problem(bins(), list([list([list([numbers([0.0])])])]), vectors());
        assert_eq!(one_row, PetsirdProblem::GroupRows(Mismatch { found: 1, expected: 2 }));
        let short_row = problem(bins(), list([list([list([numbers([0.0]), numbers([0.0])])])]), vectors());
        assert_eq!(short_row, PetsirdProblem::GroupValues(1, Mismatch { found: 1, expected: 2 }));
        let of_table = |table| problem(bins(), groups(0.0), list([list([list([table])])]));
        let size = PetsirdProblem::GroupSize(0, [2, 2]);
        assert_eq!(of_table(table(0.0, list([numbers([1.0, 2.0])]))), size);
        assert_eq!(of_table(table(0.0, list([numbers([1.0, 2.0]), numbers([1.0])]))), size);
        let second = of_table(table(1.0, list([numbers([1.0; 2]), numbers([1.0; 2])])));
        assert_eq!(second, PetsirdProblem::GroupNumber(1.0, 0));
    }
}
