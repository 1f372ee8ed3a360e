# Checks a request of OpenTelemetry's profiles by the rules of profcheck,
# including its optional ones: no duplicates, no unreferenced rows, samples of
# one shape. Prints what is wrong, and exits with 1 if anything is.
#
#	python3 profcheck.py FILE...
#
# Source: profcheck/check.go of open-telemetry/sig-profiling, d2ab6d50;
# profiles.proto of opentelemetry-proto, v1.11.0
import sys

TABLES = {1: "mapping", 2: "location", 3: "function", 4: "link", 5: "string",
          6: "attribute", 7: "stack"}
wrong = []


def varint(b, i):
    value = shift = 0
    while True:
        value |= (b[i] & 127) << shift
        shift += 7
        i += 1
        if b[i - 1] < 128:
            return value, i


class Message:
    def __init__(self, b):
        self.fields, i = {}, 0
        while i < len(b):
            key, i = varint(b, i)
            kind = key & 7
            if kind == 0:
                value, i = varint(b, i)
            else:
                n, i = {1: (8, i), 5: (4, i)}.get(kind) or varint(b, i)
                value, i = b[i:i + n], i + n
            self.fields.setdefault(key >> 3, []).append(value)

    def parts(self, field):
        return [Message(v) for v in self.fields.get(field, [])]

    def part(self, field):
        return (self.parts(field) or [Message(b"")])[-1]

    def raw(self, field):
        return self.fields.get(field, [b""])[-1]

    def number(self, field):
        value = self.fields.get(field, [0])[-1]
        if isinstance(value, bytes):
            return int.from_bytes(value, "little")
        return value - (1 << 64) if value >> 63 else value

    def numbers(self, field, fixed=False):
        out = []
        for v in self.fields.get(field, []):
            if not isinstance(v, bytes):
                out.append(v)
                continue
            i = 0
            while i < len(v):
                if fixed:
                    n, i = int.from_bytes(v[i:i + 8], "little"), i + 8
                else:
                    n, i = varint(v, i)
                out.append(n)
        return out


class Check:
    def __init__(self, name, data):
        self.name = name
        dictionary = data.part(2)
        self.rows = {t: dictionary.fields.get(f, []) for f, t in TABLES.items()}
        self.used = {t: {0} for t in self.rows}
        self.table()
        self.data(data)
        for t, rows in self.rows.items():
            for i in range(len(rows)):
                self.that(i in self.used[t], f"{t}[{i}] is not referred to")

    def that(self, good, text):
        if not good:
            wrong.append(f"{self.name}: {text}")

    def refer(self, table, index, by):
        self.that(0 <= index < len(self.rows[table]),
                  f"{by}: {table} {index} of {len(self.rows[table])}")
        self.used[table].add(index)

    def attributes(self, indices, by):
        keys = set()
        for i in indices:
            self.refer("attribute", i, by)
            key = Message(self.rows["attribute"][i]).number(1)
            self.that(key not in keys, f"{by}: two attributes of one key")
            keys.add(key)

    def table(self):
        for t, rows in self.rows.items():
            self.that(rows and not rows[0], f"{t}[0] is not the zero value")
        self.that(len(set(self.rows["string"])) == len(self.rows["string"]),
                  "two strings are equal")
        mappings = set()
        for i, m in enumerate(map(Message, self.rows["mapping"])):
            start, limit, by = m.number(1), m.number(2), f"mapping[{i}]"
            self.refer("string", m.number(4), by)
            self.attributes(m.numbers(5), by)
            self.that(start == limit == 0 or start % 2**64 < limit % 2**64,
                      f"{by}: start and limit")
            key = (start, limit, m.number(3), m.number(4),
                   tuple(sorted(m.numbers(5))))
            self.that(key not in mappings, f"{by} is there twice")
            mappings.add(key)
        for i, l in enumerate(map(Message, self.rows["location"])):
            by = f"location[{i}]"
            self.refer("mapping", l.number(1), by)
            self.attributes(l.numbers(4), by)
            for line in l.parts(3):
                self.refer("function", line.number(1), by)
                self.that(line.number(2) >= 0 and line.number(3) >= 0,
                          f"{by}: a negative line")
        for i, f in enumerate(map(Message, self.rows["function"])):
            for field in (1, 2, 3):
                self.refer("string", f.number(field), f"function[{i}]")
            self.that(f.number(4) >= 0, f"function[{i}]: a negative line")
        for i, l in enumerate(map(Message, self.rows["link"][1:])):
            self.that(len(l.raw(1)) == 16 and len(l.raw(2)) == 8,
                      f"link[{i + 1}]: lengths of ids")
        for i, a in enumerate(map(Message, self.rows["attribute"])):
            self.refer("string", a.number(1), f"attribute[{i}]")
            self.refer("string", a.number(3), f"attribute[{i}]")
        for i, s in enumerate(map(Message, self.rows["stack"])):
            for location in s.numbers(1):
                self.refer("location", location, f"stack[{i}]")

    def value_type(self, t):
        self.refer("string", t.number(1), "a type")
        self.refer("string", t.number(2), "a unit")

    def data(self, data):
        self.that(data.parts(1), "no resource")
        for resource in data.parts(1):
            self.that(resource.parts(2), "a resource without scopes")
            for scope in resource.parts(2):
                self.that(scope.parts(2), "a scope without profiles")
                for p in scope.parts(2):
                    self.profile(p)

    def profile(self, p):
        self.attributes(p.numbers(11), "a profile")
        self.value_type(p.part(1))
        self.value_type(p.part(5))
        shapes = set()
        for i, s in enumerate(p.parts(2)):
            by = f"sample[{i}]"
            self.refer("stack", s.number(1), by)
            self.attributes(s.numbers(2), by)
            self.refer("link", s.number(3), by)
            values, times = s.numbers(4), s.numbers(5, True)
            end = p.number(3) + p.number(4)
            self.that(all(p.number(3) <= t < end for t in times),
                      f"{by}: a time outside of the profile")
            self.that(len(values) == (len(times) or 1) or (times and not values),
                      f"{by}: {len(values)} values, {len(times)} times")
            shapes.add((bool(values), bool(times)))
        self.that(len(shapes) < 2, "samples of different shapes")


for file in sys.argv[1:]:
    with open(file, "rb") as f:
        Check(file, Message(f.read()))
print("\n".join(wrong[:20]), end="\n" if wrong else "")
sys.exit(bool(wrong))
