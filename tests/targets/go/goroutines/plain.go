//go:build !cgo

package main

import "syscall"

func waitInC(fd int) {
	var b [1]byte
	syscall.Read(fd, b[:])
}
