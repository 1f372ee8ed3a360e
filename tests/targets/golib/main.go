// A library that C programs call: Begin starts eight goroutines that wait, and
// one that allocates.
package main

import "C"

import "time"

var kept []byte

func wait(c chan int) { <-c }

func allocate() {
	for {
		kept = make([]byte, 4096)
		time.Sleep(time.Millisecond)
	}
}

//export Begin
func Begin() {
	for i := 0; i < 8; i++ {
		go wait(make(chan int))
	}
	go allocate()
}

func main() {}
