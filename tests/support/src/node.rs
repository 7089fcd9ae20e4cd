//! A DICOM node in this process (dicom-ul).

use std::net::{TcpListener, TcpStream};
use std::thread::{self, JoinHandle};

use dicom_core::{DataElement, PrimitiveValue, VR};
use dicom_dictionary_std::{tags, uids};
use dicom_object::InMemDicomObject;
use dicom_transfer_syntax_registry::entries::IMPLICIT_VR_LITTLE_ENDIAN;
use dicom_ul::association::server::ServerAssociationOptions;
use dicom_ul::pdu::{PDataValue, PDataValueType, Pdu};

/// What a node received: instance, transfer syntax, data set.
pub type Received = Vec<(String, String, Vec<u8>)>;

/// A node in this process, which takes one association and answers each object with a status by its number; it ends the association
/// before the object of number `ends_at`.
pub fn node(answer: fn(usize) -> u16, ends_at: usize) -> (String, JoinHandle<Received>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let to = format!("ARCHIVE@127.0.0.1:{}", listener.local_addr().unwrap().port());
    let work = move || {
        let (stream, _) = listener.accept().unwrap();
        let options = ServerAssociationOptions::new().accept_called_ae_title().ae_title("ARCHIVE").promiscuous(true);
        let options = [uids::JPEG_LOSSLESS_SV1, uids::EXPLICIT_VR_LITTLE_ENDIAN, uids::IMPLICIT_VR_LITTLE_ENDIAN]
            .into_iter()
            .fold(options, |options, syntax| options.with_transfer_syntax(syntax));
        let mut association = options.establish(stream).unwrap();
        let (mut received, mut command, mut data) = (Received::new(), Vec::new(), Vec::new());
        loop {
            match association.receive() {
                Ok(Pdu::PData { data: values }) => {
                    for value in values {
                        let is_command = value.value_type == PDataValueType::Command;
                        if is_command { &mut command } else { &mut data }.extend(value.data);
                        if !value.is_last {
                            continue;
                        }
                        let request =
                            InMemDicomObject::read_dataset_with_ts(&command[..], &IMPLICIT_VR_LITTLE_ENDIAN.erased()).unwrap();
                        let number = |tag| request.element(tag).unwrap().to_int::<u16>().unwrap();
                        if is_command && number(tags::COMMAND_DATA_SET_TYPE) != 0x0101 {
                            if received.len() == ends_at {
                                association.abort().unwrap();
                                return received;
                            }
                            continue;
                        }
                        let is_echo = number(tags::COMMAND_FIELD) == 0x0030;
                        let mut status = 0;
                        if !is_echo {
                            let uid = request.element(tags::AFFECTED_SOP_INSTANCE_UID).unwrap().to_str().unwrap();
                            let id = value.presentation_context_id;
                            let context = association.presentation_contexts().iter().find(|context| context.id == id).unwrap();
                            status = answer(received.len());
                            let uid = uid.trim_end_matches(['\0', ' ']).to_owned();
                            received.push((uid, context.transfer_syntax.clone(), std::mem::take(&mut data)));
                        }
                        respond(&mut association, value.presentation_context_id, &request, status);
                        command.clear();
                    }
                }
                Ok(Pdu::ReleaseRQ) => {
                    association.send(&Pdu::ReleaseRP).unwrap();
                    return received;
                }
                _ => return received,
            }
        }
    };
    (to, thread::spawn(work))
}

fn respond(association: &mut dicom_ul::ServerAssociation<TcpStream>, id: u8, request: &InMemDicomObject, status: u16) {
    let number = |tag| request.element(tag).unwrap().to_int::<u16>().unwrap();
    let numbers = [
        (tags::COMMAND_FIELD, number(tags::COMMAND_FIELD) | 0x8000),
        (tags::MESSAGE_ID_BEING_RESPONDED_TO, number(tags::MESSAGE_ID)),
        (tags::COMMAND_DATA_SET_TYPE, 0x0101),
        (tags::STATUS, status),
    ];
    let numbers = numbers.map(|(tag, number)| DataElement::new(tag, VR::US, PrimitiveValue::from(number)));
    let response = InMemDicomObject::command_from_element_iter(numbers);
    let mut data = Vec::new();
    response.write_dataset_with_ts(&mut data, &IMPLICIT_VR_LITTLE_ENDIAN.erased()).unwrap();
    let value = PDataValue { presentation_context_id: id, value_type: PDataValueType::Command, is_last: true, data };
    association.send(&Pdu::PData { data: vec![value] }).unwrap();
}
