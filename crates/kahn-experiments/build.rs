//! Tells the crate which compiler builds it, for measurements say what they were made with.

use std::env;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-env-changed=RUSTC");
    println!("cargo::rerun-if-changed=build.rs");
    let compiler = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let version = Command::new(compiler).arg("--version").output();
    let version = version.ok().and_then(|output| String::from_utf8(output.stdout).ok());
    let version = version.unwrap_or_else(|| "an unknown compiler".to_owned());
    println!("cargo::rustc-env=KAHN_COMPILER={}", version.trim());
}
