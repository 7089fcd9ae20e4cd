//! The types of a file, from the yardl schema that it carries: a JSON text of named types and of the steps of its protocol.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value as Json;

use crate::io::error::Mismatch;
use crate::io::list_mode::petsird::problem::PetsirdProblem;

/// Longest schema, bytes.
pub const MAX_SCHEMA_BYTES: u64 = 1 << 20;
/// Largest depth of nested types.
const MAX_DEPTH: usize = 64;
/// Most types, each use of a generic one counted.
const MAX_TYPES: usize = 4096;

/// A type, by its place in [`Schema`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TypeId(usize);

/// Encoding of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Number {
    /// A byte.
    Byte,
    /// A byte, two's complement.
    SignedByte,
    /// LEB128: seven bits a byte, the lowest first.
    Unsigned,
    /// The same, zig-zag: 0, −1, 1, −2 …
    Signed,
    /// Four bytes.
    F32,
    /// Eight bytes.
    F64,
    /// Two floats of this number of bytes together; they are always skipped.
    Complex(u64),
}

/// A type as the bytes of its values follow each other.
#[derive(Clone, Debug)]
pub enum Type {
    /// A number.
    Number(Number),
    /// Length and UTF-8.
    Text,
    /// Its fields.
    Record(Arc<Record>),
    /// The index of a case and its value.
    Choice(Vec<(String, Option<TypeId>)>),
    /// Items of a list or an array, its sizes before them unless they are given.
    List(TypeId, Sizes),
}

/// The fields of a record, in order.
#[derive(Debug, PartialEq)]
pub struct Record {
    /// Its name.
    pub name: String,
    /// Their names.
    pub names: Vec<String>,
    /// Their types.
    pub types: Vec<TypeId>,
}

/// Known sizes of a list (one size) or of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sizes {
    /// All: the number of items.
    Given(u64),
    /// This number of sizes is written.
    Rank(u64),
    /// The rank is written before them.
    Any,
}

/// Form of the bytes of a type's values; values of any other type take a byte at least.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Always this number of bytes.
    Fixed(u64),
    /// This number of [`Number::Unsigned`] or [`Number::Signed`].
    Varints(u64),
    /// Neither.
    Other,
}

/// The types of a file.
#[derive(Debug)]
pub struct Schema {
    types: Vec<Type>,
    forms: Vec<Form>,
    /// Type of the protocol's header.
    pub header: TypeId,
    /// Type of a time block.
    pub block: TypeId,
}

impl Schema {
    /// Reads the schema's text.
    ///
    /// # Errors
    /// Missing or invalid content.
    pub fn parse(text: &str) -> Result<Self, PetsirdProblem> {
        let json: Json = serde_json::from_str(text).map_err(|error| PetsirdProblem::SchemaJson(error.to_string()))?;
        let protocol = json["protocol"]["name"].as_str().unwrap_or_default();
        if protocol != "PETSIRD" {
            return Err(PetsirdProblem::Protocol(protocol.to_owned()));
        }
        let steps: Vec<&Json> = json["protocol"]["sequence"].as_array().into_iter().flatten().collect();
        let names: Vec<&str> = steps.iter().map(|step| step["name"].as_str().unwrap_or_default()).collect();
        if names != ["header", "timeBlocks"] {
            return Err(PetsirdProblem::Steps(names.into_iter().map(Into::into).collect()));
        }
        let definitions = json["types"].as_array().into_iter().flatten();
        let named = definitions.filter_map(|definition| Some((definition["name"].as_str()?, definition))).collect();
        let mut resolver = Resolver { named, known: HashMap::new(), types: Vec::new(), forms: Vec::new() };
        let header = resolver.resolve(&steps[0]["type"], &[], 0)?;
        let block = resolver.resolve(&steps[1]["type"]["stream"]["items"], &[], 0)?;
        Ok(Self { types: resolver.types, forms: resolver.forms, header, block })
    }

    /// Returns a type.
    pub fn get(&self, id: TypeId) -> &Type {
        &self.types[id.0]
    }

    /// Returns the form of its values' bytes.
    pub fn form(&self, id: TypeId) -> Form {
        self.forms[id.0]
    }
}

/// Types on their way from the JSON.
struct Resolver<'a> {
    named: HashMap<&'a str, &'a Json>,
    /// Named types with their arguments; `None` = being resolved.
    known: HashMap<(&'a str, Vec<TypeId>), Option<TypeId>>,
    types: Vec<Type>,
    forms: Vec<Form>,
}

impl<'a> Resolver<'a> {
    fn add(&mut self, ty: Type) -> Result<TypeId, PetsirdProblem> {
        if self.types.len() >= MAX_TYPES {
            return Err(PetsirdProblem::ManyTypes(MAX_TYPES));
        }
        let form = match &ty {
            Type::Number(Number::Byte | Number::SignedByte) => Form::Fixed(1),
            Type::Number(Number::F32) => Form::Fixed(4),
            Type::Number(Number::F64) => Form::Fixed(8),
            Type::Number(Number::Complex(bytes)) => Form::Fixed(*bytes),
            Type::Number(Number::Unsigned | Number::Signed) => Form::Varints(1),
            Type::Record(record) => record.types.iter().map(|id| self.forms[id.0]).fold(Form::Fixed(0), together),
            Type::List(item, Sizes::Given(num)) => times(self.forms[item.0], *num),
            _ => Form::Other,
        };
        self.types.push(ty);
        self.forms.push(form);
        Ok(TypeId(self.types.len() - 1))
    }

    /// Returns the type of a piece of JSON, with types for its parameters.
    fn resolve(&mut self, json: &'a Json, parameters: &[(&'a str, TypeId)], depth: usize) -> Result<TypeId, PetsirdProblem> {
        if depth > MAX_DEPTH {
            return Err(PetsirdProblem::DeepTypes(MAX_DEPTH));
        }
        let mut item = |json: &'a Json| self.resolve(json, parameters, depth + 1);
        let ty = match json {
            Json::String(name) => {
                if let Some((_, id)) = parameters.iter().find(|(parameter, _)| parameter == name) {
                    return Ok(*id);
                }
                match primitive(name) {
                    Some(ty) => ty,
                    None => return self.named(name, Vec::new(), depth),
                }
            }
            Json::Array(cases) => Type::Choice(cases.iter().map(|case| choice(case, &mut item)).collect::<Result<_, _>>()?),
            Json::Object(fields) => match fields.iter().next().map(|(key, inner)| (key.as_str(), inner)) {
                Some(("name", Json::String(name))) => {
                    let arguments = fields.get("typeArguments").and_then(Json::as_array).into_iter().flatten();
                    let arguments = arguments.map(item).collect::<Result<_, _>>()?;
                    return self.named(name, arguments, depth);
                }
                Some(("vector", inner)) => {
                    Type::List(item(&inner["items"])?, inner["length"].as_u64().map_or(Sizes::Rank(1), Sizes::Given))
                }
                Some(("array", inner)) => Type::List(item(&inner["items"])?, sizes(&inner["dimensions"])?),
                Some(("stream", inner)) => Type::List(item(&inner["items"])?, Sizes::Rank(1)),
                Some(("map", inner)) => {
                    let types = vec![item(&inner["keys"])?, item(&inner["values"])?];
                    let names = vec!["key".to_owned(), "value".to_owned()];
                    let entry = self.add(Type::Record(Arc::new(Record { name: "map".into(), names, types })))?;
                    Type::List(entry, Sizes::Rank(1))
                }
                _ => return Err(no_type(json)),
            },
            _ => return Err(no_type(json)),
        };
        self.add(ty)
    }

    /// Returns a named type with arguments.
    fn named(&mut self, name: &'a str, arguments: Vec<TypeId>, depth: usize) -> Result<TypeId, PetsirdProblem> {
        // Types in the schema have no namespace.
        let name = name.rsplit('.').next().unwrap_or(name);
        let Some(&definition) = self.named.get(name) else { return Err(PetsirdProblem::NoType(name.to_owned())) };
        let key = (name, arguments);
        match self.known.get(&key) {
            Some(Some(id)) => return Ok(*id),
            Some(None) => return Err(PetsirdProblem::RecursiveType(name.to_owned())),
            None => {}
        }
        self.known.insert(key.clone(), None);
        let names: Vec<&str> = definition["typeParameters"].as_array().into_iter().flatten().filter_map(Json::as_str).collect();
        if names.len() != key.1.len() {
            let (num_parameters, num_arguments) = (names.len(), key.1.len());
            return Err(PetsirdProblem::TypeArguments(
                name.to_owned(),
                Mismatch { found: num_arguments, expected: num_parameters },
            ));
        }
        let parameters: Vec<(&str, TypeId)> = names.into_iter().zip(key.1.iter().copied()).collect();
        let id = if let Some(fields) = definition["fields"].as_array() {
            let names = fields.iter().map(|field| field["name"].as_str().unwrap_or_default().to_owned()).collect();
            let types = fields.iter().map(|field| self.resolve(&field["type"], &parameters, depth + 1));
            let types = types.collect::<Result<_, _>>()?;
            self.add(Type::Record(Arc::new(Record { name: name.to_owned(), names, types })))?
        } else if !definition["values"].is_null() {
            match &definition["base"] {
                Json::Null => self.add(Type::Number(Number::Signed))?,
                base => self.resolve(base, &parameters, depth + 1)?,
            }
        } else {
            self.resolve(&definition["type"], &parameters, depth + 1)?
        };
        self.known.insert(key, Some(id));
        Ok(id)
    }
}

fn no_type(json: &Json) -> PetsirdProblem {
    PetsirdProblem::TypeForm(json.to_string().chars().take(80).collect())
}

fn primitive(name: &str) -> Option<Type> {
    Some(Type::Number(match name {
        "bool" | "uint8" => Number::Byte,
        "int8" => Number::SignedByte,
        "uint16" | "uint32" | "uint64" | "size" => Number::Unsigned,
        "int16" | "int32" | "int64" | "date" | "time" | "datetime" => Number::Signed,
        "float32" => Number::F32,
        "float64" => Number::F64,
        "complexfloat32" => Number::Complex(8),
        "complexfloat64" => Number::Complex(16),
        "string" => return Some(Type::Text),
        _ => return None,
    }))
}

/// Returns a case of a union: `null`, a type, or one with a tag.
fn choice<'a>(
    case: &'a Json,
    resolve: &mut impl FnMut(&'a Json) -> Result<TypeId, PetsirdProblem>,
) -> Result<(String, Option<TypeId>), PetsirdProblem> {
    match (case, case["tag"].as_str()) {
        (Json::Null, _) => Ok(("null".into(), None)),
        (_, Some(tag)) => Ok((tag.to_owned(), Some(resolve(&case["type"])?))),
        _ => Ok((case.as_str().unwrap_or_default().to_owned(), Some(resolve(case)?))),
    }
}

/// Returns the sizes of an array: its number of dimensions, or their lengths if they are given.
fn sizes(dimensions: &Json) -> Result<Sizes, PetsirdProblem> {
    match (dimensions, dimensions.as_u64()) {
        (Json::Null, _) => Ok(Sizes::Any),
        // Without dimensions it is one item, and no size is written.
        (_, Some(0)) => Ok(Sizes::Given(1)),
        (_, Some(rank)) if rank <= MAX_DEPTH as u64 => Ok(Sizes::Rank(rank)),
        (Json::Array(list), _) if list.len() <= MAX_DEPTH => {
            let num = list.iter().try_fold(1u64, |num, dimension| Some(num.saturating_mul(dimension["length"].as_u64()?)));
            Ok(num.map_or(Sizes::Rank(list.len() as u64), Sizes::Given))
        }
        _ => Err(no_type(dimensions)),
    }
}

/// Returns the form of values one after the other.
fn together(first: Form, second: Form) -> Form {
    match (first, second) {
        (Form::Fixed(0), other) | (other, Form::Fixed(0)) => other,
        (Form::Fixed(a), Form::Fixed(b)) => Form::Fixed(a.saturating_add(b)),
        (Form::Varints(a), Form::Varints(b)) => Form::Varints(a.saturating_add(b)),
        _ => Form::Other,
    }
}

/// Returns the form of `num` values.
fn times(form: Form, num: u64) -> Form {
    match form {
        _ if num == 0 => Form::Fixed(0),
        Form::Fixed(bytes) => Form::Fixed(bytes.saturating_mul(num)),
        Form::Varints(each) => Form::Varints(each.saturating_mul(num)),
        Form::Other => Form::Other,
    }
}
