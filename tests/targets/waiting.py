"""Threads of Python that wait again and again, each in a function of its own,
and one that allocates.

    waiting.py SECONDS

Prints "ready" at once.
"""
import os
import sys
import threading
import time

ours, theirs = os.pipe()


def naps():
    while True:
        time.sleep(0.02)


def reads():
    while True:
        os.read(ours, 100)


def writes():
    while True:
        time.sleep(0.01)
        os.write(theirs, b"x" * 100)


def makes():
    while True:
        for _ in range(100):
            fresh(20000)
        time.sleep(0.001)


def fresh(size):
    return bytearray(size)


for t in [naps, reads, writes, makes]:
    threading.Thread(target=t, daemon=True).start()
print("ready", flush=True)
time.sleep(float(sys.argv[1]))
