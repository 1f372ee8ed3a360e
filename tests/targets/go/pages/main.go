// A program with net/http/pprof pages, and something of every type on them.
//
//	pages ADDRESSFILE [calm]
//
// Writes HOST:PORT to the file once all goroutines are where they stay. A calm
// program uses almost no CPU time.
package main

import (
	"net"
	"net/http"
	_ "net/http/pprof"
	"os"
	"runtime"
	"sync"
	"time"
)

var (
	kept  [][]byte
	sink  []byte
	lock  sync.Mutex
	stuck = make(chan int)
	begun sync.WaitGroup
)

func keepMemory() {
	for i := 0; i < 64; i++ {
		kept = append(kept, make([]byte, 1<<20))
	}
}

func waitForever() {
	begun.Done()
	<-stuck
}

// Nobody else has the channel.
func leak() {
	begun.Done()
	<-make(chan int)
}

func contend() {
	for {
		lock.Lock()
		time.Sleep(time.Millisecond)
		lock.Unlock()
	}
}

// Keeps a CPU busy for a tenth of the time: other tests run beside this.
func burn() {
	for x := uint64(1); ; x = x*6364136223846793005 + 1 {
		if x&0xfffff == 0 {
			sink = make([]byte, 1<<18)
			time.Sleep(9 * time.Millisecond)
		}
	}
}

func main() {
	runtime.SetBlockProfileRate(1)
	runtime.SetMutexProfileFraction(1)
	keepMemory()
	runtime.GC() // what is in use is as of the last collection
	begun.Add(7 + 5)
	for i := 0; i < 7; i++ {
		go waitForever()
	}
	for i := 0; i < 5; i++ {
		go leak()
	}
	begun.Wait()
	go contend()
	go contend()
	if len(os.Args) < 3 {
		go burn()
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	next := os.Args[1] + ".new"
	if err := os.WriteFile(next, []byte(l.Addr().String()), 0o644); err != nil {
		panic(err)
	}
	if err := os.Rename(next, os.Args[1]); err != nil {
		panic(err)
	}
	panic(http.Serve(l, nil))
}
