"""Threads and children that live for some ms each, one after the other.

    lives.py SECONDS

Prints "ready" before the first one.
"""
import itertools
import os
import sys
import threading
import time


def spin():
    total = 0
    for i in range(150000):
        total += i


def in_a_thread():
    spin()


def in_a_child():
    spin()


def fork():
    child = os.fork()
    if not child:
        in_a_child()
        os._exit(0)
    os.waitpid(child, 0)


# Makes the next process get this pid plus more, which is more than tables of
# processes hold.
def number_the_next(more):
    try:
        with open('/proc/sys/kernel/ns_last_pid', 'w') as last:
            last.write(str(os.getpid() + more - 1))
    except OSError:
        pass


end = time.monotonic() + float(sys.argv[1])
print("ready", flush=True)
for n in itertools.count():
    if time.monotonic() >= end:
        break
    thread = threading.Thread(target=in_a_thread)
    thread.start()
    thread.join()
    if n == 150:
        number_the_next(1024)
    fork()
