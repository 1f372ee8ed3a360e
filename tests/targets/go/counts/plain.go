//go:build !cgo

package main

const withC = false
