// Like share.c with "work", but with the pages of net/http/pprof at an address
// that it writes to the file named by its argument.
package main

import (
	"fmt"
	"net"
	"net/http"
	_ "net/http/pprof"
	"os"
	"syscall"
)

var sink uint64

func work(n int) {
	x := sink
	for i := 0; i < n; i++ {
		x = x*6364136223846793005 + 1442695040888963407
	}
	sink = x
}

//go:noinline
func share_60() { work(120000) }

//go:noinline
func share_30() { work(60000) }

//go:noinline
func share_10() { work(20000) }

func seconds() float64 {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

func main() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	go http.Serve(listener, nil)
	os.WriteFile(os.Args[1], []byte(listener.Addr().String()), 0o644)
	printed := 0.0
	for rounds := 1; ; rounds++ {
		share_60()
		share_30()
		share_10()
		if cpu := seconds(); cpu-printed >= 0.02 {
			printed = cpu
			fmt.Println(rounds, cpu)
		}
	}
}
