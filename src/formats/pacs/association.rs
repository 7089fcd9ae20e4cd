//! An association with a node, and its messages.

use std::io::Write as _;
use std::net::TcpStream;
use std::time::Duration;

use dicom_core::{DataElement, PrimitiveValue, VR};
use dicom_dictionary_std::{tags, uids};
use dicom_object::{InMemDicomObject, Tag};
use dicom_transfer_syntax_registry::entries::IMPLICIT_VR_LITTLE_ENDIAN;
use dicom_ul::association::Error;
use dicom_ul::pdu::{PDataValue, PDataValueType, Pdu, PresentationContextResultReason};
use dicom_ul::{ClientAssociation, ClientAssociationOptions};

use super::error::PacsError;
use super::instance::Instance;
use super::node::Node;
use super::status::Status;

/// Longest time for a connection.
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(10);

/// Longest time for a response.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(60);

/// Command fields of the requests (PS3.7, E.1).
const C_STORE_RQ: u16 = 0x0001;
const C_ECHO_RQ: u16 = 0x0030;

/// Types of a message's data set: present, absent.
const WITH_DATA_SET: u16 = 0x0000;
const WITHOUT_DATA_SET: u16 = 0x0101;

/// Longest response.
const MAX_RESPONSE_BYTES: usize = 1 << 16;

/// An association with a node.
pub struct Association {
    node: Node,
    client: ClientAssociation<TcpStream>,
    num_messages: u16,
}

/// A response: its status and the node's comment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    pub status: Status,
    pub comment: Option<String>,
}

impl Association {
    /// Opens an association for these kinds of objects and transfer syntaxes.
    ///
    /// # Errors
    /// No connection, a rejection, no accepted kind.
    pub fn open(node: &Node, calling: &str, contexts: &[(String, String)]) -> Result<Self, PacsError> {
        let options = ClientAssociationOptions::new()
            .calling_ae_title(calling.to_owned())
            .called_ae_title(node.title.clone())
            .connection_timeout(CONNECTION_TIMEOUT)
            .read_timeout(RESPONSE_TIMEOUT)
            .write_timeout(RESPONSE_TIMEOUT);
        let options = contexts
            .iter()
            .fold(options, |options, (class, syntax)| options.with_presentation_context(class.clone(), vec![syntax.clone()]));
        let client = options.establish((node.host.as_str(), node.port)).map_err(|error| match error {
            Error::ToAddress { source, .. } | Error::Connect { source, .. } => {
                PacsError::Connect(node.clone(), source.to_string())
            }
            Error::Rejected { association_rj, .. } => PacsError::Rejected(node.clone(), association_rj.source.to_string()),
            Error::NoAcceptedPresentationContexts { .. } => {
                let all: Vec<String> = contexts.iter().map(|(class, syntax)| format!("{class} in {syntax}")).collect();
                PacsError::NoContext(node.clone(), all.join(", "))
            }
            other => lost(node, &other),
        })?;
        Ok(Self { node: node.clone(), client, num_messages: 0 })
    }

    /// Returns the number of an accepted kind of object and transfer syntax.
    fn context(&self, class: &str, syntax: &str) -> Option<u8> {
        let contexts = self.client.presentation_contexts().iter();
        let mut accepted = contexts.filter(|context| context.reason == PresentationContextResultReason::Acceptance);
        accepted.find(|context| context.abstract_syntax == class && context.transfer_syntax == syntax).map(|context| context.id)
    }

    /// Sends a verification (C-ECHO).
    ///
    /// # Errors
    /// The connection fails.
    pub fn echo(&mut self) -> Result<Response, PacsError> {
        let texts = [(tags::AFFECTED_SOP_CLASS_UID, uids::VERIFICATION)];
        let context = self.context(uids::VERIFICATION, uids::IMPLICIT_VR_LITTLE_ENDIAN);
        let context = context.ok_or_else(|| PacsError::NoContext(self.node.clone(), "verification".to_owned()))?;
        self.command(context, C_ECHO_RQ, &texts, WITHOUT_DATA_SET)?;
        self.response()
    }

    /// Sends an object (C-STORE); `None` if the node does not accept its kind or its transfer syntax.
    ///
    /// # Errors
    /// The connection fails.
    pub fn store(&mut self, instance: &Instance, data_set: &[u8]) -> Result<Option<Response>, PacsError> {
        let Some(context) = self.context(&instance.class, &instance.syntax) else { return Ok(None) };
        let texts =
            [(tags::AFFECTED_SOP_CLASS_UID, instance.class.as_str()), (tags::AFFECTED_SOP_INSTANCE_UID, instance.uid.as_str())];
        self.command(context, C_STORE_RQ, &texts, WITH_DATA_SET)?;
        let node = &self.node;
        let mut writer = self.client.send_pdata(context);
        writer.write_all(data_set).and_then(|()| writer.finish()).map_err(|error| lost(node, &error))?;
        self.response().map(Some)
    }

    /// Ends the association. (A node that ends it first has stored all that it confirmed.)
    pub fn release(self) {
        let _ = self.client.release();
    }

    /// Ends the association after a failure.
    pub fn abort(self) {
        let _ = self.client.abort();
    }

    /// Sends the command of a request.
    fn command(&mut self, context: u8, field: u16, texts: &[(Tag, &str)], data_set: u16) -> Result<(), PacsError> {
        self.num_messages = self.num_messages.wrapping_add(1);
        let numbers = [
            (tags::COMMAND_FIELD, field),
            (tags::MESSAGE_ID, self.num_messages),
            (tags::PRIORITY, 0),
            (tags::COMMAND_DATA_SET_TYPE, data_set),
        ];
        let numbers = numbers.into_iter().filter(|(tag, _)| *tag != tags::PRIORITY || data_set == WITH_DATA_SET);
        let numbers = numbers.map(|(tag, number)| DataElement::new(tag, VR::US, PrimitiveValue::from(number)));
        let texts = texts.iter().map(|(tag, text)| DataElement::new(*tag, VR::UI, PrimitiveValue::from(*text)));
        let command = InMemDicomObject::command_from_element_iter(numbers.chain(texts));
        let mut data = Vec::new();
        command
            .write_dataset_with_ts(&mut data, &IMPLICIT_VR_LITTLE_ENDIAN.erased())
            .map_err(|error| lost(&self.node, &error))?;
        let value_type = PDataValueType::Command;
        let pdu = Pdu::PData { data: vec![PDataValue { presentation_context_id: context, value_type, is_last: true, data }] };
        self.client.send(&pdu).map_err(|error| lost(&self.node, &error))
    }

    /// Receives the response to the last request.
    fn response(&mut self) -> Result<Response, PacsError> {
        let unexpected = |node: &Node, text: &str| Err(PacsError::Lost(node.clone(), text.to_owned()));
        let mut bytes = Vec::new();
        loop {
            let values = match self.client.receive().map_err(|error| lost(&self.node, &error))? {
                Pdu::PData { data } => data,
                Pdu::AbortRQ { .. } => return unexpected(&self.node, "the node ended the association"),
                _ => return unexpected(&self.node, "the response is no message"),
            };
            let mut is_last = false;
            for value in values.into_iter().filter(|value| value.value_type == PDataValueType::Command) {
                bytes.extend(value.data);
                is_last |= value.is_last;
            }
            if bytes.len() > MAX_RESPONSE_BYTES {
                return unexpected(&self.node, "the response is too long");
            }
            if is_last {
                break;
            }
        }
        let command = InMemDicomObject::read_dataset_with_ts(&bytes[..], &IMPLICIT_VR_LITTLE_ENDIAN.erased())
            .map_err(|error| lost(&self.node, &error))?;
        let number = |tag: Tag| command.element(tag).ok().and_then(|element| element.to_int::<u16>().ok());
        let Some(status) = number(tags::STATUS) else { return unexpected(&self.node, "the response has no status") };
        if number(tags::MESSAGE_ID_BEING_RESPONDED_TO) != Some(self.num_messages) {
            return unexpected(&self.node, "the response is to another message");
        }
        let comment = command.element(tags::ERROR_COMMENT).ok().and_then(|element| element.to_str().ok());
        let comment = comment.map(|text| text.trim_matches(|c: char| c.is_whitespace() || c == '\0').to_owned());
        Ok(Response { status: Status(status), comment: comment.filter(|text| !text.is_empty()) })
    }
}

/// Returns the failure of a connection.
fn lost(node: &Node, error: &dyn std::error::Error) -> PacsError {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    PacsError::Lost(node.clone(), text)
}
