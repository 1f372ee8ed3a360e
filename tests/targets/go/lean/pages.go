//go:build pages

package main

import _ "net/http/pprof"
