//go:build cgo

package main

// static int answer(int x) { return x + 1; }
import "C"

func callC() { sink += uint64(C.answer(41)) }
