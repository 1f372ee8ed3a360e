#!/usr/bin/env python3
"""Asks an installed Stoker until it is told to end (SIGTERM).

    load.py PORT TOKEN_FILE

Four clients, each from an address of its own because nginx limits requests by
address, ask 20 times a second each; every tenth request is a POST, which nginx
never repeats. Prints "ready" after the first reply. Told to end, each asks 10
times more, so that what came before shows; then prints "N requests, N failed,
SECONDS at most" and a line for each that failed.
"""
import http.client
import signal
import sys
import threading
import time

PORT = int(sys.argv[1])
TOKEN = open(sys.argv[2]).read().strip()
CLIENTS = 4
EVERY_S = 1 / 20
LAST = 10
NAME = "load-%d" % time.monotonic_ns()
end = threading.Event()


def ask(source, n):
    """One request on a connection of its own; what went wrong, or None."""
    method, body, expected = "GET", None, 200
    if n % 10 == 0:
        method, expected = "POST", 201
        body = '{"name":"%s-%s-%d"}' % (NAME, source.rsplit(".", 1)[1], n)
    server = http.client.HTTPConnection(
        "127.0.0.1", PORT, timeout=40, source_address=(source, 0))
    try:
        server.request(method, "/api/v1/services", body, {
            "Authorization": "Bearer " + TOKEN,
            "Content-Type": "application/json"})
        reply = server.getresponse()
        text = reply.read()
    except (OSError, http.client.HTTPException) as error:
        return "%s: %r" % (method, error)
    finally:
        server.close()
    if reply.status != expected:
        return "%s: %d %s" % (method, reply.status, text[:200])
    return None


def client(source, took, failures):
    n, left = 0, LAST
    while left > 0:
        n += 1
        left -= end.is_set()
        began = time.monotonic()
        why = ask(source, n)
        took.append(time.monotonic() - began)
        if len(took) == 1:
            print("ready", flush=True)
        if why:
            failures.append("%s %s" % (time.strftime("%T"), why))
        time.sleep(max(0, began + EVERY_S - time.monotonic()))


def main():
    took, failures = [], []
    signal.signal(signal.SIGTERM, lambda *_: end.set())
    clients = [
        threading.Thread(target=client, args=("127.0.0.%d" % i, took, failures))
        for i in range(2, 2 + CLIENTS)]
    for each in clients:
        each.start()
    for each in clients:
        each.join()
    print("%d requests, %d failed, %.2f s at most" % (
        len(took), len(failures), max(took, default=0)))
    for failure in failures:
        print(failure)


main()
