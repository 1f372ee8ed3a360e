"""Threads of Python that wait, each in a function of its own.

    waits.py SECONDS

Prints "ready" when they do.
"""
import sys
import threading
import time

lock = threading.Lock()
started = threading.Semaphore(0)


def waits_for_a_lock():
    started.release()
    with lock:
        pass


def sleeps():
    started.release()
    time.sleep(float(sys.argv[1]))


class Queue:
    def get(self):
        return list(self.each())

    def each(self):
        started.release()
        yield lock.acquire()
        lock.release()


lock.acquire()
targets = [waits_for_a_lock, sleeps, Queue().get]
for t in targets:
    threading.Thread(target=t, daemon=True).start()
for t in targets:
    started.acquire()
print("ready", flush=True)
time.sleep(float(sys.argv[1]))
