//! `tomoscope send`: objects to a node in this process (dicom-ul), and to dcmtk's `storescp` where it is installed.

use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use dicom_dictionary_std::tags;
use dicom_object::open_file;

use super::node::node;
use super::{done, failed, refused};

/// A folder with a series of three slices.
fn folder_with_series() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let source = tomoscope_support::in_repository("tests/data/dicom");
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
