//! Problems of PETSIRD files.

use crate::coded::coded;
use crate::io::error::{Excess, Mismatch};
use crate::text::counted;

/// A problem of a PETSIRD file.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PetsirdProblem {
    /// A file that does not begin as PETSIRD files do.
    #[error("the file does not begin with 'yardl', as PETSIRD files in binary form do")]
    NotYardl,
    /// Another version of the binary format.
    #[error("version {} of yardl's binary format; version {} is supported", .0.found, .0.expected)]
    BinaryVersion(Mismatch<u32>),
    /// A file that is cut: "in its schema", for example.
    #[error("the file ends {0}: it was cut, or is still being written")]
    Cut(&'static str),
    /// Bytes behind the end of the list.
    #[error("the list ends {} before the end of the file", counted(*.0 as usize, "byte"))]
    Excess(u64),
    /// A schema of too many bytes.
    #[error("a schema of {0} bytes; those of PETSIRD have some 13000")]
    SchemaSize(u64),
    /// A schema that is not UTF-8.
    #[error("the schema is no UTF-8 text")]
    SchemaText,
    /// A schema that is not JSON, with the message of the library.
    #[error("its schema is no JSON: {0}")]
    SchemaJson(String),
    /// The protocol, by its name, of another kind of file.
    #[error("its protocol is '{0}', not PETSIRD")]
    Protocol(String),
    /// Other steps of the protocol.
    #[error("its protocol has the steps {0:?} in place of 'header' and 'timeBlocks'")]
    Steps(Vec<String>),
    /// Too many types.
    #[error("its schema has more than {0} types")]
    ManyTypes(usize),
    /// Types that are nested too deep.
    #[error("its schema has types more than {0} deep in each other")]
    DeepTypes(usize),
    /// A type, by its name, that the schema lacks.
    #[error("its schema has no type '{0}'")]
    NoType(String),
    /// A type, by its name, that contains itself.
    #[error("the type '{0}' of its schema contains itself")]
    RecursiveType(String),
    /// A generic type, by its name, with another number of arguments than parameters.
    #[error("the type '{}' of its schema has {} parameters and {} arguments", .0, .1.expected, .1.found)]
    TypeArguments(String, Mismatch),
    /// JSON that describes no type.
    #[error("its schema has a type that is not understood: {0}")]
    TypeForm(String),
    /// A field, by its name, of a value that is not a record.
    #[error("'{0}' is not in a record: the file has another model than PETSIRD 0.12")]
    NotInRecord(String),
    /// A field that the model lacks.
    #[error("its model has no '{field}' in {record}; PETSIRD 0.12 and versions with the same fields are supported")]
    NoField {
        /// Name of the record.
        record: String,
        /// Name of the field.
        field: String,
    },
    /// A field, by its name, of another type than expected.
    #[error("'{0}' is not {1} in its model; PETSIRD 0.12 and versions with the same fields are supported")]
    FieldType(String, &'static str),
    /// Time blocks that are not a union.
    #[error("its time blocks are not of several kinds")]
    BlockKinds,
    /// A time block that may be null.
    #[error("a time block may be nothing in its model")]
    NullBlock,
    /// Blocks of events that are not records.
    #[error("its blocks of events are no records")]
    EventBlocks,
    /// Coincidences that are not records.
    #[error("its coincidences are no records")]
    Coincidences,
    /// Coincidences, by the name of their record, that do not consist of a few numbers.
    #[error("{0} of its model is not a small set of numbers; PETSIRD 0.12 and similar models are supported")]
    CoincidenceSize(String),
    /// A field of coincidences, by its record and name, without the expected number of whole numbers.
    #[error("'{1}' of {0} is not of {2} whole numbers")]
    WholeNumbers(String, &'static str, usize),
    /// A record, by its name, with its time behind its events.
    #[error("'timeInterval' of {0} does not stand before its events")]
    LateInterval(String),
    /// A record, by its name, with another arrangement of prompts.
    #[error("'promptEvents' of {0} are not listed by two types of modules")]
    PromptLists(String),
    /// A record, by its name, with another arrangement of delayed events than of prompts.
    #[error("'delayedEvents' of {0} are not listed as its 'promptEvents' are")]
    DelayedLists(String),
    /// A number of too many bits.
    #[error("a number of more than 64 bits")]
    LargeNumber,
    /// A case that the union does not have.
    #[error("a case beyond the {0} that there are")]
    NoCase(usize),
    /// An array of too many dimensions.
    #[error("an array of {0} dimensions")]
    NumDimensions(u64),
    /// A value that is too large.
    #[error("what begins here takes more than {0} GiB")]
    LargeValue(usize),
    /// A value that takes far more memory than its bytes.
    #[error("the content needs too much memory")]
    Memory,
    /// A transform with another number of numbers.
    #[error("a transform of {0} numbers, not 12")]
    TransformSize(usize),
    /// A transform that is not rigid.
    #[error("a transform that is not rigid: {0:?}")]
    NotRigid(Box<[f64; 12]>),
    /// A corner with another number of coordinates.
    #[error("a corner of {0} numbers, not 3")]
    CornerSize(usize),
    /// A crystal with another number of corners.
    #[error("a crystal with {0} corners, not 8")]
    NumCorners(usize),
    /// A crystal that is not a box.
    #[error("a crystal whose corners are not those of a box")]
    NotABox,
    /// Too many crystals.
    #[error("more than {0} crystals")]
    ManyCrystals(usize),
    /// A calibration factor that is negative or not finite.
    #[error("a calibrationFactor of {0}")]
    Calibration(f64),
    /// Energy bins of another number of module types.
    #[error("eventEnergyBinEdges for {} types of modules where there are {}", .0.found, .0.expected)]
    EnergyTypes(Mismatch),
    /// Too few or too many edges of energy bins.
    #[error("{} edges of energy bins; 2 to {}", .0.found, .0.max)]
    EnergyEdges(Excess),
    /// Two module types without time-of-flight bins.
    #[error("tofBinEdges has nothing for the types {} and {} of modules", .0[0], .0[1])]
    NoTofEdges([usize; 2]),
    /// Edges of time-of-flight bins of two module types, the first of them, that do not increase.
    #[error("tofBinEdges of the types {} and {} of modules are no two or more rising places: {:?}", .0[0], .0[1], .1)]
    TofEdges([usize; 2], Vec<f64>),
    /// A time-of-flight resolution, mm, of two module types that is missing or out of range, and the number of their bins.
    #[error(
        "tofResolution of the types {} and {} of modules is {}; with {} time-of-flight bins a length in mm is expected",
        .0[0], .0[1], .1.map_or_else(|| "missing".to_owned(), |mm| mm.to_string()), .2
    )]
    TofResolution([usize; 2], Option<f64>, usize),
    /// Efficiencies of another number of detection bins.
    #[error("{} detectionBinEfficiencies for {} detection bins", .0.found, .0.expected)]
    BinEfficiencies(Mismatch),
    /// An efficiency of a field that is negative or not finite.
    #[error("an efficiency of {0} ({1})")]
    Efficiency(f64, &'static str),
    /// A pair of modules in a group that does not exist, and the number of groups.
    #[error("a pair of modules in group {0} of {1} (modulePairSGIDLUT)")]
    NoGroup(i32, usize),
    /// Groups of another number of modules.
    #[error("modulePairSGIDLUT has {} rows for {} modules", .0.found, .0.expected)]
    GroupRows(Mismatch),
    /// A row, by its number, of groups of a module with another number of others.
    #[error("row {} of modulePairSGIDLUT has {} values for {} modules", .0, .1.found, .1.expected)]
    GroupValues(usize, Mismatch),
    /// A group with another number than its index.
    #[error("group {0} of modulePairEfficienciesVectors is at index {1}")]
    GroupNumber(f64, usize),
    /// A group, by its index, without the expected rows and columns of efficiencies.
    #[error("group {} of modulePairEfficienciesVectors is not of {} × {} values", .0, .1[0], .1[1])]
    GroupSize(usize, [usize; 2]),
    /// A time block of an unknown kind, and the kinds of the model.
    #[error("a time block of kind {0} where the model has {1} kinds")]
    NoKind(u64, usize),
    /// A movement, by the name of its kind of time block.
    #[error("a movement ({0}); lists during which the bed or the gantry moves are not read")]
    Movement(String),
    /// A start of a time block, ms, that is out of range.
    #[error("a time block that begins at {0} ms")]
    BlockStart(f64),
    /// A time block that ends before it begins.
    #[error("a time block from {} ms to {} ms, which ends before it begins", .0[0], .0[1])]
    BlockEnd([f64; 2]),
    /// Events without module types.
    #[error("events without two module types")]
    NoModuleTypes,
    /// Events of module types that do not exist or have the wrong order.
    #[error("events of the types {} and {} of modules; there are fewer, and the first is the higher one", .0[0], .0[1])]
    ModuleTypes([u64; 2]),
    /// An event in a detection bin that does not exist, and the bins of the module type.
    #[error("an event in detection bin {0} of a type of modules that has {1}")]
    DetectionBin(u64, u64),
    /// An event in a time-of-flight bin that does not exist, and the bins of the module types.
    #[error("an event in time-of-flight bin {0} of types of modules that have {1}")]
    TofBin(u64, u64),
    /// Crystals of too many different sizes.
    #[error("the sizes of the scanner's crystals change {} times; {} can be written", .0.found, .0.max)]
    CrystalSizes(Excess),
    /// Several kinds of time-of-flight bins.
    #[error("the data have several kinds of time-of-flight bins or resolutions; only a single kind is supported")]
    SeveralTofs,
    /// An event of crystals that the scanner does not have.
    #[error("an event of the crystals {} and {}, which the scanner does not have", .0[0], .0[1])]
    EventCrystals([u32; 2]),
    /// A time-of-flight interval, mm, that is not one of the bins.
    #[error("an event between {} and {} mm from the middle is in no bin of time of flight", .0[0], .0[1])]
    EventTof([f64; 2]),
}

coded!(PetsirdProblem = "io.unsupported.petsird", "io.truncated": Cut);
