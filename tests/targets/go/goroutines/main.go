// Goroutines that wait in every way there is.
//
//	goroutines [N]    N more that wait for a channel each
//
// Prints "ready" when all of them wait. Then, for each line of input:
// "dump FILE" writes what the runtime says about them, "gc" collects garbage,
// "gap" prints the longest time for which a thread that does nothing else was
// held up since the last time it was asked; each answered by a line.
package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

type worker[T any] struct {
	in   chan T
	lock sync.Mutex
}

//go:noinline
func (w *worker[T]) receive() T { return <-w.in }

//go:noinline
func (w *worker[T]) acquire() { w.lock.Lock() }

type waiter interface{ wait() }
type embedded struct{ worker[int] }

func (e embedded) wait() { <-e.in }

// The compiler makes a wrapper for the pointer.
func throughInterface(w waiter) { w.wait() }

func inlined(c chan int) int { return twice(c) + 1 }
func twice(c chan int) int   { return 2 * <-c }

//go:noinline
func deep(n int, c chan int) int {
	if n == 0 {
		return <-c
	}
	return deep(n-1, c) + 1
}

// Its stack is larger than what is read of one at first.
//
//go:noinline
func wide(n int, c chan int) int {
	var room [4096]byte
	room[n] = byte(n)
	if n == 0 {
		return <-c
	}
	return wide(n-1, c) + int(room[n%7])
}

func panicking(c chan int) {
	defer func() { recover() }()
	defer func() { <-c }()
	panic("on purpose")
}

func faulting(c chan int) {
	var nothing *worker[int]
	defer func() { recover() }()
	defer func() { <-c }()
	nothing.lock.Lock()
}

var busy uint64

func spin() {
	for {
		atomic.AddUint64(&busy, 1)
	}
}

// The longest time between two looks at the clock.
var longestGap int64

func watchTheClock() {
	last := time.Now()
	for {
		now := time.Now()
		if d := int64(now.Sub(last)); d > atomic.LoadInt64(&longestGap) {
			atomic.StoreInt64(&longestGap, d)
		}
		last = now
		for i := 0; i < 10000; i++ { // keeps most time out of the vdso
			busy += uint64(i)
		}
	}
}

func channels(n int) {
	for i := 0; i < n; i++ {
		c, full, shared := make(chan int), make(chan int, 2), make(chan string)
		full <- 1
		full <- 2
		go func() { <-c }()
		go func() { full <- 3 }()
		go func(c chan int) { c <- 1 }(make(chan int))
		go func() { inlined(make(chan int)) }()
		for k := 0; k < 2; k++ {
			go func() { <-shared }()
		}
		go func() {
			select {
			case <-c:
			case full <- 4:
			}
		}()
	}
	go func() { select {} }()
	go func() { var c chan int; <-c }()
	go func() { var c chan int; c <- 1 }()
	go func() {
		for range time.NewTicker(time.Hour).C {
		}
	}()
}

func locks(n int) {
	var mutex sync.Mutex
	var rw, held sync.RWMutex
	var group sync.WaitGroup
	mutex.Lock()
	rw.Lock()
	held.RLock()
	group.Add(1)
	cond := sync.NewCond(new(sync.Mutex))
	w := &worker[string]{in: make(chan string)}
	w.lock.Lock()
	for i := 0; i < n; i++ {
		go func() { mutex.Lock() }()
		go func() { rw.RLock() }()
		go func() { group.Wait() }()
		go func() { cond.L.Lock(); cond.Wait() }()
		go w.acquire()
		go w.receive()
	}
	go func() { held.Lock() }()
}

// Both ends: a collection closes files that nothing refers to.
var pipes [][2]*os.File

func pipe() [2]*os.File {
	r, w, err := os.Pipe()
	if err != nil {
		panic(err)
	}
	pipes = append(pipes, [2]*os.File{r, w})
	return pipes[len(pipes)-1]
}

func files() {
	var fds [2]int
	if err := syscall.Pipe(fds[:]); err != nil {
		panic(err)
	}
	go waitInC(fds[0])
	go func() { var b [1]byte; syscall.Read(fds[0], b[:]) }()
	empty, full := pipe(), pipe()
	go func() { var b [1]byte; empty[0].Read(b[:]) }()
	go full[1].Write(make([]byte, 1<<20)) // more than a pipe holds
}

func labelled() {
	for i := 0; i < 3; i++ {
		go pprof.Do(context.Background(), pprof.Labels("route", "/pay",
			"tenant", "t"+strconv.Itoa(i%2), "state", "mine"),
			func(context.Context) { <-make(chan int) })
	}
}

func odd() {
	go deep(60, make(chan int))
	go deep(90, make(chan int))
	go wide(40, make(chan int))
	go panicking(make(chan int))
	go faulting(make(chan int))
	go throughInterface(&embedded{})
	go time.Sleep(time.Hour)
	go func() { runtime.LockOSThread(); <-make(chan int) }()
	time.AfterFunc(0, func() { <-make(chan int) })
	var once sync.Once
	for i := 0; i < 2; i++ {
		go once.Do(func() { <-make(chan int) })
	}
}

// The number of parked goroutines that were asked for.
var parked int64

// Returns whether all wait except those that are meant to run.
func allWait(running int) bool {
	buf := make([]byte, 1<<20)
	text := string(buf[:runtime.Stack(buf, true)])
	n := strings.Count(text, " [running") + strings.Count(text, " [runnable")
	return n <= running+1
}

func answer(line string) {
	word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
	switch word {
	case "dump":
		f, err := os.Create(rest)
		if err != nil {
			panic(err)
		}
		pprof.Lookup("goroutine").WriteTo(f, 2)
		f.Close()
	case "gc":
		runtime.GC()
	case "gap":
		fmt.Println(atomic.SwapInt64(&longestGap, 0))
		return
	}
	fmt.Println("done")
}

func main() {
	more := 0
	if len(os.Args) > 1 {
		more, _ = strconv.Atoi(os.Args[1])
	}
	channels(4)
	locks(4)
	files()
	labelled()
	odd()
	for i := 0; i < more; i++ {
		go func() { atomic.AddInt64(&parked, 1); deep(2, make(chan int)) }()
	}
	for atomic.LoadInt64(&parked) < int64(more) {
		runtime.Gosched()
	}
	running := 1
	if more > 0 {
		go watchTheClock()
	} else {
		go spin()
	}
	for !allWait(running) {
		runtime.Gosched()
	}
	fmt.Println("ready")
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		answer(in.Text())
	}
}
