//! How well pairs of crystals count. Of detection bins i and j that is
//!
//! ```text
//! calibration · bin[i] · bin[j] · module pair[group][element and energy of i][element and energy of j]
//! ```
//!
//! where the group is that of symmetric pairs of modules; −1 = not in coincidence; what is absent is 1. A pair of crystals counts
//! what its energy bins count together.

use super::binary::{Value, unlike};
use super::geometry::ModuleType;
use crate::data::{Fingerprint, PairEfficiency};
use crate::io::error::PetsirdProblem;

/// The efficiencies of a file, energies together.
#[derive(Debug)]
pub struct Efficiencies {
    calibration: f64,
    /// Type, module and element of each crystal.
    places: Vec<[u32; 3]>,
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
    /// Whether energies do not matter: a row and a column for an element.
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
        let (mut all_bins, mut sums, mut places, mut pairs) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for (t1, ty) in types.iter().enumerate() {
            let expected = ty.num_crystals().saturating_mul(num_energies[t1]);
            let of_bins = bin_values(bins, t1, expected)?;
            sums.extend((0..ty.num_crystals()).map(|crystal| sum_of_bins(&of_bins, crystal, num_energies[t1])));
            places.extend((0..ty.num_crystals()).map(|i| [t1, i / ty.num_elements, i % ty.num_elements].map(|n| n as u32)));
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
                    return Err(PetsirdProblem::NoGroup { group: last, num_groups: tables.len() });
                }
                pairs.push(ModulePairs { groups, tables });
            }
        }
        let is_one = |pair: &ModulePairs| pair.tables.is_empty() && pair.groups.iter().flatten().all(|group| *group >= 0);
        if calibration == 1.0 && sums.iter().all(|sum| *sum == 1.0) && pairs.iter().all(is_one) {
            return Ok(None);
        }
        let (types, num_energies) = (types.to_vec(), num_energies.to_vec());
        Ok(Some(Self { calibration, places, bins: all_bins, sums, types, num_energies, pairs }))
    }

    /// The sum over the energy bins of two crystals, whose efficiencies depend on both energies.
    fn over_energies(&self, table: &Table, places: [[u32; 3]; 2]) -> f64 {
        let side = |side: usize| {
            let [ty, module, element] = places[side].map(|n| n as usize);
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
    fn of(&self, [first, second]: [u32; 2]) -> f32 {
        // Pairs are told with the higher type, and within one the higher detection bin, first; so are crystals numbered.
        let [first, second] = [first.max(second), first.min(second)].map(|crystal| crystal as usize);
        let places = [self.places[first], self.places[second]];
        let [t1, t2] = places.map(|place| place[0] as usize);
        let pair = &self.pairs[t1 * (t1 + 1) / 2 + t2];
        let group = pair.groups.get(places[0][1] as usize).and_then(|row| row.get(places[1][1] as usize)).copied().unwrap_or(0);
        if group < 0 {
            return 0.0;
        }
        let sum = match pair.tables.get(group as usize) {
            Some(table) if table.is_merged => {
                let value = table.values[places[0][2] as usize * table.num_columns + places[1][2] as usize];
                self.sums[first] * self.sums[second] * f64::from(value)
            }
            Some(table) => self.over_energies(table, places),
            None => self.sums[first] * self.sums[second],
        };
        (self.calibration * sum) as f32
    }

    fn identify(&self, into: &mut Fingerprint) {
        let Self { calibration, places, bins, sums, types: _, num_energies, pairs } = self;
        into.text("petsird");
        into.number(*calibration);
        // (Places tell what of the types matters here.)
        places.iter().flatten().for_each(|place| into.whole((*place).into()));
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

/// Whether any modules of two types can be in coincidence: unless all their pairs are in the group -1. (What contradicts itself is
/// refused when efficiencies are read.)
pub fn are_in_coincidence(scanner: &Value, [t1, t2]: [usize; 2]) -> bool {
    let groups = scanner.maybe("detectionEfficiencies").and_then(|value| value.list("modulePairSGIDLUT").ok());
    let Some(rows) = groups.and_then(|groups| of_pair(groups, t1, t2)).and_then(Value::items) else { return true };
    // Of one type only pairs with the higher module first are told.
    let num = |row: usize| if t1 == t2 { row + 1 } else { usize::MAX };
    let mut all = rows.iter().enumerate().flat_map(|(row, groups)| groups.as_numbers().unwrap_or_default().iter().take(num(row)));
    rows.is_empty() || all.any(|group| *group >= 0.0)
}

/// What a matrix over pairs of types has for one.
fn of_pair(rows: &[Value], t1: usize, t2: usize) -> Option<&Value> {
    rows.get(t1)?.items()?.get(t2)
}

/// Values as efficiencies.
fn efficiencies(values: &[f64], field: &'static str) -> Result<Vec<f32>, PetsirdProblem> {
    match values.iter().find(|value| !(value.is_finite() && **value >= 0.0)) {
        Some(&value) => Err(PetsirdProblem::Efficiency { value, field }),
        None => Ok(values.iter().map(|value| *value as f32).collect()),
    }
}

/// The efficiencies of a type's detection bins; none where they are absent.
fn bin_values(bins: &[Value], ty: usize, expected: usize) -> Result<Vec<f32>, PetsirdProblem> {
    let Some(values) = bins.get(ty) else { return Ok(Vec::new()) };
    let values = values.as_numbers().ok_or_else(|| unlike("detectionBinEfficiencies", "a list of lists of numbers"))?;
    if values.is_empty() || values.len() == expected {
        return efficiencies(values, "detectionBinEfficiencies");
    }
    Err(PetsirdProblem::BinEfficiencies { found: values.len(), expected })
}

fn sum_of_bins(bins: &[f32], crystal: usize, num_energies: usize) -> f64 {
    match bins.get(crystal * num_energies..(crystal + 1) * num_energies) {
        Some(values) => values.iter().map(|value| f64::from(*value)).sum(),
        None => num_energies as f64,
    }
}

/// The groups of pairs of modules. Those of one type need no second module above the first.
fn module_groups(rows: &[Value], sides: [(&ModuleType, usize); 2], is_one_type: bool) -> Result<Vec<Vec<i32>>, PetsirdProblem> {
    let [num1, num2] = sides.map(|(ty, _)| ty.num_modules);
    if !rows.is_empty() && rows.len() != num1 {
        return Err(PetsirdProblem::GroupRows { found: rows.len(), expected: num1 });
    }
    let of_row = |(module, row): (usize, &Value)| {
        let numbers = row.as_numbers().ok_or_else(|| unlike("modulePairSGIDLUT", "a table of numbers"))?;
        let least = if is_one_type { module + 1 } else { num2 };
        if numbers.len() < least || numbers.len() > num2 {
            return Err(PetsirdProblem::GroupValues { row: module, found: numbers.len(), expected: num2 });
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
            return Err(PetsirdProblem::GroupNumber { found: number, index: group });
        }
        let rows = value.list("values")?;
        let columns = rows.iter().map(|row| row.as_numbers().map(<[f64]>::len).unwrap_or_default());
        if rows.len() != num_rows || columns.into_iter().any(|columns| columns != num_columns) {
            return Err(PetsirdProblem::GroupSize { group, num_rows, num_columns });
        }
        let mut values = Vec::new();
        for row in rows {
            values.extend(efficiencies(row.as_numbers().unwrap_or_default(), "modulePairEfficienciesVectors")?);
        }
        Ok(Self { values, num_columns, is_merged: sides.iter().all(|(_, energies)| *energies == 1) }.merged(sides))
    }

    /// With a row and a column for an element, if energies do not matter.
    fn merged(self, sides: [(&ModuleType, usize); 2]) -> Self {
        let [energies1, energies2] = sides.map(|(_, energies)| energies);
        let value = |row: usize, column: usize| self.values[row * self.num_columns + column];
        let (num_rows, num_columns) = (sides[0].0.num_elements, sides[1].0.num_elements);
        let of_element = |i: usize| (i / num_columns * energies1, i % num_columns * energies2);
        let is_the_same = |i: usize| {
            let (row, column) = of_element(i);
            (0..energies1).all(|e1| (0..energies2).all(|e2| value(row + e1, column + e2) == value(row, column)))
        };
        if self.is_merged || !(0..num_rows * num_columns).all(is_the_same) {
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
        assert_eq!(three, PetsirdProblem::BinEfficiencies { found: 3, expected: 4 });
        let negative = problem(list([numbers([1.0, -1.0, 1.0, 1.0])]), groups(1.0), vectors());
        assert_eq!(negative, PetsirdProblem::Efficiency { value: -1.0, field: "detectionBinEfficiencies" });
        assert_eq!(problem(bins(), groups(2.0), vectors()), PetsirdProblem::NoGroup { group: 2, num_groups: 2 });
        let one_row = problem(bins(), list([list([list([numbers([0.0])])])]), vectors());
        assert_eq!(one_row, PetsirdProblem::GroupRows { found: 1, expected: 2 });
        let short_row = problem(bins(), list([list([list([numbers([0.0]), numbers([0.0])])])]), vectors());
        assert_eq!(short_row, PetsirdProblem::GroupValues { row: 1, found: 1, expected: 2 });
        let of_table = |table| problem(bins(), groups(0.0), list([list([list([table])])]));
        let size = PetsirdProblem::GroupSize { group: 0, num_rows: 2, num_columns: 2 };
        assert_eq!(of_table(table(0.0, list([numbers([1.0, 2.0])]))), size);
        assert_eq!(of_table(table(0.0, list([numbers([1.0, 2.0]), numbers([1.0])]))), size);
        let second = of_table(table(1.0, list([numbers([1.0; 2]), numbers([1.0; 2])])));
        assert_eq!(second, PetsirdProblem::GroupNumber { found: 1.0, index: 0 });
    }
}
