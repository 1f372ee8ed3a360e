//go:build own

package main

import (
	"fmt"
	"os"
	"runtime/pprof"
)

func init() {
	write = func(file string) string {
		f, err := os.Create(file)
		if err == nil {
			err = pprof.WriteHeapProfile(f)
		}
		return fmt.Sprint(err, f.Close())
	}
}
