"""Spends its time in known shares, for CPython 3.8 and later.

    shares.py SECONDS

Of what it spends in Python, 60, 30 and 10 percent go to the functions of
these names, as often called as it takes; as much as it measures itself goes to
an extension in C. Prints "ready", and "extension SHARE" when the time is over
or SIGTERM comes.
"""
import signal
import sys
import threading
import time
import random
import zlib

DATA = bytes(range(256)) * 400
STOPPED = []
SPENT = []  # by thread: CPU time in the extension, and all of it


def spin(n):
    total = 0
    for i in range(n):
        total += i % 7
    return total


def share_60():
    for _ in range(60):
        spin(100)


def share_30():
    for _ in range(30):
        spin(100)


def share_10():
    for _ in range(10):
        spin(100)


def in_extension():
    return zlib.compress(DATA, 6)


class Item:
    def __init__(self, n):
        self.n = n

    def each(self):
        return sum(self.one(i) for i in range(self.n))

    def one(self, i):
        return i + self.n


def recurse(n):
    return n and recurse(n - 1)


def work(end):
    inside = 0.0
    while time.time() < end and not STOPPED:
        for _ in range(5):
            share_60()
            share_30()
            share_10()
        before = time.thread_time()
        in_extension()
        inside += time.thread_time() - before
        spin(random.randrange(20_000))  # or the loop keeps step with the samples
        Item(1000).each()
        recurse(100)
    SPENT.append((inside, time.thread_time()))


def main():
    end = time.time() + float(sys.argv[1])
    other = threading.Thread(target=work, args=(end,))
    signal.signal(signal.SIGTERM, lambda *_: STOPPED.append(True))
    print("ready", flush=True)
    other.start()
    work(end)
    other.join()
    inside, all_of_it = map(sum, zip(*SPENT))
    print("extension", inside / all_of_it, flush=True)


main()
