// What the C++ programs share: the clock, the figures, and work that is the same in every language.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

using Clock = std::chrono::steady_clock;

struct Small {
    std::uint64_t words[1];
};

// A message that tells what it is, and three words.
struct Event {
    std::uint64_t kind = 0;
    std::uint64_t words[3];
};

struct Large {
    std::uint64_t words[256];
};

[[noreturn]] inline void fail(const std::string& message) {
    std::fprintf(stderr, "error: %s\n", message.c_str());
    std::exit(2);
}

inline void each(const char* metric, Clock::duration elapsed, std::size_t count) {
    const double ns = std::chrono::duration<double, std::nano>(elapsed).count();
    std::printf("%s\tns\t%f\n", metric, ns / static_cast<double>(count));
}

// Steps that each wait for the one before, the same in every language.
inline std::uint64_t spend(std::uint64_t steps, std::uint64_t seed) {
    std::uint64_t x = seed;
    for (; steps > 0; --steps) {
        x = (x ^ (x >> 29)) * 0xBF58476D1CE4E5B9u + 0x9E3779B97F4A7C15u;
    }
    return x;
}

// Takes a value into a checksum.
inline std::uint64_t mix(std::uint64_t sum, std::uint64_t value) {
    return ((sum << 23 | sum >> 41) ^ value) * 0x9E3779B97F4A7C15u;
}

// The message with this number in the row.
template <class T>
T numbered(std::uint64_t number) {
    T message;
    for (auto& word : message.words) {
        word = number++;
    }
    return message;
}

// What a stage does with a message.
template <class T>
void pass(T& message, std::uint64_t stage, std::uint64_t steps) {
    message.words[0] = spend(steps, mix(stage, message.words[0]));
}

// Takes a message into the checksum of the sink.
template <class T>
std::uint64_t sum(std::uint64_t all, const T& message) {
    std::uint64_t words = 0;
    for (auto word : message.words) {
        words += word;
    }
    return mix(all, words);
}

// Keeps a value that nobody looks at.
template <class T>
inline void keep(const T& value) {
    asm volatile("" : : "g"(&value) : "memory");
}

// Bytes: "VmRSS:" those in use, "VmHWM:" the most there were.
inline std::size_t resident(const std::string& field) {
    std::ifstream status("/proc/self/status");
    for (std::string word; status >> word;) {
        if (word == field) {
            std::size_t kibibytes = 0;
            status >> kibibytes;
            return kibibytes * 1024;
        }
    }
    return 0;
}

// The numbers behind the workload's name.
inline std::vector<std::size_t> numbers(int count, char** arguments, int from) {
    std::vector<std::size_t> result;
    for (int n = from; n < count; ++n) {
        result.push_back(std::strtoull(arguments[n], nullptr, 10));
    }
    return result;
}
