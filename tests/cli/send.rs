//! `tomoscope send`: objects to a node in this process (dicom-ul), and to dcmtk's `storescp` where it is installed.

use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use dicom_core::{DataElement, PrimitiveValue, VR};
use dicom_dictionary_std::{tags, uids};
use dicom_object::{InMemDicomObject, open_file};
use dicom_transfer_syntax_registry::entries::IMPLICIT_VR_LITTLE_ENDIAN;
use dicom_ul::association::server::ServerAssociationOptions;
use dicom_ul::pdu::{PDataValue, PDataValueType, Pdu};

use super::{done, failed, refused};

/// A folder with a series of three slices.
fn folder_with_series() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/dicom");
    for name in ["pet", "lossless-sv1"] {
        std::fs::create_dir(folder.path().join(name)).unwrap();
        for entry in std::fs::read_dir(source.join(name)).unwrap() {
            let path = entry.unwrap().path();
            std::fs::copy(&path, folder.path().join(name).join(path.file_name().unwrap())).unwrap();
        }
    }
    folder
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

/// Returns the bytes of the data set of a DICOM file.
fn data_set(path: &Path) -> Vec<u8> {
    let bytes = std::fs::read(path).unwrap();
    let length = u32::from_le_bytes(bytes[140..144].try_into().unwrap()) as usize;
    bytes[144 + length..].to_vec()
}

/// What a node received: instance, transfer syntax, data set.
type Received = Vec<(String, String, Vec<u8>)>;

/// A node in this process, which takes one association and answers each object with a status by its number; it ends the association
/// before the object of number `ends_at`.
fn node(answer: fn(usize) -> u16, ends_at: usize) -> (String, JoinHandle<Received>) {
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

#[test]
fn objects_arrive_byte_by_byte_in_their_own_transfer_syntax() {
    let folder = folder_with_series();
    let at = folder.path();
    std::fs::write(at.join("pet/README"), "no object").unwrap();
    let (to, work) = node(|_| 0, usize::MAX);
    let printed = done(at, &["send", "pet", "lossless-sv1", "--to", &to]);
    assert!(printed.contains("6 of 6 objects stored"), "{printed}");
    let received = work.join().unwrap();
    let sent: Vec<PathBuf> = [files(&at.join("pet")), files(&at.join("lossless-sv1"))].concat();
    let sent: Vec<PathBuf> = sent.into_iter().filter(|path| !path.ends_with("README")).collect();
    assert_eq!(received.len(), sent.len());
    for (path, (uid, syntax, bytes)) in sent.iter().zip(&received) {
        let file = open_file(path).unwrap();
        assert_eq!(
            (file.meta().media_storage_sop_instance_uid(), file.meta().transfer_syntax()),
            (uid.as_str(), syntax.as_str())
        );
        assert!(*bytes == data_set(path), "{}", path.display());
    }
}

#[test]
fn refused_objects_and_lost_connections_are_named() {
    let folder = folder_with_series();
    let at = folder.path();
    let before: Vec<Vec<u8>> = files(&at.join("pet")).iter().map(|path| std::fs::read(path).unwrap()).collect();
    let (to, work) = node(|index| [0xb000, 0xa700, 0][index], usize::MAX);
    let said = refused(at, 1, &["send", "pet", "--to", &to]);
    assert!(said.contains("warning: pet/IM0001: data elements were coerced (status B000H)"), "{said}");
    assert!(said.contains("not stored: pet/IM0002: out of resources (status A700H)"), "{said}");
    assert!(said.contains("2 of 3 objects stored"), "{said}");
    assert_eq!(work.join().unwrap().len(), 3);
    let (to, work) = node(|_| 0, 1);
    let said = refused(at, 1, &["send", "pet", "--to", &to]);
    assert!(said.contains("1 of 3 objects stored") && said.contains("pet/IM0003"), "{said}");
    work.join().unwrap();
    // Nothing listens at this port any more.
    failed_connection(at, &to);
    let (to, work) = node(|_| 0, usize::MAX);
    let other = to.replace("ARCHIVE", "OTHER");
    let said = refused(at, 1, &["send", "pet", "--to", &other]);
    assert!(said.contains("rejects the association") && said.contains("--to"), "{said}");
    drop(work);
    let after: Vec<Vec<u8>> = files(&at.join("pet")).iter().map(|path| std::fs::read(path).unwrap()).collect();
    assert!(before == after);
}

fn failed_connection(at: &Path, to: &str) {
    let said = refused(at, 1, &["send", "pet", "--to", to]);
    assert!(said.contains("no connection"), "{said}");
}

#[test]
fn a_node_is_verified_and_arguments_are_checked() {
    let folder = folder_with_series();
    let at = folder.path();
    let (to, work) = node(|_| 0, usize::MAX);
    assert!(done(at, &["send", "--echo", "--to", &to]).contains("responds"));
    assert!(work.join().unwrap().is_empty());
    refused(at, 2, &["send", "--to", &to]);
    assert!(refused(at, 2, &["send", "pet", "--to", "pacs:104"]).contains("AET@HOST:PORT"));
    assert!(refused(at, 2, &["send", "pet", "--to", &to, "--as", "SEVENTEEN-LETTERS"]).contains("AE title"));
    std::fs::create_dir(at.join("empty")).unwrap();
    let said = refused(at, 1, &["send", "empty", "--to", &to]);
    assert!(said.contains("no DICOM file to send"), "{said}");
    let _ = failed;
}

/// A port that is free now.
fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

#[test]
fn storescp_stores_the_same_data_sets() {
    let folder = folder_with_series();
    let at = folder.path();
    done(at, &["convert", "pet", "own.nii", "--suv", "suvbw"]);
    done(at, &["simulate", "nema-iq-2001", "--scanner", "small", "--counts", "1e5", "-o", "scan.hs"]);
    done(at, &["reconstruct", "scan.hs", "--image", "31,29,9", "--iterations", "1", "-o", "own.dcm"]);
    let port = free_port().to_string();
    let stored = at.join("stored");
    std::fs::create_dir(&stored).unwrap();
    let arguments = ["-aet", "ARCHIVE", "-od", stored.to_str().unwrap(), "+xa", &port];
    let Ok(mut program) = Command::new("storescp").args(arguments).spawn() else {
        println!("skipped: no storescp");
        return;
    };
    let to = format!("ARCHIVE@127.0.0.1:{port}");
    let begin = Instant::now();
    while TcpStream::connect(("127.0.0.1", port.parse().unwrap())).is_err() && begin.elapsed() < Duration::from_secs(10) {
        thread::sleep(Duration::from_millis(50));
    }
    let printed = done(at, &["send", "own.dcm", "lossless-sv1", "--to", &to, "--echo"]);
    program.kill().unwrap();
    program.wait().unwrap();
    assert!(printed.contains("12 of 12 objects stored"), "{printed}");
    let received = files(&stored);
    assert_eq!(received.len(), 12);
    for path in [files(&at.join("own.dcm")), files(&at.join("lossless-sv1"))].concat() {
        let file = open_file(&path).unwrap();
        let uid = file.meta().media_storage_sop_instance_uid();
        let copy = received.iter().find(|copy| open_file(copy).unwrap().meta().media_storage_sop_instance_uid() == uid);
        let copy = open_file(copy.unwrap()).unwrap();
        assert_eq!(copy.meta().transfer_syntax(), file.meta().transfer_syntax());
        let pixels = |file: &dicom_object::DefaultDicomObject| format!("{:?}", file.element(tags::PIXEL_DATA).unwrap().value());
        assert!(pixels(&copy) == pixels(&file), "{}", path.display());
        assert_eq!(
            copy.element(tags::PATIENT_NAME).unwrap().to_str().unwrap(),
            file.element(tags::PATIENT_NAME).unwrap().to_str().unwrap()
        );
    }
}
