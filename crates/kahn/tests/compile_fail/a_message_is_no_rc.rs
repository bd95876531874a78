//! A message changes threads with its receiver.

fn main() {
    let mut network = kahn::Network::new();
    let _ends = network.channel::<std::rc::Rc<u32>>("shared");
}
