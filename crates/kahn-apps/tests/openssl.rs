//! What this program encrypts `openssl enc` decrypts, and the other way round.
//!
//! Where there is no `openssl`, the published vectors (`aes/cipher.rs`) must do.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use kahn::Options;
use kahn_apps::{App, Variant, run};

const KEY: &str = "2b7e151628aed2a6abf7158809cf4f3c";
const START: &str = "f0f1f2f3f4f5f6f7fffffffffffffffe";

/// Whether there is an `openssl`. Where everything is to be tested, that is no question.
fn is_there() -> bool {
    let mut openssl = Command::new("openssl");
    let there = openssl.arg("version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    let there = there.is_ok_and(|status| status.success());
    if !there {
        // Not by a macro: what tests print so is shown only if they fail.
        let _ = writeln!(std::io::stderr(), "skipped: there is no `openssl`");
        assert!(std::env::var_os("CI").is_none_or(|ci| ci != "true"), "there is no `openssl`");
    }
    there
}

fn openssl(mode: &str, options: &[&str], file: &Path) -> Vec<u8> {
    let mut command = Command::new("openssl");
    command.args(["enc", &format!("-aes-128-{mode}"), "-K", KEY]).args(options);
    if mode == "ctr" {
        command.args(["-iv", START]);
    }
    let output = command.arg("-in").arg(file).output().expect("it is there");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

fn kahn(mode: &str, options: &[&str], file: &Path) -> Vec<u8> {
    let aes = App::named("aes").expect("it is in the table");
    let file = file.to_str().expect("a path of this test is text");
    let mut arguments = [&[file, "--key", KEY, "--mode", mode], options].concat();
    if mode == "ctr" {
        arguments.extend(["--iv", START]);
    }
    let program = aes.prepare_from(&arguments, Some(3), 0).expect("the arguments are right");
    let ran = run(&*program, Variant::Network, Options::new().workers(2), |_| {});
    let mut bytes = Vec::new();
    (ran.expect("the run finishes").answer.lines)(&mut bytes).expect("memory takes it");
    bytes
}

#[test]
fn both_write_the_same_bytes_and_read_those_of_the_other() {
    if !is_there() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (text, encrypted) = (folder.path().join("text"), folder.path().join("encrypted"));
    for length in [0, 1, 15, 16, 17, 65_520, 65_536, 65_537, 150_000] {
        let bytes: Vec<u8> = (0..=255).cycle().skip(7).take(length).collect();
        std::fs::write(&text, &bytes).unwrap();
        for mode in ["ecb", "ctr"] {
            let ours = kahn(mode, &[], &text);
            assert!(ours == openssl(mode, &["-e"], &text), "{length} bytes, {mode}");
            std::fs::write(&encrypted, &ours).unwrap();
            assert!(openssl(mode, &["-d"], &encrypted) == bytes, "{length} bytes, {mode}");
            assert!(kahn(mode, &["--decrypt"], &encrypted) == bytes, "{length} bytes, {mode}");
        }
        if length % 16 == 0 {
            let ours = kahn("ecb", &["--no-padding"], &text);
            assert!(ours == openssl("ecb", &["-e", "-nopad"], &text), "{length} bytes");
        }
    }
}

#[test]
fn des_writes_the_bytes_of_openssl_too() {
    if !is_there() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let text = folder.path().join("text");
    let key = "133457799bbcdff1";
    for length in [0, 5, 8, 1000] {
        std::fs::write(&text, vec![b'x'; length]).unwrap();
        // Where DES is still to be had at all: distributions may leave it out.
        let mut openssl = Command::new("openssl");
        openssl.args(["enc", "-des-ecb", "-provider", "legacy", "-provider", "default", "-K", key]);
        let theirs = openssl.arg("-in").arg(&text).output().expect("it is there");
        if !theirs.status.success() {
            let _ = writeln!(std::io::stderr(), "skipped: this `openssl` has no DES");
            return;
        }
        let text = text.to_str().expect("a path of this test is text");
        let des = App::named("des").expect("it is in the table");
        let des = des.prepare_from(&[text, "--key", key], None, 0).expect("arguments are right");
        let ran = run(&*des, Variant::Network, Options::new().workers(2), |_| {});
        let mut ours = Vec::new();
        (ran.expect("the run finishes").answer.lines)(&mut ours).expect("memory takes it");
        assert!(ours == theirs.stdout, "{length} bytes");
    }
}
