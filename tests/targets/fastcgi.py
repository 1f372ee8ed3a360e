# Asks a FastCGI server for a script, one request after another, and prints
# "ready" after the first reply.
#
#     fastcgi.py SOCKET SCRIPT SECONDS
import socket, struct, sys, time

path, script, seconds = sys.argv[1:]


def pair(name, value):
    return struct.pack("!II", len(name) | 1 << 31, len(value) | 1 << 31) + name + value


def record(kind, content):
    return struct.pack("!BBHHBx", 1, kind, 1, len(content), 0) + content


params = b"".join(pair(name.encode(), value.encode()) for name, value in {
    "SCRIPT_FILENAME": script, "REQUEST_METHOD": "GET", "REQUEST_URI": "/",
    "SERVER_PROTOCOL": "HTTP/1.1", "GATEWAY_INTERFACE": "CGI/1.1"}.items())
request = (record(1, struct.pack("!HBxxxxx", 1, 0)) + record(4, params) +
           record(4, b"") + record(5, b""))
end = time.monotonic() + float(seconds)
ready = False
while time.monotonic() < end:
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(path)
        s.sendall(request)
        reply = b""
        while more := s.recv(65536):
            reply += more
    if not ready:
        print("ready" if b"done" in reply else reply, flush=True)
        ready = True
