// Workloads of kahn-bench on Boost.Fiber: fibers and buffered channels.
//
//   fiber WORKERS ring PROCESSES TOKENS CYCLES
//   fiber WORKERS pipeline PROCESSES CAPACITY BYTES MESSAGES STEPS
//   fiber WORKERS spawn PROCESSES
//   fiber WORKERS scatter WIDTH CAPACITY ROUNDS STEPS
//
// One worker schedules round robin, more steal from each other. A buffered channel of capacity n
// holds n - 1 messages, and n is a power of two.

#include <boost/fiber/all.hpp>

#include <memory>
#include <thread>

#include "figures.hpp"

namespace fibers = boost::fibers;

template <class T>
using Channel = fibers::buffered_channel<T>;

template <class T>
using Shared = std::shared_ptr<Channel<T>>;

template <class T>
Shared<T> channel(std::size_t capacity) {
    std::size_t slots = 2;
    while (slots < capacity + 1) {
        slots *= 2;
    }
    return std::make_shared<Channel<T>>(slots);
}

// Fibers that are posted start when their worker next schedules.
template <class F>
fibers::fiber start(F&& code) {
    // Not pooled: with more workers a fiber may end on another one than it began on.
    static boost::context::fixedsize_stack stack(16 * 1024);
    return fibers::fiber(fibers::launch::post, std::allocator_arg, stack, std::forward<F>(code));
}

void join(std::vector<fibers::fiber>& all) {
    for (auto& fiber : all) {
        fiber.join();
    }
}

// The root sends tokens, passes them on, and takes them home; an element adds 1. A 0 ends all.
void ring(std::size_t processes, std::size_t tokens, std::size_t cycles) {
    auto first = channel<std::uint64_t>(1);
    auto last = first;
    std::vector<fibers::fiber> all;
    for (std::size_t n = 1; n < processes; ++n) {
        auto left = last;
        auto right = channel<std::uint64_t>(1);
        all.push_back(start([=] {
            std::uint64_t token = 1;
            while (token != 0) {
                left->pop(token);
                right->push(token == 0 ? 0 : token + 1);
            }
        }));
        last = right;
    }
    std::uint64_t token = 0, total = 0;
    first->push(1);
    last->pop(token);
    const auto since = Clock::now();
    std::size_t laps = cycles;
    if (tokens == 1) {
        for (std::size_t cycle = 0; cycle < cycles; ++cycle) {
            first->push(token + 1);
            last->pop(token);
        }
        total = token;
    } else {
        for (std::uint64_t number = 1; number <= tokens; ++number) {
            first->push(number);
        }
        for (std::size_t n = 0; n < cycles * tokens; ++n) {
            last->pop(token);
            first->push(token + 1);
        }
        for (std::size_t n = 0; n < tokens; ++n) {
            last->pop(token);
            total += token;
        }
        laps = tokens * (cycles + 1);
    }
    const auto elapsed = Clock::now() - since;
    first->push(0);
    last->pop(token);
    join(all);
    if (total != tokens * (tokens + 1) / 2 + tokens * (processes - 1 + processes * cycles)) {
        fail("the tokens come home with another number");
    }
    each("time per message", elapsed, processes * laps);
}

template <class T>
void pipeline(std::size_t processes, std::size_t capacity, std::size_t messages, std::size_t steps) {
    std::vector<fibers::fiber> all;
    const auto since = Clock::now();
    auto last = channel<T>(capacity);
    all.push_back(start([=] {
        for (std::size_t n = 0; n < messages; ++n) {
            last->push(numbered<T>(n));
        }
        last->close();
    }));
    for (std::size_t stage = 1; stage + 1 < processes; ++stage) {
        auto left = last;
        auto right = channel<T>(capacity);
        all.push_back(start([=] {
            T message;
            while (left->pop(message) == fibers::channel_op_status::success) {
                pass(message, stage, steps);
                right->push(std::move(message));
            }
            right->close();
        }));
        last = right;
    }
    std::size_t arrived = 0;
    std::uint64_t checksum = 0;
    all.push_back(start([&, last] {
        T message;
        while (last->pop(message) == fibers::channel_op_status::success) {
            checksum = sum(checksum, message);
            ++arrived;
        }
    }));
    join(all);
    keep(checksum);
    if (arrived != messages) {
        fail("messages were lost");
    }
    each("time per message", Clock::now() - since, messages * (processes - 1));
}

void spawn(std::size_t processes) {
    const auto before = resident("VmRSS:");
    const auto since = Clock::now();
    std::vector<Shared<std::uint64_t>> ask, hear;
    std::vector<fibers::fiber> all;
    for (std::size_t n = 0; n < processes; ++n) {
        auto question = channel<std::uint64_t>(1);
        auto answer = channel<std::uint64_t>(1);
        all.push_back(start([=] {
            std::uint64_t number = 0;
            question->pop(number);
            answer->push(number + 1);
        }));
        ask.push_back(question);
        hear.push_back(answer);
    }
    for (auto& question : ask) {
        question->push(1);
    }
    for (auto& answer : hear) {
        std::uint64_t number = 0;
        answer->pop(number);
    }
    join(all);
    each("time per process", Clock::now() - since, processes);
    const double grown = static_cast<double>(resident("VmHWM:") - before);
    std::printf("memory per process\tbytes\t%f\n", grown / static_cast<double>(processes));
}

void scatter(std::size_t width, std::size_t capacity, std::size_t rounds, std::size_t steps) {
    const auto since = Clock::now();
    std::vector<Shared<std::uint64_t>> tasks, replies;
    std::vector<fibers::fiber> all;
    for (std::size_t n = 0; n < width; ++n) {
        auto task = channel<std::uint64_t>(capacity);
        auto reply = channel<std::uint64_t>(capacity);
        all.push_back(start([=] {
            std::uint64_t seed = 0;
            while (task->pop(seed) == fibers::channel_op_status::success) {
                reply->push(spend(steps, seed));
            }
        }));
        tasks.push_back(task);
        replies.push_back(reply);
    }
    std::uint64_t total = 0;
    for (std::size_t round = 0; round < rounds; ++round) {
        for (std::size_t n = 0; n < width; ++n) {
            tasks[n]->push(mix(round, n));
        }
        for (auto& reply : replies) {
            std::uint64_t value = 0;
            reply->pop(value);
            total = mix(total, value);
        }
    }
    for (auto& task : tasks) {
        task->close();
    }
    join(all);
    keep(total);
    each("time per task", Clock::now() - since, width * rounds);
}

int main(int count, char** arguments) {
    if (count < 3) {
        fail("usage: fiber WORKERS WORKLOAD NUMBER..");
    }
    const auto workers = static_cast<std::uint32_t>(std::strtoul(arguments[1], nullptr, 10));
    const std::string workload = arguments[2];
    const auto n = numbers(count, arguments, 3);

    std::vector<std::thread> threads;
    fibers::mutex mutex;
    fibers::condition_variable_any changed;
    bool ended = false;
    if (workers > 1) {
        for (std::uint32_t thread = 1; thread < workers; ++thread) {
            threads.emplace_back([&] {
                fibers::use_scheduling_algorithm<fibers::algo::work_stealing>(workers, true);
                std::unique_lock<fibers::mutex> lock(mutex);
                changed.wait(lock, [&] { return ended; });
            });
        }
        fibers::use_scheduling_algorithm<fibers::algo::work_stealing>(workers, true);
    }

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

    {
        std::unique_lock<fibers::mutex> lock(mutex);
        ended = true;
    }
    changed.notify_all();
    for (auto& thread : threads) {
        thread.join();
    }
}
