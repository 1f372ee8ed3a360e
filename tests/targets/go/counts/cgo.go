//go:build cgo

package main

// static int one(void) { return 1; }
import "C"

var withC = C.one() == 1
