// Workloads of kahn-bench on the flow graph of oneTBB: function nodes and edges.
//
//   tbb WORKERS ring PROCESSES TOKENS CYCLES
//   tbb WORKERS pipeline PROCESSES CAPACITY BYTES MESSAGES STEPS
//   tbb WORKERS spawn PROCESSES
//   tbb WORKERS scatter WIDTH CAPACITY ROUNDS STEPS
//
// A node is serial, as a process is. Edges have no bound: capacities are not used.

#include <tbb/flow_graph.h>
#include <tbb/global_control.h>
#include <tbb/task_arena.h>

#include <atomic>
#include <memory>

#include "figures.hpp"

namespace flow = tbb::flow;

template <class In, class Out = In>
using Node = flow::function_node<In, Out>;

template <class In>
using Many = flow::multifunction_node<In, std::tuple<In>>;

// A node adds 1 to a token and passes it on, until the token has made all its hops.
void ring(std::size_t processes, std::size_t tokens, std::size_t cycles) {
    const std::uint64_t laps = tokens == 1 ? cycles : cycles + 1;
    const std::uint64_t hops = processes * laps;
    flow::graph graph;
    std::vector<std::unique_ptr<Many<std::uint64_t>>> nodes;
    for (std::size_t n = 0; n < processes; ++n) {
        nodes.push_back(std::make_unique<Many<std::uint64_t>>(
            graph, flow::serial,
            [hops](std::uint64_t token, Many<std::uint64_t>::output_ports_type& ports) {
                if (token < hops) {
                    std::get<0>(ports).try_put(token + 1);
                }
            }));
    }
    for (std::size_t n = 0; n < processes; ++n) {
        flow::make_edge(flow::output_port<0>(*nodes[n]), *nodes[(n + 1) % processes]);
    }
    const auto since = Clock::now();
    for (std::size_t n = 0; n < tokens; ++n) {
        nodes[0]->try_put(1);
    }
    graph.wait_for_all();
    each("time per message", Clock::now() - since, hops * tokens);
}

template <class T>
void pipeline(std::size_t processes, std::size_t, std::size_t messages, std::size_t steps) {
    flow::graph graph;
    std::size_t sent = 0;
    std::size_t arrived = 0;
    std::uint64_t checksum = 0;
    flow::input_node<T> first(graph, [&](tbb::flow_control& control) {
        if (sent == messages) {
            control.stop();
        }
        return numbered<T>(sent++);
    });
    std::vector<std::unique_ptr<Node<T>>> nodes;
    for (std::size_t stage = 1; stage + 1 < processes; ++stage) {
        nodes.push_back(std::make_unique<Node<T>>(graph, flow::serial, [=](T message) {
            pass(message, stage, steps);
            return message;
        }));
    }
    Node<T, flow::continue_msg> last(graph, flow::serial, [&](const T& message) {
        checksum = sum(checksum, message);
        ++arrived;
        return flow::continue_msg();
    });
    flow::sender<T>* before = &first;
    for (auto& node : nodes) {
        flow::make_edge(*before, *node);
        before = node.get();
    }
    flow::make_edge(*before, last);
    const auto since = Clock::now();
    first.activate();
    graph.wait_for_all();
    keep(checksum);
    if (arrived != messages) {
        fail("messages were lost");
    }
    each("time per message", Clock::now() - since, messages * (processes - 1));
}

void spawn(std::size_t processes) {
    const auto before = resident("VmRSS:");
    const auto since = Clock::now();
    flow::graph graph;
    std::size_t replies = 0;
    Node<std::uint64_t, flow::continue_msg> driver(graph, flow::serial, [&](std::uint64_t) {
        ++replies;
        return flow::continue_msg();
    });
    std::vector<std::unique_ptr<Node<std::uint64_t>>> nodes;
    for (std::size_t n = 0; n < processes; ++n) {
        nodes.push_back(std::make_unique<Node<std::uint64_t>>(
            graph, flow::serial, [](std::uint64_t number) { return number + 1; }));
        flow::make_edge(*nodes.back(), driver);
    }
    for (auto& node : nodes) {
        node->try_put(1);
    }
    graph.wait_for_all();
    nodes.clear();
    if (replies != processes) {
        fail("replies were lost");
    }
    each("time per process", Clock::now() - since, processes);
    const double grown = static_cast<double>(resident("VmHWM:") - before);
    std::printf("memory per process\tbytes\t%f\n", grown / static_cast<double>(processes));
}

void scatter(std::size_t width, std::size_t, std::size_t rounds, std::size_t steps) {
    flow::graph graph;
    std::atomic<std::uint64_t> total{0};
    std::vector<std::unique_ptr<Node<std::uint64_t>>> nodes;
    Node<std::uint64_t, flow::continue_msg> root(graph, flow::serial, [&](std::uint64_t value) {
        total += value;
        return flow::continue_msg();
    });
    for (std::size_t n = 0; n < width; ++n) {
        nodes.push_back(std::make_unique<Node<std::uint64_t>>(
            graph, flow::serial, [steps](std::uint64_t seed) { return spend(steps, seed); }));
        flow::make_edge(*nodes.back(), root);
    }
    const auto since = Clock::now();
    for (std::size_t round = 0; round < rounds; ++round) {
        for (std::size_t n = 0; n < width; ++n) {
            nodes[n]->try_put(mix(round, n));
        }
        graph.wait_for_all();
    }
    keep(total);
    each("time per task", Clock::now() - since, width * rounds);
}

int main(int count, char** arguments) {
    if (count < 3) {
        fail("usage: tbb WORKERS WORKLOAD NUMBER..");
    }
    const auto workers = std::strtoul(arguments[1], nullptr, 10);
    const std::string workload = arguments[2];
    const auto n = numbers(count, arguments, 3);
    tbb::global_control control(tbb::global_control::max_allowed_parallelism, workers);
    tbb::task_arena arena(static_cast<int>(workers));
    arena.execute([&] {
        if (workload == "ring" && n.size() == 3) {
            ring(n[0], n[1], n[2]);
        } else if (workload == "pipeline" && n.size() == 5 && n[2] == 8) {
            pipeline<Small>(n[0], n[1], n[3], n[4]);
        } else if (workload == "pipeline" && n.size() == 5 && n[2] == 2048) {
            pipeline<Large>(n[0], n[1], n[3], n[4]);
        } else if (workload == "pipeline" && n.size() == 5 && n[2] == 32) {
            pipeline<Event>(n[0], n[1], n[3], n[4]);
        } else if (workload == "spawn" && n.size() == 1) {
            spawn(n[0]);
        } else if (workload == "scatter" && n.size() == 4) {
            scatter(n[0], n[1], n[2], n[3]);
        } else {
            fail("no workload " + workload);
        }
    });
}
