"""Threads and children that live for some ms each, one after the other.

    lives.py SECONDS

Prints "ready" before the first one.
"""
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


end = time.monotonic() + float(sys.argv[1])
print("ready", flush=True)
while time.monotonic() < end:
    thread = threading.Thread(target=in_a_thread)
    thread.start()
    thread.join()
    fork()
