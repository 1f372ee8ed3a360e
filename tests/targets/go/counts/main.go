// A program that allocates, blocks and contends in known places.
//
//	counts [off|fine|block|mutex]...
//
// Prints "ready". Then, for each line of input, answered by a line:
// "write NAME FILE" writes the profile that the program keeps itself, "raw NAME
// FILE" the same as text, unscaled; "gc" collects garbage, twice; "allocate N"
// allocates N times 1 MiB and keeps nothing; "block N" and "contend N" wait N
// times for a millisecond or more; "many N" makes about N stacks; "rates"
// says whether block and mutex profiling are on.
// off: the memory profile is off; fine: it samples nearly everything; block and
// mutex: these are on.
package main

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
	"strconv"
	"strings"
	"sync"
	"time"
)

var (
	kept [][]byte
	sink []byte
	lock sync.Mutex
)

type box[T any] struct{ all []*T }

//go:noinline
func (b *box[T]) add() { b.all = append(b.all, new(T)) }

//go:noinline
func keepLarge() { kept = append(kept, make([]byte, 3<<20)) }

func inner(n int) []byte { return make([]byte, n) }
func outer(n int) []byte { return inner(n)[:n/2] }

// Two calls inlined, in one function with two places.
//
//go:noinline
func keepInlined() {
	kept = append(kept, outer(100<<10))
	kept = append(kept, inner(200<<10))
}

//go:noinline
func keepDeep(n int) {
	if n == 0 {
		kept = append(kept, make([]byte, 1<<20))
		return
	}
	keepDeep(n - 1)
}

type keeper interface{ keep(n int) }
type held struct{ b []byte }
type holder struct{ held }

func (h *held) keep(n int)          { h.b = make([]byte, n) }
func through(k keeper, n int)       { k.keep(n) }
func deferred(f func(), c chan int) { defer f(); c <- 1 }

//go:noinline
func allocate(n int) {
	for i := 0; i < n; i++ {
		sink = make([]byte, 1<<20)
	}
}

//go:noinline
func branch(depth int, path uint64, many *[][]byte) {
	if depth == 0 {
		*many = append(*many, make([]byte, 64))
		return
	}
	if path&1 == 0 {
		left(depth-1, path>>1, many)
	} else {
		right(depth-1, path>>1, many)
	}
}

//go:noinline
func left(depth int, path uint64, many *[][]byte) { branch(depth, path, many) }

//go:noinline
func right(depth int, path uint64, many *[][]byte) { branch(depth, path, many) }

//go:noinline
func block(n int) {
	for i := 0; i < n; i++ {
		c := make(chan int)
		go func() {
			time.Sleep(2 * time.Millisecond)
			c <- i
		}()
		<-c
	}
}

//go:noinline
func contend(n int) {
	for i := 0; i < n; i++ {
		var done sync.WaitGroup
		lock.Lock()
		done.Add(1)
		go func() {
			lock.Lock()
			lock.Unlock()
			done.Done()
		}()
		time.Sleep(2 * time.Millisecond)
		lock.Unlock()
		done.Wait()
	}
}

func write(name, path string, debug int) {
	f, err := os.Create(path)
	if err == nil {
		err = pprof.Lookup(name).WriteTo(f, debug)
	}
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		panic(err)
	}
}

func number(s []string) int {
	n, err := strconv.Atoi(s[1])
	if err != nil {
		panic(err)
	}
	return n
}

func prepare() {
	var numbers box[[4096]int]
	for i := 0; i < 10; i++ {
		numbers.add()
		keepLarge()
		keepInlined()
		keepDeep(i % 3)
		through(&holder{}, 64<<10)
	}
	c := make(chan int, 1)
	deferred(func() { kept = append(kept, make([]byte, 2<<20)) }, c)
	runtime.KeepAlive(numbers)
	runtime.GC()
	runtime.GC()
}

func main() {
	var many [][]byte
	for _, arg := range os.Args[1:] {
		switch arg {
		case "off":
			runtime.MemProfileRate = 0
		case "fine":
			runtime.MemProfileRate = 64
		case "block":
			runtime.SetBlockProfileRate(1)
		case "mutex":
			runtime.SetMutexProfileFraction(1)
		}
	}
	prepare()
	in := bufio.NewScanner(os.Stdin)
	fmt.Println("ready")
	for in.Scan() {
		words := strings.Fields(in.Text())
		switch words[0] {
		case "write":
			write(words[1], words[2], 0)
		case "raw":
			write(words[1], words[2], 1)
		case "gc":
			runtime.GC()
			runtime.GC()
		case "allocate":
			allocate(number(words))
		case "block":
			block(number(words))
		case "contend":
			contend(number(words))
		case "many":
			for i := 0; i < number(words); i++ {
				branch(12, uint64(i), &many)
			}
		}
		fmt.Println("done", words[0], runtime.SetMutexProfileFraction(-1), withC)
	}
	runtime.KeepAlive(many)
}
