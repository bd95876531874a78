//! The papers whose experiments are done again.

use crate::experiment::Paper;

/// The Nornir run-time system as a whole.
pub(crate) static NORNIR: Paper = Paper {
    short: "Vrba and others (2010)",
    full: "Željko Vrba, Pål Halvorsen, Carsten Griwodz, Paul Beskow, Håvard Espeland, Dag Johansen: \
           The Nornir run-time system for parallel programs using Kahn process networks on \
           multi-core machines – a flexible alternative to MapReduce.",
};

/// Networks against MapReduce.
pub(crate) static FLEXIBLE: Paper = Paper {
    short: "Vrba and others (HPCC 2009)",
    full: "Željko Vrba, Pål Halvorsen, Carsten Griwodz, Paul Beskow: Kahn process networks are a \
           flexible alternative to MapReduce. HPCC 2009.",
};

/// The run-time system against what the operating system has.
pub(crate) static TECHNIQUES: Paper = Paper {
    short: "Vrba and others (MuCoCoS 2009)",
    full: "Željko Vrba, Pål Halvorsen, Carsten Griwodz: Evaluating the run-time performance of Kahn \
           process network implementation techniques on shared-memory multiprocessors. MuCoCoS 2009.",
};

/// S-Net by workers that follow records.
pub(crate) static FRONT: Paper = Paper {
    short: "Grelck and Gijsbers (2013)",
    full: "Clemens Grelck, Bert Gijsbers: An efficient scalable runtime system for S-Net dataflow \
           component coordination. KPS 2013.",
};

/// Communicating processes on many cores.
pub(crate) static CCSP: Paper = Paper {
    short: "Ritson and others (2009)",
    full: "Carl G. Ritson, Adam T. Sampson, Frederick R. M. Barnes: Multicore scheduling for \
           lightweight communicating processes. COORDINATION 2009.",
};
