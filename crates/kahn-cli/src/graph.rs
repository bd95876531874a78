//! `kahn graph`: the network of a program as a picture.

use std::io::{self, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;

use clap::ArgMatches;
use kahn::Network;
use kahn_apps::{App, Compare, Failure, output};
use layout::backends::svg::SVGWriter;
use layout::gv::{DotParser, GraphBuilder};

use crate::arguments::GraphArguments;
use crate::result;

/// The largest network that is drawn without Graphviz: beyond it takes seconds, then minutes.
const MOST_VERTICES: usize = 40;

/// Writes the network as DOT, and draws it if asked to.
pub(crate) fn graph(
    app: &App,
    matches: &ArgMatches,
    arguments: &GraphArguments,
) -> Result<(), Failure> {
    if let Some(path) = &arguments.svg {
        output::check_writable(path)?;
    }
    let variant = arguments.shape.network(app)?;
    let settings = app.settings(arguments.shape.parts, arguments.shape.seed)?;
    let program = (app.prepare)(matches, &settings)?;
    let mut network = Network::new();
    let _pending = kahn_apps::build(&*program, variant, &mut network, Compare::Numbers)?;
    let dot = network.dot();

    result::write(|out| out.write_all(dot.as_bytes()))?;
    let Some(path) = &arguments.svg else { return Ok(()) };
    let picture = match by_graphviz(&dot) {
        Ok(picture) => picture,
        Err(_) => by_layout(&dot, path)?.into_bytes(),
    };
    output::write_whole(path, &|out| out.write_all(&picture))
}

/// Lets the program `dot` of Graphviz draw.
fn by_graphviz(dot: &str) -> io::Result<Vec<u8>> {
    let mut command = Command::new("dot");
    command.arg("-Tsvg").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut graphviz = command.spawn()?;
    let input = graphviz.stdin.take();
    let output = thread::scope(|scope| {
        // Written beside the reading: neither side waits for the other's pipe. If it fails, so
        // does the drawing.
        scope.spawn(move || input.map(|mut input| input.write_all(dot.as_bytes())));
        graphviz.wait_with_output()
    })?;
    if output.status.success() { Ok(output.stdout) } else { Err(io::ErrorKind::Other.into()) }
}

/// Draws a small network without another program.
fn by_layout(dot: &str, path: &Path) -> Result<String, Failure> {
    let not_drawn = |why: String| {
        Failure::input(format!("{} is not written: {why}", path.display())).with_help(
            "install Graphviz, whose program `dot` draws it, or draw the DOT text on standard output",
        )
    };
    let graph = DotParser::new(dot).process().map_err(not_drawn)?;
    let mut builder = GraphBuilder::new();
    builder.visit_graph(&graph);
    let mut graph = builder.get();
    let vertices = graph.num_nodes();
    if vertices > MOST_VERTICES {
        let most = MOST_VERTICES;
        return Err(not_drawn(format!(
            "the network has {vertices} vertices; without Graphviz at most {most} are drawn"
        )));
    }
    let mut picture = SVGWriter::new();
    graph.do_it(false, false, false, &mut picture);
    Ok(picture.finalize())
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;

    fn ring(vertices: usize) -> String {
        let mut dot = "digraph network {\n  rankdir=LR;\n".to_owned();
        for vertex in 0..vertices {
            let next = (vertex + 1) % vertices;
            writeln!(dot, "  p{vertex} [label=\"process {vertex}\"];").unwrap();
            writeln!(dot, "  p{vertex} -> p{next} [label=\"channel\"];").unwrap();
        }
        dot + "}\n"
    }

    #[test]
    fn a_small_network_is_drawn_and_a_large_one_refused() {
        let picture = by_layout(&ring(5), Path::new("ring.svg")).unwrap();
        assert!(picture.contains("<svg") && picture.contains("process 4"));
        let refused = by_layout(&ring(41), Path::new("ring.svg")).unwrap_err().to_string();
        assert!(refused.contains("41 vertices"), "{refused}");
    }
}
