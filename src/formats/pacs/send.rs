//! Transfers to a node.

use std::path::PathBuf;

use dicom_dictionary_std::uids;

use super::association::{Association, Response};
use super::error::PacsError;
use super::instance::Instance;
use super::node::Node;
use super::status::Status;
use crate::task::Task;

/// Largest number of presentation contexts of an association: odd 8-bit numbers.
const MAX_CONTEXTS: usize = 128;

/// Result of a transfer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Transfer {
    /// Number of objects.
    pub num_objects: usize,
    /// Number of objects that the node confirmed.
    pub num_stored: usize,
    /// Warnings of stored objects.
    pub warnings: Vec<(PathBuf, Status)>,
    /// Objects that are not stored.
    pub not_stored: Vec<NotStored>,
}

/// An object that a node did not store.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: {reason} (instance {uid})", path.display())]
pub struct NotStored {
    /// Its file.
    pub path: PathBuf,
    /// UID of the object.
    pub uid: String,
    /// Reason: status and its meaning, or the failure of the connection.
    pub reason: String,
}

impl Transfer {
    fn add(&mut self, instance: &Instance, outcome: Result<Status, String>) {
        self.num_objects += 1;
        match outcome {
            Ok(status) => {
                self.num_stored += 1;
                if !status.is_success() {
                    self.warnings.push((instance.path.clone(), status));
                }
            }
            Err(reason) => {
                self.not_stored.push(NotStored { path: instance.path.clone(), uid: instance.uid.clone(), reason });
            }
        }
    }
}

/// Verifies that a node responds (C-ECHO).
///
/// # Errors
/// No connection, a rejection, a status other than success.
pub fn verify(node: &Node, calling: &str) -> Result<(), PacsError> {
    let context = (uids::VERIFICATION.to_owned(), uids::IMPLICIT_VR_LITTLE_ENDIAN.to_owned());
    let mut association = Association::open(node, calling, &[context])?;
    let response = association.echo()?;
    association.release();
    if response.status.is_success() { Ok(()) } else { Err(PacsError::Refused(node.clone(), text(&response))) }
}

/// Sends objects one after the other (C-STORE). An object that the node refuses does not end the transfer; a lost connection does,
/// and the remaining objects are named as not stored.
///
/// # Errors
/// No association with the node.
pub fn send(instances: &[Instance], node: &Node, calling: &str, task: &Task) -> Result<Transfer, PacsError> {
    task.begin(instances.len() as u64);
    let mut transfer = Transfer::default();
    let mut rest = instances;
    while !rest.is_empty() {
        let (contexts, num) = contexts(rest);
        let (now, later) = rest.split_at(num);
        let mut association = match Association::open(node, calling, &contexts) {
            Ok(association) => association,
            Err(error) if transfer.num_objects == 0 => return Err(error),
            Err(error) => {
                rest.iter().for_each(|instance| transfer.add(instance, Err(error.to_string())));
                break;
            }
        };
        for (index, instance) in now.iter().enumerate() {
            let lost = match store(&mut association, instance, task) {
                Ok(outcome) => {
                    transfer.add(instance, outcome);
                    task.advance(1);
                    continue;
                }
                Err(reason) => reason,
            };
            rest[index..].iter().for_each(|instance| transfer.add(instance, Err(lost.clone())));
            association.abort();
            return Ok(transfer);
        }
        association.release();
        rest = later;
    }
    Ok(transfer)
}

/// Stores an object: its status, or the reason why it is not stored.
///
/// # Errors
/// The end of the transfer: a failed connection, a stop.
fn store(association: &mut Association, instance: &Instance, task: &Task) -> Result<Result<Status, String>, String> {
    task.check().map_err(|stopped| stopped.to_string())?;
    let data_set = match instance.data_set() {
        Ok(data_set) => data_set,
        Err(error) => return Ok(Err(format!("not read: {error}"))),
    };
    Ok(match association.store(instance, &data_set).map_err(|error| error.to_string())? {
        None => Err(format!("the node does not accept {} in the transfer syntax {}", instance.class, instance.syntax)),
        Some(response) if response.status.is_stored() => Ok(response.status),
        Some(response) => Err(text(&response)),
    })
}

/// Describes a response.
fn text(response: &Response) -> String {
    match &response.comment {
        Some(comment) => format!("{}: {comment}", response.status),
        None => response.status.to_string(),
    }
}

/// Returns the kinds of objects with their transfer syntaxes, and the number of objects at the beginning that they suffice for.
fn contexts(instances: &[Instance]) -> (Vec<(String, String)>, usize) {
    let mut contexts: Vec<(String, String)> = Vec::new();
    for (index, Instance { class, syntax, .. }) in instances.iter().enumerate() {
        if contexts.iter().any(|(other, in_syntax)| other == class && in_syntax == syntax) {
            continue;
        }
        if contexts.len() == MAX_CONTEXTS {
            return (contexts, index);
        }
        contexts.push((class.clone(), syntax.clone()));
    }
    (contexts, instances.len())
}
