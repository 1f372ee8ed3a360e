# A collector for tests. It stores each request, inflated, and answers as the
# file "mode" says; it does not parse profiles.
#
#	python3 collector.py PORT DIR
import gzip, http.server, os, sys, time

port, folder = int(sys.argv[1]), sys.argv[2]


def mode():
    try:
        with open(folder + "/mode") as f:
            return f.read().strip()
    except FileNotFoundError:
        return "take"


class Collector(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def say(self, status, body=b"", kind="application/x-protobuf", **headers):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.note("GET")

    def note(self, what):
        with open(folder + "/log", "a") as f:
            print(what, self.path, self.headers.get("Content-Type"),
                  self.headers.get("Content-Encoding"),
                  self.headers.get("Authorization"), file=f)

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        now = mode()
        self.note(now)
        if now in ("take", "partial"):
            name = f"{folder}/{time.time_ns()}"
            with open(name + ".part", "wb") as f:
                f.write(gzip.decompress(body))
            os.rename(name + ".part", name + ".request")
        try:
            self.answer(now)
        except OSError:
            self.close_connection = True

    def answer(self, now):
        if now == "take":
            self.say(200, b"\x0a\x00")
        elif now == "partial":
            self.say(200, b"\x0a\x0b\x08\x02\x12\x07too old")
        elif now == "page":
            self.say(200, b"<html>Welcome</html>", "text/html")
        elif now == "later":
            self.say(429, Retry_After="3")
        elif now == "lead":
            self.say(307, Location=f"http://127.0.0.1:{port}/elsewhere")
        elif now == "flood":
            self.send_response(200)
            self.end_headers()
            while True:
                self.wfile.write(b"x" * 65536)
        elif now == "silent":
            time.sleep(60)
        else:
            self.say(int(now))


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True


Server(("127.0.0.1", port), Collector).serve_forever()
