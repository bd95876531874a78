//! Random networks, recorded and replayed, and held against the interpreter of `kahn-laws`, which knows neither.

use kahn_laws::network::{Records, Replayed};
use kahn_laws::{Extent, soak};
use kahn_observe::record::{Header, Recorder, Replay};
use std::sync::Arc;
use std::time::Duration;
use tempfile::{NamedTempFile, TempDir, TempPath};

/// Recordings in a folder.
struct Files(TempDir);

impl Records for Files {
    type Recording = TempPath;
    type Recorder = Recorder;
    type Replay = Replay;

    fn record(&self, run: &mut dyn FnMut(Arc<Recorder>)) -> Result<TempPath, String> {
        let path =
            NamedTempFile::new_in(&self.0).map_err(|error| error.to_string())?.into_temp_path();
        // Its name is free again.
        std::fs::remove_file(&path).map_err(|error| error.to_string())?;
        let recorder = Arc::new(Recorder::new(&*path, Header::default()));
        run(Arc::clone(&recorder));
        recorder.finish().map(|_| path).map_err(|error| error.to_string())
    }

    fn replay(&self, recording: &TempPath, run: &mut dyn FnMut(Arc<Replay>)) -> Result<(), String> {
        let replay = Arc::new(Replay::open(recording).map_err(|error| error.to_string())?);
        if let Some(why) = replay.ends_early() {
            return Err(why);
        }
        run(Arc::clone(&replay));
        replay.difference().map_or(Ok(()), Err)
    }
}

#[test]
fn random_networks_do_what_was_recorded_and_what_the_model_says() {
    let records = Files(tempfile::tempdir().unwrap());
    let extent = Extent { seed: 1, cases: 1000, time: None, shrinking: Duration::from_secs(20) };
    let summary = soak(&Replayed { replays: 4, records }, extent);
    assert!(summary.is_good(), "{summary}");
    assert!(summary.cases > 300 && summary.tally.messages > 5_000, "{summary}");
}
