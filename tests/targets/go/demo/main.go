// The demo service in Go: requests come over connections that are kept, a
// pool of workers answers them, tickers tick. It serves no HTTP and imports
// no profiler: Stoker sees it only from outside. It has Go count what Go
// counts only for programs that ask: memory, blocking and mutexes.
//
//	demo [-workers N] [-busy PERCENT] [-clients N]
//
// All workers together keep a CPU busy for PERCENT of the time. SIGUSR1 turns
// a leak on and off: lookup() asks two replicas and takes the answer that
// comes first; then nobody receives the other. Tests give commands instead, a
// line each, answered by the number of goroutines:
//
//	clients N    N requests are under way from now on
//	leak N       N goroutines are left behind
//	count        only the answer
package main

import (
	"bufio"
	"flag"
	"fmt"
	"net"
	"os"
	"os/signal"
	"runtime"
	"sort"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	leaksPerSecond = 20
	maxLeaked      = 20000 // some 50 MB
)

type request struct {
	text   string
	answer chan string
}

// --- the work

func tokenize(text string) []uint32 {
	var tokens []uint32
	for _, word := range strings.Fields(text) {
		h := uint32(2166136261)
		for round := 0; round < 40; round++ {
			for i := 0; i < len(word); i++ {
				h = (h ^ uint32(word[i])) * 16777619
			}
		}
		tokens = append(tokens, h)
	}
	return tokens
}

const width = 96

var weights [width * width]float32

func embed(tokens []uint32) []float32 {
	in, out := make([]float32, width), make([]float32, width)
	for i, t := range tokens {
		in[i%width] += float32(t%1000) / 1000
	}
	for layer := 0; layer < 24; layer++ {
		for row := range out {
			sum := float32(0)
			for col, x := range in {
				sum += weights[row*width+col] * x
			}
			out[row] = sum
		}
		in, out = out, in
	}
	return in
}

func rank(tokens []uint32) []uint32 {
	var candidates []uint32
	for i := uint32(0); i < 600; i++ {
		candidates = append(candidates, tokens[int(i)%len(tokens)]+i*7919)
	}
	sort.Slice(candidates, func(a, b int) bool {
		return candidates[a]*2654435761 < candidates[b]*2654435761
	})
	return candidates
}

var history struct {
	sync.Mutex
	best []uint32
}

// All workers share one history, and wait for each other here.
//
//go:noinline
func remember(best uint32) {
	history.Lock()
	defer history.Unlock()
	history.best = append(history.best, best)
	if len(history.best) > 2000 {
		history.best = append([]uint32(nil), history.best[1000:]...)
	}
	sorted := append([]uint32(nil), history.best...)
	sort.Slice(sorted, func(a, b int) bool { return sorted[a] < sorted[b] })
}

func handle(r *request) {
	tokens := tokenize(r.text)
	best := rank(tokens)[0]
	remember(best)
	r.answer <- fmt.Sprint(best, embed(tokens)[0], lookup(best, 1))
}

// --- the leak

func replica(key uint32, answer chan<- uint32) { answer <- key * 2654435761 }

// The slower of two replicas is left behind if its answer finds no room.
//
//go:noinline
func lookup(key uint32, room int) uint32 {
	answer := make(chan uint32, room*2)
	for i := 0; i < 2; i++ {
		go replica(key, answer)
	}
	return <-answer
}

func leakOnSignal(signals <-chan os.Signal) {
	leaking, leaked := false, 0
	tick := time.NewTicker(time.Second / leaksPerSecond)
	for {
		select {
		case <-signals:
			leaking = !leaking
		case <-tick.C:
			if leaking && leaked < maxLeaked {
				lookup(uint32(leaked), 0)
				leaked++
			}
		}
	}
}

// --- the service

func work(requests <-chan *request, rest int) {
	for r := range requests {
		start := time.Now()
		handle(r)
		time.Sleep(time.Since(start) * time.Duration(rest))
	}
}

func serve(c net.Conn, requests chan<- *request) {
	defer c.Close()
	lines := bufio.NewScanner(c)
	for lines.Scan() {
		r := &request{lines.Text(), make(chan string, 1)}
		requests <- r
		fmt.Fprintln(c, <-r.answer)
	}
}

func listen(requests chan<- *request) net.Addr {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				panic(err)
			}
			go serve(c, requests)
		}
	}()
	return l.Addr()
}

// Asks until it is to stop; ready is done after the first answer.
func client(server net.Addr, ready *sync.WaitGroup, stop <-chan bool) {
	c, err := net.Dial(server.Network(), server.String())
	if err != nil {
		panic(err)
	}
	defer c.Close()
	answers := bufio.NewReader(c)
	for first := true; ; first = false {
		fmt.Fprintln(c, strings.Repeat("what is the hottest function ", 12))
		if _, err := answers.ReadString('\n'); err != nil {
			panic(err)
		}
		if first {
			ready.Done()
		}
		select {
		case <-stop:
			return
		default:
		}
	}
}

type clients struct {
	server net.Addr
	stops  []chan bool
}

func (all *clients) set(n int) {
	var ready sync.WaitGroup
	for ; len(all.stops) > n; all.stops = all.stops[1:] {
		close(all.stops[0])
	}
	for len(all.stops) < n {
		stop := make(chan bool)
		all.stops = append(all.stops, stop)
		ready.Add(1)
		go client(all.server, &ready, stop)
	}
	ready.Wait()
}

func tick(every time.Duration) {
	for range time.NewTicker(every).C {
	}
}

func obey(all *clients) {
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		var what string
		var n int
		fmt.Sscan(lines.Text(), &what, &n)
		switch what {
		case "clients":
			all.set(n)
		case "leak":
			for i := 0; i < n; i++ {
				lookup(uint32(i), 0)
			}
		}
		fmt.Println(runtime.NumGoroutine())
	}
}

func main() {
	workers := flag.Int("workers", 3, "that answer requests")
	busy := flag.Int("busy", 75, "percent of a CPU, all together")
	n := flag.Int("clients", 8, "each with a request at a time")
	flag.Parse()
	// The linker drops the memory profile of a program that never asks for it.
	runtime.MemProfile(nil, false)
	runtime.SetBlockProfileRate(10000) // ns
	runtime.SetMutexProfileFraction(1)
	for i := range weights {
		weights[i] = 0.01
	}
	requests := make(chan *request)
	for i := 0; i < *workers; i++ {
		go work(requests, *workers*100 / *busy - 1)
	}
	for _, every := range []time.Duration{10, 100, 1000} {
		go tick(every * time.Millisecond)
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGUSR1)
	go leakOnSignal(signals)
	all := &clients{server: listen(requests)}
	all.set(*n)
	fmt.Println("ready")
	obey(all)
	select {} // without input it just goes on
}
