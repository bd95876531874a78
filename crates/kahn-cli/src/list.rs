//! `kahn list`: what there is to run, and how.

use kahn::policy::PolicyChoice;
use kahn_apps::{APPS, Variant};
use kahn_command::{Failure, write};
use kahn_policies::POLICIES;

/// Writes the tables of programs and policies: a line each, the name first.
pub(crate) fn list() -> Result<(), Failure> {
    let names = APPS.iter().map(|app| app.name).chain(POLICIES.iter().map(PolicyChoice::name));
    let width = names.map(str::len).max().unwrap_or_default();
    write(|out| {
        for app in APPS {
            let variants: Vec<_> = app.variants.iter().copied().map(Variant::name).collect();
            let variants = variants.join(", ");
            writeln!(out, "{:width$}  app     {} ({variants})", app.name, app.summary)?;
        }
        for policy in POLICIES {
            writeln!(out, "{:width$}  policy  {}", policy.name(), policy.summary())?;
        }
        Ok(())
    })
}
