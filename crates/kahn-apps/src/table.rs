//! The table of all programs.

use clap::{Args as _, FromArgMatches as _};

#[cfg(feature = "streamit")]
use crate::streamit::{bitonic_sort, des, fft, filter_bank, fm_radio};
use crate::{
    App, Variant, aes, h264_graph, hamming, kmeans, pipeline, random_network, ring, scatter_gather,
    sieve, wordcount,
};
#[cfg(feature = "communicating")]
use crate::{agents, bank, commstime, mandelbrot, philosophers, proxy};

/// Every program, in the order in which `kahn list` shows them.
pub const APPS: &[App] = &[
    App {
        name: "wordcount",
        summary: "counts how often each word stands in files",
        examples: wordcount::EXAMPLES,
        variants: &[Variant::Network, Variant::MapReduce, Variant::Sequential],
        default_parts: wordcount::DEFAULT_PARTS,
        most_parts: wordcount::MOST_PARTS,
        arguments: wordcount::Arguments::augment_args,
        prepare: |matches, settings| {
            let arguments = wordcount::Arguments::from_arg_matches(matches)?;
            wordcount::prepare(&arguments, settings)
        },
    },
    App {
        name: "kmeans",
        summary: "groups points around K means",
        examples: kmeans::EXAMPLES,
        variants: &[Variant::Network, Variant::MapReduce, Variant::Sequential],
        default_parts: kmeans::DEFAULT_PARTS,
        most_parts: kmeans::MOST_PARTS,
        arguments: kmeans::Arguments::augment_args,
        prepare: |matches, settings| {
            let arguments = kmeans::Arguments::from_arg_matches(matches)?;
            kmeans::prepare(&arguments, settings)
        },
    },
    App {
        name: "sieve",
        summary: "finds the primes up to N, with one process a prime",
        examples: sieve::EXAMPLES,
        variants: &[Variant::Network, Variant::Sequential],
        default_parts: 1,
        most_parts: usize::MAX,
        arguments: sieve::Arguments::augment_args,
        prepare: |matches, _| {
            Ok(Box::new(sieve::Sieve::new(sieve::Arguments::from_arg_matches(matches)?.limit)))
        },
    },
    App {
        name: "hamming",
        summary: "finds the first N numbers with no prime factor beyond five",
        examples: hamming::EXAMPLES,
        variants: &[Variant::Network, Variant::Sequential],
        default_parts: 1,
        most_parts: usize::MAX,
        arguments: hamming::Arguments::augment_args,
        prepare: |matches, _| {
            let arguments = hamming::Arguments::from_arg_matches(matches)?;
            Ok(Box::new(hamming::Hamming::prepare(arguments.count)?))
        },
    },
    App {
        name: "ring",
        summary: "passes tokens round a ring of processes",
        examples: ring::EXAMPLES,
        variants: &[
            Variant::Network,
            #[cfg(feature = "communicating")]
            Variant::Rendezvous,
            Variant::Threads,
            Variant::Sequential,
        ],
        default_parts: 1,
        most_parts: usize::MAX,
        arguments: ring::Arguments::augment_args,
        prepare: |matches, _| {
            let arguments = ring::Arguments::from_arg_matches(matches)?;
            Ok(Box::new(ring::RingProgram::prepare(&arguments)?))
        },
    },
    App {
        name: "scatter-gather",
        summary: "hands tasks out to many processes and awaits all, in rounds",
        examples: scatter_gather::EXAMPLES,
        variants: &[Variant::Network, Variant::Sequential],
        default_parts: 1,
        most_parts: usize::MAX,
        arguments: scatter_gather::Arguments::augment_args,
        prepare: |matches, _| {
            let arguments = scatter_gather::Arguments::from_arg_matches(matches)?;
            Ok(Box::new(scatter_gather::ScatterGatherProgram::new(&arguments)))
        },
    },
    App {
        name: "pipeline",
        summary: "passes messages of a size through stages in a row",
        examples: pipeline::EXAMPLES,
        variants: &[Variant::Network, Variant::Sequential],
        default_parts: 1,
        most_parts: usize::MAX,
        arguments: pipeline::Arguments::augment_args,
        prepare: |matches, _| {
            let arguments = pipeline::Arguments::from_arg_matches(matches)?;
            Ok(Box::new(pipeline::PipelineProgram::prepare(&arguments)?))
        },
    },
    App {
        name: "random",
        summary: "passes work through layers of processes joined at random, with cycles",
        examples: random_network::EXAMPLES,
        variants: &[Variant::Network, Variant::Sequential],
        default_parts: 1,
        most_parts: usize::MAX,
        arguments: random_network::Arguments::augment_args,
        prepare: |matches, settings| {
            let arguments = random_network::Arguments::from_arg_matches(matches)?;
            Ok(Box::new(random_network::RandomProgram::prepare(&arguments, settings)?))
        },
    },
    App {
        name: "aes",
        summary: "encrypts a file with AES-128, or a block of memory many times",
        examples: aes::EXAMPLES,
        variants: &[Variant::Network, Variant::Sequential],
        default_parts: aes::DEFAULT_PARTS,
        most_parts: aes::MOST_PARTS,
        arguments: aes::Arguments::augment_args,
        prepare: |matches, settings| {
            let arguments = aes::Arguments::from_arg_matches(matches)?;
            aes::prepare(&arguments, settings)
        },
    },
    App {
        name: "h264-graph",
        summary: "passes frames through the graph of a video encoder, with work in place of video",
        examples: h264_graph::EXAMPLES,
        variants: &[Variant::Network, Variant::Sequential],
        default_parts: h264_graph::DEFAULT_PARTS,
        most_parts: h264_graph::MOST_PARTS,
        arguments: h264_graph::Arguments::augment_args,
        prepare: |matches, settings| {
            let arguments = h264_graph::Arguments::from_arg_matches(matches)?;
            Ok(Box::new(h264_graph::EncoderProgram::new(&arguments, settings)))
        },
    },
    #[cfg(feature = "streamit")]
    App {
        name: "fm-radio",
        summary: "receives a radio station and equalises its sound",
        examples: fm_radio::EXAMPLES,
        variants: &[Variant::Network, Variant::Sequential],
        default_parts: 1,
        most_parts: usize::MAX,
        arguments: fm_radio::Arguments::augment_args,
        prepare: |matches, _| {
            let arguments = fm_radio::Arguments::from_arg_matches(matches)?;
            Ok(Box::new(fm_radio::FmRadio::prepare(&arguments)?))
        },
    },
    #[cfg(feature = "streamit")]
    App {
        name: "filter-bank",
        summary: "takes a signal apart into bands and puts it together",
        examples: filter_bank::EXAMPLES,
        variants: &[Variant::Network, Variant::Sequential],
        default_parts: 1,
        most_parts: usize::MAX,
        arguments: filter_bank::Arguments::augment_args,
        prepare: |matches, settings| {
            let arguments = filter_bank::Arguments::from_arg_matches(matches)?;
            Ok(Box::new(filter_bank::FilterBank::prepare(&arguments, settings)?))
        },
    },
    #[cfg(feature = "streamit")]
    App {
        name: "fft",
        summary: "transforms blocks of points as Fourier does",
        examples: fft::EXAMPLES,
        variants: &[Variant::Network, Variant::Sequential],
        default_parts: fft::DEFAULT_PARTS,
        most_parts: fft::MOST_PARTS,
        arguments: fft::Arguments::augment_args,
        prepare: |matches, settings| {
            let arguments = fft::Arguments::from_arg_matches(matches)?;
            Ok(Box::new(fft::Fft::prepare(&arguments, settings)?))
        },
    },
    #[cfg(feature = "streamit")]
    App {
        name: "bitonic-sort",
        summary: "sorts blocks of numbers, with one process a comparator",
        examples: bitonic_sort::EXAMPLES,
        variants: &[Variant::Network, Variant::Sequential],
        default_parts: 1,
        most_parts: usize::MAX,
        arguments: bitonic_sort::Arguments::augment_args,
        prepare: |matches, settings| {
            let arguments = bitonic_sort::Arguments::from_arg_matches(matches)?;
            Ok(Box::new(bitonic_sort::BitonicSort::prepare(&arguments, settings)?))
        },
    },
    #[cfg(feature = "streamit")]
    App {
        name: "des",
        summary: "encrypts with the Data Encryption Standard, a bit a message",
        examples: des::EXAMPLES,
        variants: &[Variant::Network, Variant::Sequential],
        default_parts: 1,
        most_parts: usize::MAX,
        arguments: des::Arguments::augment_args,
        prepare: |matches, settings| {
            let arguments = des::Arguments::from_arg_matches(matches)?;
            Ok(Box::new(des::Des::prepare(&arguments, settings)?))
        },
    },
    #[cfg(feature = "communicating")]
    App {
        name: "commstime",
        summary: "counts with four processes that meet",
        examples: commstime::EXAMPLES,
        variants: &[Variant::Communicating, Variant::Sequential],
        default_parts: 1,
        most_parts: usize::MAX,
        arguments: commstime::Arguments::augment_args,
        prepare: |matches, _| {
            let arguments = commstime::Arguments::from_arg_matches(matches)?;
            Ok(Box::new(commstime::CommstimeProgram::new(&arguments)))
        },
    },
    #[cfg(feature = "communicating")]
    App {
        name: "philosophers",
        summary: "lets philosophers share forks, with a deadlock or without",
        examples: philosophers::EXAMPLES,
        variants: &[Variant::Corrected, Variant::Deadlock, Variant::Sequential],
        default_parts: 1,
        most_parts: usize::MAX,
        arguments: philosophers::Arguments::augment_args,
        prepare: |matches, _| {
            let arguments = philosophers::Arguments::from_arg_matches(matches)?;
            Ok(Box::new(philosophers::PhilosophersProgram::new(&arguments)))
        },
    },
    #[cfg(feature = "communicating")]
    App {
        name: "bank",
        summary: "lets many clients transfer money at one bank",
        examples: bank::EXAMPLES,
        variants: &[Variant::Communicating, Variant::Sequential],
        default_parts: 1,
        most_parts: usize::MAX,
        arguments: bank::Arguments::augment_args,
        prepare: |matches, settings| {
            let arguments = bank::Arguments::from_arg_matches(matches)?;
            Ok(Box::new(bank::BankProgram::new(&arguments, settings)))
        },
    },
    #[cfg(feature = "communicating")]
    App {
        name: "agents",
        summary: "moves agents through a world, with a process for each",
        examples: agents::EXAMPLES,
        variants: &[Variant::Communicating, Variant::DataParallel, Variant::Sequential],
        default_parts: agents::DEFAULT_PARTS,
        most_parts: agents::MOST_PARTS,
        arguments: agents::Arguments::augment_args,
        prepare: |matches, settings| {
            let arguments = agents::Arguments::from_arg_matches(matches)?;
            Ok(Box::new(agents::AgentsProgram::prepare(&arguments, settings)?))
        },
    },
    #[cfg(feature = "communicating")]
    App {
        name: "mandelbrot",
        summary: "computes a film of the Mandelbrot set with farmer, workers and harvester",
        examples: mandelbrot::EXAMPLES,
        variants: &[Variant::Communicating, Variant::Sequential],
        default_parts: mandelbrot::DEFAULT_PARTS,
        most_parts: mandelbrot::MOST_PARTS,
        arguments: mandelbrot::Arguments::augment_args,
        prepare: |matches, settings| {
            let arguments = mandelbrot::Arguments::from_arg_matches(matches)?;
            Ok(Box::new(mandelbrot::MandelbrotProgram::prepare(arguments, settings)?))
        },
    },
    #[cfg(feature = "communicating")]
    App {
        name: "proxy",
        summary: "forwards connections from one address to another, until Ctrl-C",
        examples: proxy::EXAMPLES,
        variants: &[Variant::Communicating],
        default_parts: 1,
        most_parts: usize::MAX,
        arguments: proxy::Arguments::augment_args,
        prepare: |matches, _| {
            Ok(Box::new(proxy::prepare(&proxy::Arguments::from_arg_matches(matches)?)?))
        },
    },
];

/// Options that only some variants of a program heed: the program, the option's id, and these variants.
pub(crate) const OF_SOME_VARIANTS: &[(&str, &str, &[Variant])] = &[
    ("wordcount", "combine", &[Variant::MapReduce]),
    ("wordcount", "one_by_one", &[Variant::MapReduce]),
    ("agents", "parts", &[Variant::DataParallel]),
    ("mandelbrot", "yields", &[Variant::Communicating]),
];
