//! Where the processes of a run on several ranks ran, and what went from rank to rank: a part of its report.

use std::fmt::Write as _;

use indicatif::HumanBytes;
use kahn::Report;
use kahn_net::RankTable;
use serde_json::{Value, json};

/// Which process ran where.
#[derive(Debug, Default)]
pub(crate) struct Placed {
    pub(crate) ranks: usize,
    /// Whether some were placed by name.
    pub(crate) by_hand: bool,
    pub(crate) table: RankTable,
}

impl Placed {
    /// What has placed them, in words.
    fn by(&self) -> String {
        let others = self.table.placed_how();
        if self.by_hand { format!("by hand, the others {others}") } else { others.to_owned() }
    }

    /// The channels between ranks: names, ranks, messages and their bytes.
    fn between<'a>(
        &'a self,
        report: &'a Report,
    ) -> impl Iterator<Item = (&'a str, usize, usize, Option<(u64, u64)>)> {
        self.table.between().map(|(name, from, to)| {
            let channel = report.channels.iter().find(|channel| channel.name.as_str() == name);
            (name, from, to, channel.map(|channel| (channel.carried, channel.carried_bytes)))
        })
    }

    pub(crate) fn text(&self, report: &Report) -> String {
        let mut text = format!("{} ranks, placed {}", self.ranks, self.by());
        for rank in 0..self.ranks {
            let here = self.table.placed().filter(|(_, at)| *at == rank).map(|(name, _)| name);
            let _ = write!(text, "\nrank {rank}: {}", here.collect::<Vec<_>>().join(", "));
        }
        for (name, from, to, carried) in self.between(report) {
            let carried = carried.map_or("- messages".to_owned(), |(messages, bytes)| {
                format!("{messages} messages, {}", HumanBytes(bytes))
            });
            let _ = write!(text, "\n{name}: {carried} from rank {from} to rank {to}");
        }
        if report.slot_bytes.1 > 0 {
            text.push_str(
                "\nthe budget is that of each rank; what channels took is of all of them",
            );
        }
        text
    }

    pub(crate) fn json(&self, report: &Report) -> Value {
        let process = |(name, rank): (&str, usize)| json!({ "name": name, "rank": rank });
        let channel = |(name, from, to, carried): (&str, usize, usize, Option<(u64, u64)>)| {
            let (messages, bytes) = carried.unzip();
            json!({ "name": name, "from": from, "to": to, "messages": messages, "bytes": bytes })
        };
        json!({
            "count": self.ranks,
            "placed": self.by(),
            "processes": self.table.placed().map(process).collect::<Vec<_>>(),
            "channels": self.between(report).map(channel).collect::<Vec<_>>(),
            "budget": "per rank",
        })
    }
}
