// Communicating processes in Go: goroutines that meet at channels without room.
package main

import (
	"sync"
	"time"
)

// A number goes round prefix, delta and successor; a consumer hears it each time. They go on until
// the program ends.
func commstime(warm, loops int) {
	toDelta, toSuccessor := make(chan uint64), make(chan uint64)
	toPrefix, toConsumer := make(chan uint64), make(chan uint64)
	go func() {
		toDelta <- 0
		for number := range toPrefix {
			toDelta <- number
		}
	}()
	go func() {
		for number := range toDelta {
			toConsumer <- number
			toSuccessor <- number
		}
	}()
	go func() {
		for number := range toSuccessor {
			toPrefix <- number + 1
		}
	}()
	var sum uint64
	for n := 0; n < warm; n++ {
		sum += <-toConsumer
	}
	since := time.Now()
	for n := 0; n < loops; n++ {
		sum += <-toConsumer
	}
	elapsed := time.Since(since)
	if numbers := uint64(warm + loops); sum != numbers*(numbers-1)/2 {
		fail("the numbers have another sum")
	}
	each("time per loop", elapsed, loops)
}

// Goroutines that do nothing, created so many at a time and awaited.
func fork(atOnce, rounds int) {
	var since time.Time
	for round := 0; round <= rounds; round++ {
		if round == 1 {
			since = time.Now()
		}
		var all sync.WaitGroup
		all.Add(atOnce)
		for n := 0; n < atOnce; n++ {
			go all.Done()
		}
		all.Wait()
	}
	each("time per process", time.Since(since), atOnce*rounds)
}

// Many who wait for each other. Whoever comes last opens the gate by closing it.
type gathering struct {
	sync.Mutex
	missing, all int
	gate         chan struct{}
}

func newGathering(all int) *gathering {
	return &gathering{missing: all, all: all, gate: make(chan struct{})}
}

func (g *gathering) wait() {
	g.Lock()
	gate := g.gate
	if g.missing--; g.missing > 0 {
		g.Unlock()
		<-gate
		return
	}
	g.missing, g.gate = g.all, make(chan struct{})
	g.Unlock()
	close(gate)
}

func barrier(members, phases int) {
	phase := newGathering(members)
	var all sync.WaitGroup
	all.Add(members - 1)
	for n := 1; n < members; n++ {
		go func() {
			defer all.Done()
			for n := 0; n <= phases; n++ {
				phase.wait()
			}
		}()
	}
	phase.wait()
	since := time.Now()
	for n := 0; n < phases; n++ {
		phase.wait()
	}
	elapsed := time.Since(since)
	all.Wait()
	each("time per process and phase", elapsed, members*phases)
}

// One hears many, whoever is ready; they speak until the program ends.
func alternation(senders, warm, messages int) {
	if senders != 8 && senders != 64 {
		fail("a select is written for 8 and for 64 senders")
	}
	channels := make([]chan int, senders)
	for n := range channels {
		channel := make(chan int)
		channels[n] = channel
		go func() {
			for number := 0; ; number++ {
				channel <- number
			}
		}()
	}
	hear := hear8
	if senders == 64 {
		hear = hear64
	}
	for n := 0; n < warm*senders; n++ {
		hear(channels)
	}
	since := time.Now()
	for n := 0; n < messages; n++ {
		hear(channels)
	}
	each("time per message", time.Since(since), messages)
}

// Many send on one channel: in Go it needs no claim.
func claim(clients, warm, messages int) {
	requests := make(chan int)
	for client := 0; client < clients; client++ {
		go func() {
			for {
				requests <- client
			}
		}()
	}
	for n := 0; n < warm; n++ {
		<-requests
	}
	since := time.Now()
	for n := 0; n < messages; n++ {
		<-requests
	}
	each("time per message", time.Since(since), messages)
}

// Goroutines that wait at a channel each.
func idle(processes int) {
	before := resident("VmRSS:")
	ends := make([]chan uint64, processes)
	for n := range ends {
		end := make(chan uint64)
		ends[n] = end
		go func() {
			for range end {
			}
		}()
	}
	for _, end := range ends {
		end <- 1
	}
	figure("memory per process", "bytes", float64(resident("VmHWM:")-before)/float64(processes))
}
