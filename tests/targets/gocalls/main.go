// Spends all its time in C that Go calls.
package main

/*
static unsigned long __attribute__((noinline))
c_work(unsigned long x, int n)
{
	for (int i = 0; i < n; i++)
		x = x * 6364136223846793005UL + 1;
	return x;
}

static unsigned long __attribute__((noinline))
c_outer(unsigned long x, int n)
{
	return c_work(x, n) + 1;
}
*/
import "C"

import "fmt"

var sink C.ulong

//go:noinline
func callsC(i int) { sink = C.c_outer(C.ulong(i), 100000) }

func main() {
	fmt.Println("ready")
	for i := 0; ; i++ {
		callsC(i)
	}
}
