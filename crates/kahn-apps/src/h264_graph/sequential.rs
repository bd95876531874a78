//! The encoder on one thread: the stages of a frame called one after the other, written out.

use super::Encoder;
use super::stages::{BLACK, STAGES, Stage};
use crate::checksum::mix;

impl Encoder {
    /// Codes all frames, and returns the checksum of the coded stream.
    pub fn sequential(self) -> u64 {
        let stages = STAGES.iter().enumerate();
        let stages: Vec<_> =
            stages.map(|(number, row)| (row.name, Stage::new(number, row, self.work))).collect();
        let run = |name: &str, inputs: &[u64]| {
            let found = stages.iter().find(|(other, _)| *other == name);
            found.map_or(BLACK, |(_, stage)| stage.run(inputs))
        };
        let (mut checksum, mut decoded) = (0, BLACK);
        for number in 0..self.frames {
            let frame = run("Fn", &[number]);
            let reference = run("Fn-1", &[decoded]);
            let motion = run("ME", &[frame, reference]);
            let inter = run("MC", &[motion, reference]);
            let choice = run("CIP", &[frame, decoded]);
            let intra = run("IP", &[choice, decoded]);
            let prediction = run("P", &[inter, intra]);
            let difference = run("minus", &[frame, prediction]);
            let quantised = run("Q", &[run("T", &[difference])]);
            let restored = run("Ti", &[run("Qi", &[quantised])]);
            let coded = run("EC", &[run("R", &[quantised])]);
            checksum = mix(checksum, coded);
            decoded = run("plus", &[prediction, restored]);
        }
        checksum
    }
}
