// Workloads of kahn-bench in Go: goroutines and channels.
//
//	main WORKERS ring PROCESSES TOKENS CYCLES
//	main WORKERS pipeline PROCESSES CAPACITY BYTES MESSAGES STEPS
//	main WORKERS spawn PROCESSES
//	main WORKERS scatter WIDTH CAPACITY ROUNDS STEPS
//	main WORKERS rendezvous PROCESSES TOKENS CYCLES
//	main WORKERS commstime WARM LOOPS
//	main WORKERS fork AT-ONCE ROUNDS
//	main WORKERS barrier MEMBERS PHASES
//	main WORKERS alternation SENDERS WARM MESSAGES
//	main WORKERS claim CLIENTS WARM MESSAGES
//	main WORKERS idle PROCESSES
//	main WORKERS agents GRID PER-LOCATION CYCLES SUM
//	main WORKERS mandelbrot WIDTH HEIGHT FRAMES WORKERS SUM
//
// Prints a figure a line: METRIC<TAB>UNIT<TAB>VALUE.
package main

import (
	"bufio"
	"fmt"
	"math/bits"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"
)

func fail(message string) {
	fmt.Fprintln(os.Stderr, "error: "+message)
	os.Exit(2)
}

func number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		fail("expected a number, not " + text)
	}
	return n
}

func figure(metric, unit string, value float64) {
	fmt.Printf("%s\t%s\t%f\n", metric, unit, value)
}

func each(metric string, elapsed time.Duration, count int) {
	figure(metric, "ns", float64(elapsed.Nanoseconds())/float64(count))
}

var sink uint64

// Steps that each wait for the one before, the same in every language.
func spend(steps, seed uint64) uint64 {
	x := seed
	for ; steps > 0; steps-- {
		x = (x^(x>>29))*0xBF58476D1CE4E5B9 + 0x9E3779B97F4A7C15
	}
	return x
}

// Takes a value into a checksum.
func mix(sum, value uint64) uint64 {
	return (bits.RotateLeft64(sum, 23) ^ value) * 0x9E3779B97F4A7C15
}

// The root sends tokens, passes them on, and takes them home; an element adds 1. A 0 ends all.
func ring(processes, tokens, cycles, capacity int) {
	first := make(chan uint64, capacity)
	left := first
	for n := 1; n < processes; n++ {
		from, to := left, make(chan uint64, capacity)
		go func() {
			for {
				token := <-from
				if token == 0 {
					to <- 0
					return
				}
				to <- token + 1
			}
		}()
		left = to
	}
	first <- 1
	token := <-left
	since := time.Now()
	var total uint64
	laps := cycles
	if tokens == 1 {
		for cycle := 0; cycle < cycles; cycle++ {
			first <- token + 1
			token = <-left
		}
		total = token
	} else {
		for token := 1; token <= tokens; token++ {
			first <- uint64(token)
		}
		for n := 0; n < cycles*tokens; n++ {
			first <- <-left + 1
		}
		for n := 0; n < tokens; n++ {
			total += <-left
		}
		laps = tokens * (cycles + 1)
	}
	elapsed := time.Since(since)
	first <- 0
	<-left
	if expected := tokens*(tokens+1)/2 + tokens*(processes-1+processes*cycles); total != uint64(expected) {
		fail("the tokens come home with another number")
	}
	each("time per message", elapsed, processes*laps)
}

type small [1]uint64
type large [256]uint64

// A message that tells what it is, and three words.
type event struct {
	kind uint64
	read [3]uint64
}

// What pipeline needs to know of a message.
type message[T any] interface {
	*T
	words() []uint64
}

func (m *small) words() []uint64 { return m[:] }
func (m *large) words() []uint64 { return m[:] }
func (m *event) words() []uint64 { return m.read[:] }

// A source, stages that do work, and a sink that adds up.
func pipeline[T any, M message[T]](processes, capacity, messages int, steps uint64) {
	var all sync.WaitGroup
	since := time.Now()
	last := make(chan T, capacity)
	first := last
	all.Add(processes)
	go func() {
		defer all.Done()
		for n := 0; n < messages; n++ {
			var message T
			words := M(&message).words()
			for place := range words {
				words[place] = uint64(n) + uint64(place)
			}
			first <- message
		}
		close(first)
	}()
	for stage := uint64(1); stage < uint64(processes)-1; stage++ {
		number, left, right := stage, last, make(chan T, capacity)
		go func() {
			defer all.Done()
			for message := range left {
				words := M(&message).words()
				words[0] = spend(steps, mix(number, words[0]))
				right <- message
			}
			close(right)
		}()
		last = right
	}
	arrived := 0
	var checksum uint64
	end := last
	go func() {
		defer all.Done()
		for message := range end {
			var sum uint64
			for _, word := range M(&message).words() {
				sum += word
			}
			checksum = mix(checksum, sum)
			arrived++
		}
	}()
	all.Wait()
	elapsed := time.Since(since)
	sink = checksum
	if arrived != messages {
		fail("messages were lost")
	}
	each("time per message", elapsed, messages*(processes-1))
}

// Bytes of memory in use, and the most there were.
func resident(field string) int {
	file, err := os.Open("/proc/self/status")
	if err != nil {
		return 0
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		if fields := strings.Fields(lines.Text()); len(fields) > 1 && fields[0] == field {
			return number(fields[1]) * 1024
		}
	}
	return 0
}

func spawn(processes int) {
	before := resident("VmRSS:")
	since := time.Now()
	ask := make([]chan uint64, processes)
	hear := make([]chan uint64, processes)
	for n := range ask {
		question, answer := make(chan uint64, 1), make(chan uint64, 1)
		ask[n], hear[n] = question, answer
		go func() { answer <- <-question + 1 }()
	}
	for _, question := range ask {
		question <- 1
	}
	for _, answer := range hear {
		<-answer
	}
	each("time per process", time.Since(since), processes)
	grown := resident("VmHWM:") - before
	figure("memory per process", "bytes", float64(grown)/float64(processes))
}

func scatter(width, capacity, rounds int, steps uint64) {
	since := time.Now()
	tasks := make([]chan uint64, width)
	replies := make([]chan uint64, width)
	var all sync.WaitGroup
	all.Add(width)
	for n := range tasks {
		task, reply := make(chan uint64, capacity), make(chan uint64, capacity)
		tasks[n], replies[n] = task, reply
		go func() {
			defer all.Done()
			for seed := range task {
				reply <- spend(steps, seed)
			}
		}()
	}
	var total uint64
	for round := 0; round < rounds; round++ {
		for n, task := range tasks {
			task <- mix(uint64(round), uint64(n))
		}
		for _, reply := range replies {
			total = mix(total, <-reply)
		}
	}
	for _, task := range tasks {
		close(task)
	}
	all.Wait()
	sink = total
	each("time per task", time.Since(since), width*rounds)
}

func main() {
	if len(os.Args) < 3 {
		fail("usage: main WORKERS WORKLOAD NUMBER..")
	}
	runtime.GOMAXPROCS(number(os.Args[1]))
	n := make([]int, 0, 6)
	for _, text := range os.Args[3:] {
		n = append(n, number(text))
	}
	switch workload := os.Args[2]; {
	case workload == "ring" && len(n) == 3:
		ring(n[0], n[1], n[2], 1)
	case workload == "pipeline" && len(n) == 5 && n[2] == 8:
		pipeline[small](n[0], n[1], n[3], uint64(n[4]))
	case workload == "pipeline" && len(n) == 5 && n[2] == 2048:
		pipeline[large](n[0], n[1], n[3], uint64(n[4]))
	case workload == "pipeline" && len(n) == 5 && n[2] == 32:
		pipeline[event](n[0], n[1], n[3], uint64(n[4]))
	case workload == "spawn" && len(n) == 1:
		spawn(n[0])
	case workload == "scatter" && len(n) == 4:
		scatter(n[0], n[1], n[2], uint64(n[3]))
	case workload == "rendezvous" && len(n) == 3:
		ring(n[0], n[1], n[2], 0)
	case workload == "commstime" && len(n) == 2:
		commstime(n[0], n[1])
	case workload == "fork" && len(n) == 2:
		fork(n[0], n[1])
	case workload == "barrier" && len(n) == 2:
		barrier(n[0], n[1])
	case workload == "alternation" && len(n) == 3:
		alternation(n[0], n[1], n[2])
	case workload == "claim" && len(n) == 3:
		claim(n[0], n[1], n[2])
	case workload == "idle" && len(n) == 1:
		idle(n[0])
	case workload == "agents" && len(n) == 4:
		agents(n[0], n[1], n[2], n[3])
	case workload == "mandelbrot" && len(n) == 5:
		mandelbrot(n[0], n[1], n[2], n[3], n[4])
	default:
		fail("no workload " + strings.Join(os.Args[2:], " "))
	}
}
