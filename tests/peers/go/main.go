// Writes the profiles of a program that Go keeps, each as pprof and as text, into
// the folder that the first argument names.
package main

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"sync"
	"time"
)

var kept [][]byte

func spin(until time.Time) (n int) {
	for time.Now().Before(until) {
		n += bytes.Count(make([]byte, 4096), []byte{1})
	}
	return n
}

func keep(n, size int) {
	for i := 0; i < n; i++ {
		kept = append(kept, make([]byte, size))
	}
}

func fight(mu *sync.Mutex, done *sync.WaitGroup) {
	defer done.Done()
	for i := 0; i < 200; i++ {
		mu.Lock()
		time.Sleep(20 * time.Microsecond)
		mu.Unlock()
	}
}

func write(name string, save func(f *os.File) error) {
	f, err := os.Create(filepath.Join(os.Args[1], name))
	if err == nil {
		err = save(f)
	}
	if err != nil {
		panic(err)
	}
	f.Close()
}

func main() {
	var mu sync.Mutex
	var done sync.WaitGroup
	runtime.SetBlockProfileRate(1000)
	runtime.SetMutexProfileFraction(2)
	runtime.MemProfileRate = 16 << 10
	write("cpu.pb.gz", func(f *os.File) error {
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		keep(100, 3000)
		keep(3, 1<<20)
		done.Add(4)
		for i := 0; i < 4; i++ {
			go fight(&mu, &done)
		}
		spin(time.Now().Add(2 * time.Second))
		done.Wait()
		pprof.StopCPUProfile()
		return nil
	})
	for i := 0; i < 3; i++ {
		go func() { select {} }()
	}
	runtime.GC()
	for _, p := range pprof.Profiles() {
		write(p.Name()+".pb.gz", func(f *os.File) error { return p.WriteTo(f, 0) })
		write(p.Name()+".txt", func(f *os.File) error { return p.WriteTo(f, 1) })
	}
}
