"""Publishes a process context, as SDKs of OpenTelemetry do.

    context.py SERVICE [big|busy|loop]

big says that it has 100 MB, busy is always being written, and loop gives its own
header as its contents. Prints "ready", and then waits.
"""
import ctypes
import mmap
import os
import struct
import sys
import time


def field(number, text):
    return bytes([number << 3 | 2, len(text)]) + text


def attribute(key, value):
    return field(1, field(1, key) + field(2, field(1, value)))


def main(service, kind=""):
    fd = os.memfd_create("OTEL_CTX")
    os.ftruncate(fd, 4096)
    room = mmap.mmap(fd, 4096)
    at = ctypes.addressof(ctypes.c_char.from_buffer(room))
    text = field(1, attribute(b"service.name", service.encode())
                 + attribute(b"service.version", b"2.0")
                 + attribute(b"deployment.environment.name", b"staging"))
    room[32:32 + len(text)] = text
    room[8:32] = struct.pack(
        "<IIQQ", 2, 100 << 20 if kind == "big" else len(text),
        0 if kind == "busy" else time.time_ns(),
        at if kind == "loop" else at + 32)
    room[:8] = b"OTEL_CTX"
    print("ready", flush=True)
    time.sleep(1000)


main(*sys.argv[1:])
