// A film of the Mandelbrot set, as kahn-apps has it: a farmer, workers, a harvester.
package main

import (
	"runtime"
	"time"
)

type row struct {
	frame, number                int
	offset, zoom, xdrift, ydrift float64
}

type pixels struct {
	frame, number int
	bytes         []byte
	sum           uint64
}

const signs = " .,'~\"^:;|&[$%@#"

// Computes a row; others run after each pixel.
func (r row) compute(width int) pixels {
	y := r.offset/r.zoom - r.ydrift
	done := pixels{r.frame, r.number, make([]byte, 0, 2*width), 0}
	for column := 0; column < width; column++ {
		x := (float64(column)-float64(width)/2)/(2*r.zoom) - r.xdrift
		var re, im float64
		count := 0
		// The conversions keep products from being contracted with sums.
		for count < 240 && float64(re*re)+float64(im*im) < 32 {
			re, im = float64(re*re)-float64(im*im)+x, float64(im*re)+float64(re*im)+y
			count++
		}
		low := byte(count % 16)
		done.bytes = append(done.bytes, low%6, signs[low])
		done.sum += uint64(count)
		runtime.Gosched()
	}
	return done
}

func mandelbrot(width, height, frames, workers, expected int) {
	since := time.Now()
	jobs, results := make(chan row), make(chan pixels)
	tick, tock := make(chan int), make(chan struct{})
	go func() {
		zoom, xdrift, ydrift := 16.0, 0.0, 0.0
		for frame := 0; frame < frames; frame++ {
			tick <- frame
			<-tock
			for number := 0; number < height; number++ {
				jobs <- row{frame, number, float64(number) - float64(height)/2, zoom, xdrift, ydrift}
			}
			zoom += zoom / 32
			xdrift += (1.16000014859 - xdrift) / 16
			ydrift += (-0.27140215303 - ydrift) / 16
		}
		close(jobs)
	}()
	for n := 0; n < workers; n++ {
		go func() {
			for job := range jobs {
				results <- job.compute(width)
			}
		}()
	}
	// The frames from the lowest that is not complete on: how many rows they have.
	var open []int
	var total uint64
	lowest := 0
	for lowest < frames {
		// Another frame may begin if the highest is at most four ahead.
		begins := tick
		if len(open) > 5 {
			begins = nil
		}
		select {
		case done := <-results:
			open[done.frame-lowest]++
			total += done.sum
			for len(open) > 0 && open[0] == height {
				open = open[1:]
				lowest++
			}
		case <-begins:
			open = append(open, 0)
			tock <- struct{}{}
		}
	}
	elapsed := time.Since(since)
	if total != uint64(expected) {
		fail("the frames have another sum of iterations")
	}
	figure("time of a run", "ms", float64(elapsed.Nanoseconds())/1e6)
}
