//! `kahn snet graph`.

use std::io::{self, Write};
use std::process::{Command, Stdio};

use layout::backends::svg::SVGWriter;
use layout::gv::{DotParser, GraphBuilder};

use super::run::net_of;
use super::{GraphArguments, Refusal, Streams, program_of, write_whole};
use crate::plan::dot;

/// The largest picture that is drawn without Graphviz: beyond it takes seconds, then minutes.
const MOST_SHAPES: usize = 40;

pub(super) fn graph(arguments: &GraphArguments, streams: &mut Streams<'_>) -> Result<(), Refusal> {
    let program = program_of(&arguments.file, streams)?;
    let net = net_of(&program, arguments.net.as_deref())?;
    let text = dot(program.plan(), net);
    let Some(path) = &arguments.svg else { return streams.print(&text) };
    let picture = match by_graphviz(&text) {
        Ok(picture) => picture,
        Err(_) => by_layout(&text)
            .map_err(|why| {
                let message = format!("{} is not written: {why}", path.display());
                Refusal::run(message).help("install Graphviz, whose program `dot` draws it")
            })?
            .into_bytes(),
    };
    write_whole(path, &picture)
}

/// Lets the program `dot` of Graphviz draw.
fn by_graphviz(text: &str) -> io::Result<Vec<u8>> {
    let mut command = Command::new("dot");
    command.arg("-Tsvg").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut graphviz = command.spawn()?;
    let input = graphviz.stdin.take();
    let output = std::thread::scope(|scope| {
        // Written beside the reading: neither side waits for the other's pipe.
        scope.spawn(move || input.map(|mut input| input.write_all(text.as_bytes())));
        graphviz.wait_with_output()
    })?;
    if output.status.success() { Ok(output.stdout) } else { Err(io::ErrorKind::Other.into()) }
}

/// Draws a small picture without another program; frames of nets are left out.
fn by_layout(text: &str) -> Result<String, String> {
    let lines = text.lines().filter(|line| {
        let line = line.trim();
        !line.starts_with("subgraph") && !line.starts_with("label=")
    });
    // Without the opening lines of the frames their closing ones go too.
    let kept: Vec<&str> = lines.filter(|line| line.trim() != "}").collect();
    let flat = format!("{}\n}}\n", kept.join("\n"));
    let graph = DotParser::new(&flat).process()?;
    let mut builder = GraphBuilder::new();
    builder.visit_graph(&graph);
    let mut graph = builder.get();
    let shapes = graph.num_nodes();
    if shapes > MOST_SHAPES {
        return Err(format!(
            "it has {shapes} shapes; without Graphviz at most {MOST_SHAPES} are drawn"
        ));
    }
    let mut picture = SVGWriter::new();
    graph.do_it(false, false, false, &mut picture);
    Ok(picture.finalize())
}
