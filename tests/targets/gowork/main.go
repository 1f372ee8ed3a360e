// A Go program whose CPU time has known shares: heavy 60, middle 30, light
// 10; middle's is spent in an inlined function, and light's in a generic one.
// Arguments: number of goroutines that work (1); number of seconds (no end).
package main

import (
	"fmt"
	"os"
	"strconv"
	"time"
)

var sink uint64

type worker[T any] struct {
	last T
	seed uint64
}

//go:noinline
func heavy(x uint64, n int) uint64 {
	for i := 0; i < n; i++ {
		x = x*6364136223846793005 + 1442695040888963407
	}
	return x
}

// Small enough to be inlined into its caller.
func steps(x uint64, n int) uint64 {
	for i := 0; i < n; i++ {
		x = x*6364136223846793005 + 1442695040888963407
	}
	return x
}

//go:noinline
func middle(x uint64, n int) uint64 {
	return steps(x, n) + 1
}

//go:noinline
func (w *worker[T]) light(v T, n int) uint64 {
	x := w.seed
	for i := 0; i < n; i++ {
		x = x*6364136223846793005 + 1442695040888963407
	}
	w.last, w.seed = v, x
	return x
}

//go:noinline
func deeper(depth int, w *worker[string]) uint64 {
	if depth > 0 {
		return deeper(depth-1, w) + 1
	}
	return heavy(w.seed, 60000) + middle(w.seed, 30000) + w.light("l", 10000)
}

func work(done chan<- uint64, until time.Time) {
	w := &worker[string]{seed: 1}
	sum := uint64(0)
	for time.Now().Before(until) {
		sum += deeper(10, w)
	}
	done <- sum
}

func argument(i, fallback int) int {
	if len(os.Args) <= i {
		return fallback
	}
	n, err := strconv.Atoi(os.Args[i])
	if err != nil {
		panic(err)
	}
	return n
}

func main() {
	n := argument(1, 1)
	until := time.Now().Add(time.Duration(argument(2, 3600)) * time.Second)
	done := make(chan uint64)
	for i := 0; i < n; i++ {
		go work(done, until)
	}
	fmt.Println("ready")
	for i := 0; i < n; i++ {
		sink += <-done
	}
	callC()
}
