//! A view as Prometheus' text, version 0.0.4.

use kahn_observe::sample::View;
use kahn_report::observe::Doing;
use std::fmt::{Display, Write as _};

/// The value of a label: what would end it is escaped.
fn escaped(value: &str) -> String {
    let mut text = String::with_capacity(value.len());
    for c in value.chars() {
        match c {
            '\\' => text.push_str("\\\\"),
            '"' => text.push_str("\\\""),
            '\n' => text.push_str("\\n"),
            c => text.push(c),
        }
    }
    text
}

#[derive(Default)]
struct Text(String);

impl Text {
    /// What the next values are of.
    fn family(&mut self, name: &str, kind: &str, help: &str) {
        // Writing to a string does not fail.
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    /// The value of what these labels name, on a rank if there are several.
    fn value(
        &mut self,
        name: &str,
        labels: &[(&str, &str)],
        rank: Option<usize>,
        value: impl Display,
    ) {
        let label = |(label, value): &(&str, &str)| format!("{label}=\"{}\"", escaped(value));
        let labels = labels.iter().map(label).chain(rank.map(|rank| format!("rank=\"{rank}\"")));
        let labels: Vec<_> = labels.collect();
        let _ = if labels.is_empty() {
            writeln!(self.0, "{name} {value}")
        } else {
            writeln!(self.0, "{name}{{{}}} {value}", labels.join(","))
        };
    }
}

/// All figures of a view.
pub(super) fn text(view: &View) -> String {
    let mut text = Text::default();
    text.family("kahn_processes", "gauge", "Processes that are alive.");
    text.value("kahn_processes", &[], None, view.of_processes.all);
    text.family("kahn_channels", "gauge", "Channels that are open.");
    text.value("kahn_channels", &[], None, view.of_channels.all);
    text.family(
        "kahn_process_share",
        "gauge",
        "Share of the last interval in which a process was in this state; they add up to 1.",
    );
    for process in &view.processes {
        let id = format!("{:016x}", process.id);
        for doing in Doing::ALL {
            let labels = [("process", process.name.as_str()), ("id", &id), ("state", doing.name())];
            text.value("kahn_process_share", &labels, process.rank, process.shares.of(doing));
        }
    }
    text.family("kahn_process_stuck", "gauge", "1 if nothing can wake a process.");
    for process in &view.processes {
        let id = format!("{:016x}", process.id);
        let labels = [("process", process.name.as_str()), ("id", &id)];
        text.value("kahn_process_stuck", &labels, process.rank, u8::from(process.stuck));
    }
    text.family(
        "kahn_worker_busy",
        "gauge",
        "Share of the last interval in which a worker ran a process.",
    );
    for (number, worker) in view.workers.iter().enumerate() {
        let labels = [("worker", &*number.to_string())];
        text.value("kahn_worker_busy", &labels, worker.rank, worker.busy);
    }
    for (name, kind, help) in [
        ("kahn_channel_messages", "gauge", "Messages in a channel."),
        ("kahn_channel_capacity", "gauge", "Messages that a channel holds at most."),
        ("kahn_channel_received_total", "counter", "Messages received from a channel."),
        ("kahn_channel_growths_total", "counter", "How often a channel grew."),
    ] {
        text.family(name, kind, help);
        for channel in &view.channels {
            let id = format!("{:016x}", channel.id);
            let value = match name {
                "kahn_channel_messages" => channel.waiting,
                "kahn_channel_capacity" => channel.capacity.into(),
                "kahn_channel_received_total" => channel.received,
                _ => channel.growths.into(),
            };
            text.value(name, &[("channel", channel.name.as_str()), ("id", &id)], None, value);
        }
    }
    text.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limit::tests::view;

    #[test]
    fn every_line_is_a_comment_or_a_value_with_escaped_labels() {
        let mut view = view();
        view.processes[0].name = "a\\\"b\nc".to_owned().into();
        view.processes[1].rank = Some(2);
        view.workers[1].rank = Some(2);
        let text = text(&view);
        assert!(text.contains(
            r#"kahn_process_share{process="a\\\"b\nc",id="0000000000000001",state="full"} 0.92"#
        ));
        assert!(text.contains("kahn_worker_busy{worker=\"0\"} 0.97\n"));
        assert!(text.contains("kahn_worker_busy{worker=\"1\",rank=\"2\"} 0.2\n"));
        let stuck = r#"kahn_process_stuck{process="compress",id="0000000000000002",rank="2"} 0"#;
        assert!(text.contains(stuck));
        assert!(text.contains(
            "kahn_channel_received_total{channel=\"blocks\",id=\"000000000000000b\"} 41000\n"
        ));
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let (series, value) = line.rsplit_once(' ').expect("a value");
            assert!(value.parse::<f64>().is_ok() && series.starts_with("kahn_"), "{line}");
            // Each was said to be something before.
            let name = series.split('{').next().unwrap_or_default();
            assert!(text.contains(&format!("# TYPE {name} ")), "{line}");
        }
    }
}
