#!/usr/bin/env python3
# Runs a second interpreter for some seconds, which spends its time in sub_leaf(),
# called by sub_hot(). Prints "ready" first.
import sys

import _xxsubinterpreters as interpreters

CODE = """
import time
end = time.time() + %d

def sub_leaf(n):
    s = 0
    for i in range(n):
        s += i * i
    return s

def sub_hot():
    while time.time() < end:
        sub_leaf(20000)

sub_hot()
"""


def outer():
    interpreters.run_string(interpreters.create(), CODE % int(sys.argv[1]))


print("ready", flush=True)
outer()
