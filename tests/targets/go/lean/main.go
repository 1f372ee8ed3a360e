// A program like most: it imports no profiler and never calls runtime.GC.
// Built with the tag own it can write its memory profile, with the tag pages
// it imports net/http/pprof and serves nothing.
//
//	lean
//
// Prints "ready". Then, for each line of input, answered by a line: "keep N"
// allocates N times 1 MiB and keeps them; "write FILE" writes the memory
// profile, where it can.
package main

import (
	"bufio"
	"fmt"
	"os"
	"strings"
)

var (
	kept  [][]byte
	write = func(file string) string { return "can't" }
)

//go:noinline
func keep(n int) {
	for i := 0; i < n; i++ {
		kept = append(kept, make([]byte, 1<<20))
	}
}

func main() {
	fmt.Println("ready")
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		words := strings.Fields(lines.Text())
		n := 0
		fmt.Sscan(words[1], &n)
		if words[0] == "write" {
			fmt.Println(write(words[1]))
			continue
		}
		keep(n)
		fmt.Println(len(kept))
	}
}
