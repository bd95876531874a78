//! `?` makes it of every error: `Ok(text.parse()?)`.

fn main() {
    let mut network = kahn::Network::new();
    let texts = network.source("texts", ["1", "2"]);
    let _numbers = network.try_map("parse", texts, |text| text.parse::<u32>());
}
