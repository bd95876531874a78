// Agents in a world of places, as kahn-apps has them: a goroutine for each agent, two for each
// location. Who asks a server brings a channel for the answer.
package main

import (
	"runtime"
	"time"
)

const (
	size     = 4096
	least    = -size / 2
	most     = size/2 - 1
	strength = 3 * size * size
)

type vector struct{ x, y int32 }

func (v vector) plus(w vector) vector { return vector{v.x + w.x, v.y + w.y} }

// Where a place lies as seen from a location that is opposite to a direction.
func (v vector) seenOver(way vector) vector { return vector{v.x + size*way.x, v.y + size*way.y} }

func excess(at int32) int32 {
	switch {
	case at > most:
		return 1
	case at < least:
		return -1
	}
	return 0
}

func (v vector) wayOut() (way, there vector) {
	way = vector{excess(v.x), excess(v.y)}
	return way, vector{v.x - size*way.x, v.y - size*way.y}
}

type seen struct {
	id int32
	at vector
}

type state struct {
	seen
	location, bias int32
}

// The force on an agent, from all in sight; others run after each that it has looked at.
func (s *state) look(cycle int32, inSight []seen) (force vector) {
	s.bias = (s.bias & 65535) * s.at.x
	s.bias = (s.bias & 65535) * s.at.y
	s.bias = (s.bias & 65535) * s.location
	s.bias += int32(len(inSight))
	px, py := s.bias&255+1, s.bias>>8&255+1
	for _, other := range inSight {
		if other.id == s.id {
			continue
		}
		dx, dy := (s.at.x-other.at.x)*px/128, (s.at.y-other.at.y)*py/128
		square := dx*dx + dy*dy
		push := min(size, strength/(square+1))
		if square == 0 {
			force.x -= push * (cycle & 1)
			force.y -= push * (cycle >> 1 & 1)
		} else {
			longer := dy
			if dx*dx > dy*dy {
				longer = dx
			}
			distance := root(square, max(longer, -longer))
			force.x += push * dx / distance
			force.y += push * dy / distance
		}
		runtime.Gosched()
	}
	return force
}

func root(square, root int32) int32 {
	for step := 0; step < 16; step++ {
		next := (root + square/root) >> 1
		if next == root {
			break
		}
		root = next
	}
	return root
}

type request int

const (
	enter request = iota
	move
	borrow
)

type ask struct {
	kind    request
	who     seen
	replies chan reply
	lent    chan []seen
}

// Where an agent is now, or the location where it is to knock.
type reply struct {
	who   seen
	stays bool
	there *place
}

type place struct {
	number int32
	asks   chan ask
	looks  chan look
	// Those around, in the order of `ways`.
	around [9]*place
	back   chan []seen
}

var ways = [9]vector{{-1, -1}, {0, -1}, {1, -1}, {-1, 0}, {1, 0}, {-1, 1}, {0, 1}, {1, 1}, {0, 0}}

func (p *place) settle(who seen) reply {
	way, there := who.at.wayOut()
	if way == (vector{}) {
		return reply{who: who, stays: true, there: p}
	}
	for n, direction := range ways {
		if direction == way {
			return reply{who: seen{who.id, there}, there: p.around[n]}
		}
	}
	panic("there are nine directions")
}

// A location keeps who is there, until nobody asks any more.
func (p *place) serve() {
	var here []seen
	for ask := range p.asks {
		switch ask.kind {
		case enter:
			reply := p.settle(ask.who)
			if reply.stays {
				here = append(here, ask.who)
			}
			ask.replies <- reply
		case move:
			for n := range here {
				if here[n].id != ask.who.id {
					continue
				}
				here[n].at = here[n].at.plus(ask.who.at)
				reply := p.settle(here[n])
				if !reply.stays {
					here[n] = here[len(here)-1]
					here = here[:len(here)-1]
				}
				ask.replies <- reply
				break
			}
		case borrow:
			ask.lent <- here
			here = <-p.back
		}
	}
}

type look struct {
	cycle int32
	lent  chan []seen
}

// A view lends the list of who is in sight to one agent at a time.
func (p *place) view(returns <-chan []seen) {
	var inSight []seen
	gathered, lent := int32(0), make(chan []seen)
	for look := range p.looks {
		if look.cycle != gathered {
			inSight = inSight[:0]
			for n, there := range p.around {
				there.asks <- ask{kind: borrow, lent: lent}
				list := <-lent
				for _, seen := range list {
					seen.at = seen.at.seenOver(ways[n])
					inSight = append(inSight, seen)
				}
				there.back <- list
			}
			gathered = look.cycle
		}
		look.lent <- inSight
		inSight = <-returns
	}
}

func agents(grid, perLocation, cycles, expected int) {
	since := time.Now()
	world := make([]*place, grid*grid)
	returns := make([]chan []seen, len(world))
	for n := range world {
		world[n] = &place{
			number: int32(n), asks: make(chan ask), looks: make(chan look), back: make(chan []seen),
		}
		returns[n] = make(chan []seen)
	}
	for n, here := range world {
		for way, direction := range ways {
			column := (n%grid + int(direction.x) + grid) % grid
			row := (n/grid + int(direction.y) + grid) % grid
			here.around[way] = world[row*grid+column]
		}
		go here.serve()
		go here.view(returns[n])
	}
	states := make([]state, grid*grid*perLocation)
	phase := newGathering(len(states))
	ended := make(chan struct{})
	for n := range states {
		own := &states[n]
		location, nth := n/perLocation, n%perLocation
		at := int32(least + size/(perLocation+4)*(nth+2))
		*own = state{seen{int32(n + 1), vector{at, at}}, int32(location), 37 * int32(n+1)}
		go func() {
			replies, lent := make(chan reply), make(chan []seen)
			here := world[location]
			phase.wait()
			here.asks <- ask{kind: enter, who: own.seen, replies: replies}
			<-replies
			phase.wait()
			for cycle := int32(1); cycle <= int32(cycles); cycle++ {
				here.looks <- look{cycle, lent}
				inSight := <-lent
				force := own.look(cycle, inSight)
				returns[here.number] <- inSight
				phase.wait()
				here.asks <- ask{kind: move, who: seen{own.id, force}, replies: replies}
				reply := <-replies
				for !reply.stays {
					reply.there.asks <- ask{kind: enter, who: reply.who, replies: replies}
					reply = <-replies
				}
				here = reply.there
				own.seen, own.location = reply.who, here.number
				phase.wait()
			}
			ended <- struct{}{}
		}()
	}
	for range states {
		<-ended
	}
	for _, here := range world {
		close(here.looks)
		close(here.asks)
	}
	elapsed := time.Since(since)
	var sum uint64
	for _, state := range states {
		for _, field := range [4]int32{state.location, state.at.x, state.at.y, state.bias} {
			sum = mix(sum, uint64(uint32(field)))
		}
	}
	if sum>>1 != uint64(expected) {
		fail("the agents end elsewhere")
	}
	figure("time of a run", "ms", float64(elapsed.Nanoseconds())/1e6)
}
