//! The kinds of time blocks of a file, and the use of their fields.

use super::binary::{Value, missing};
use super::geometry::Transform;
use super::schema::{Schema, Sizes, Type, TypeId};
use crate::io::list_mode::petsird::problem::PetsirdProblem;

/// Events of a time block that this program writes, after which another one of the same time begins.
pub const MAX_EVENTS: u64 = 1 << 20;

/// A kind of time block.
#[derive(Debug)]
pub enum Kind {
    /// Events: what to do with its fields, in order.
    Events(Vec<(Field, TypeId)>),
    /// The bed's or the gantry's place from now on.
    Movement(TypeId),
    /// Parts of the time in which detectors are alive.
    DeadTime(TypeId),
    /// Another, which is skipped and counted.
    Other(TypeId),
}

/// A field of a block of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// From when until when.
    Interval,
    /// Coincidences.
    Prompts,
    /// Delayed ones.
    Delayeds,
    /// An unused field.
    Other,
}

/// Returns the kinds of time blocks with their names, and the type of a coincidence.
///
/// # Errors
/// A missing or unsupported type.
pub fn kinds(schema: &Schema) -> Result<(Vec<(String, Kind)>, TypeId), PetsirdProblem> {
    let Type::Choice(cases) = schema.get(schema.block) else { return Err(PetsirdProblem::BlockKinds) };
    let (mut kinds, mut event) = (Vec::new(), None);
    for (tag, ty) in cases {
        let ty = ty.ok_or(PetsirdProblem::NullBlock)?;
        let kind = match tag.as_str() {
            "EventTimeBlock" => {
                let (fields, found) = event_fields(schema, ty)?;
                event = Some(found);
                Kind::Events(fields)
            }
            "BedMovementTimeBlock" | "GantryMovementTimeBlock" => Kind::Movement(ty),
            "DeadTimeTimeBlock" => Kind::DeadTime(ty),
            _ => Kind::Other(ty),
        };
        kinds.push((tag.clone(), kind));
    }
    Ok((kinds, event.ok_or_else(|| missing("TimeBlock", "EventTimeBlock"))?))
}

/// Returns the use of the fields of a block of events, and the type of a coincidence.
fn event_fields(schema: &Schema, block: TypeId) -> Result<(Vec<(Field, TypeId)>, TypeId), PetsirdProblem> {
    let Type::Record(record) = schema.get(block) else { return Err(PetsirdProblem::EventBlocks) };
    let field = |name: &str| match name {
        "timeInterval" => Field::Interval,
        "promptEvents" => Field::Prompts,
        "delayedEvents" => Field::Delayeds,
        _ => Field::Other,
    };
    let fields: Vec<(Field, TypeId)> = record.names.iter().zip(&record.types).map(|(name, &ty)| (field(name), ty)).collect();
    let index_of = |wanted: Field| fields.iter().position(|(field, _)| *field == wanted);
    let interval = index_of(Field::Interval).ok_or_else(|| missing(&record.name, "timeInterval"))?;
    let prompts = index_of(Field::Prompts).ok_or_else(|| missing(&record.name, "promptEvents"))?;
    if interval > prompts.min(index_of(Field::Delayeds).unwrap_or(prompts)) {
        return Err(PetsirdProblem::LateInterval(record.name.clone()));
    }
    let item = |ty: TypeId| items(schema, items(schema, items(schema, optional(schema, ty))?)?);
    let event = item(fields[prompts].1).filter(|event| matches!(schema.get(*event), Type::Record(_)));
    let event = event.ok_or_else(|| PetsirdProblem::PromptLists(record.name.clone()))?;
    if let Some(delayeds) = index_of(Field::Delayeds)
        && item(fields[delayeds].1) != Some(event)
    {
        return Err(PetsirdProblem::DelayedLists(record.name.clone()));
    }
    Ok((fields, event))
}

/// Returns the type of a list's items.
fn items(schema: &Schema, ty: TypeId) -> Option<TypeId> {
    if let Type::List(item, Sizes::Given(_) | Sizes::Rank(1)) = schema.get(ty) { Some(*item) } else { None }
}

/// Returns the type of a value without its option to be absent.
fn optional(schema: &Schema, ty: TypeId) -> TypeId {
    match schema.get(ty) {
        Type::Choice(cases) => match cases.as_slice() {
            [(_, None), (_, Some(ty))] => *ty,
            _ => ty,
        },
        _ => ty,
    }
}

/// Returns true if a block moves anything.
///
/// # Errors
/// Its transforms are missing or not rigid.
pub fn moves(block: &Value) -> Result<bool, PetsirdProblem> {
    let one = block.maybe("transform").map(std::slice::from_ref);
    let transforms = one.map_or_else(|| block.list("transforms"), Ok)?;
    let transforms = transforms.iter().map(Transform::new).collect::<Result<Vec<_>, _>>()?;
    Ok(transforms.iter().any(|transform| !transform.is_identity()))
}

/// Returns the smallest of all numbers in a value.
pub fn min_number(value: &Value) -> f64 {
    match value {
        Value::Number(number) => *number,
        Value::Numbers(numbers) => numbers.iter().copied().fold(f64::INFINITY, f64::min),
        Value::List(values) | Value::Record(_, values) => values.iter().map(min_number).fold(f64::INFINITY, f64::min),
        Value::Null | Value::Text(_) => f64::INFINITY,
    }
}
