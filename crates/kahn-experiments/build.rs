//! Tells the crate which compiler and which profile build it, for measurements say what they were made with.

use std::env;
use std::path::PathBuf;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-env-changed=RUSTC");
    println!("cargo::rerun-if-changed=build.rs");
    let compiler = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let version = Command::new(compiler).arg("--version").output();
    let version = version.ok().and_then(|output| String::from_utf8(output.stdout).ok());
    let version = version.unwrap_or_else(|| "an unknown compiler".to_owned());
    println!("cargo::rustc-env=KAHN_COMPILER={}", version.trim());
    println!("cargo::rustc-env=KAHN_PROFILE={}", profile().unwrap_or_default());
}

/// The name of the profile: that of the folder of what is built, for `PROFILE` names the one it inherits from.
fn profile() -> Option<String> {
    // <target>/<profile>/build/<package>/out
    let out = PathBuf::from(env::var_os("OUT_DIR")?);
    Some(out.ancestors().nth(3)?.file_name()?.to_str()?.to_owned())
}
