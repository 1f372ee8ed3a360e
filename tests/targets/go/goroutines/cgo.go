//go:build cgo

package main

// #include <unistd.h>
// static void wait_in_c(int fd) { char c; (void)!read(fd, &c, 1); }
import "C"

func waitInC(fd int) { C.wait_in_c(C.int(fd)) }
