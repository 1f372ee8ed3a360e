#!/bin/bash
# A program maps a hostile jitdump: its captures complete, and no file of
# another user is read.
#
# Beside others: it waits for events.
. tests/lib/e2e.sh
. tests/lib/once.sh
[ "$(id -u)" -eq 0 ] || skip jitdumps 'only root may write files of others'
[ "$(uname -m)" = x86_64 ] || skip jitdumps 'the code that it compiles is of x86-64'
tmp=$(mktemp -d "$B/jitdumps-XXXXXX")
leave() {
  kill -KILL $(jobs -p) 2>/dev/null
  wait 2>/dev/null # keeps the jobs' ends out of the log
  rm -rf "$tmp"
}
trap leave EXIT
can_capture jitdumps || exit

# Maps a jitdump of this kind, prints "ready", and runs code that it compiled:
# dec ecx, jnz, ret, in a frame of its own.
cat >"$tmp/compiler.py" <<'PY'
import ctypes, mmap, os, random, struct, sys

kind, folder = sys.argv[1:]
code = b'\x55\x48\x89\xe5\xb9\x00\x00\x10\x00\xff\xc9\x75\xfc\x5d\xc3'
page = mmap.mmap(-1, 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS,
                 prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
page.write(code)
address = ctypes.addressof(ctypes.c_char.from_buffer(page))
MOST = 2 ** 64 - 1


def head(magic=0x4A695444, version=1, size=40, pid=os.getpid()):
    return struct.pack('=IIIIIIQQ', magic, version, size, 62, 0, pid, 0, 0)


def record(kind, body, size=None):
    return struct.pack('=IIQ', kind, 16 + len(body) if size is None else size, 0) + body


def load(name=b'compiled_here', at=address, size=len(code), bytes_=code, length=None):
    body = struct.pack('=IIQQQQ', os.getpid(), 0, at, at, size, 0)
    return record(0, body + name + b'\0' + bytes_, length)


def move(start, to, size=len(code)):
    return record(1, struct.pack('=IIQQQQQ', os.getpid(), 0, to, start, to, size, 0))


def lines(at=address, n=1, rows=None):
    rows = rows if rows is not None else struct.pack('=QII', at, 1, 0) + b'a.js\0'
    return record(2, struct.pack('=QQ', at, n) + rows)


def at_random():
    good = lines() + load() + move(address, address + 4096) + load()
    chance = random.Random(1)
    dump = bytearray(head())
    for _ in range(2000):
        bad = bytearray(good)
        for _ in range(chance.randrange(1, 8)):
            bad[chance.randrange(len(bad))] = chance.randrange(256)
        dump += bad
    return bytes(dump)


dump = {
    'sound': lambda: head() + lines() + load(),
    'bytes': lambda: head() + load(b'not\xff\xfeutf8'),
    'empty_records': lambda: head() + record(0, b'', 0) * 1000 + load(),
    'endless_record': lambda: head() + load(length=0xFFFFFFFF) + load(),
    'code_everywhere': lambda: head() + load(at=0, size=MOST) + load(at=MOST, size=MOST),
    'moves_in_a_circle': lambda: head() + load() + (
        move(address, address + 4096) + move(address + 4096, address)) * 50000,
    'moves_past_the_end': lambda: head() + load() + move(address, MOST, MOST),
    'countless_lines': lambda: head() + lines(n=MOST) + lines(n=2 ** 60, rows=b'') + load(),
    'no_end_of_a_name': lambda: head() + load()[:60] + b'x' * 3000000,
    'another_version': lambda: head(version=MOST & 0xFFFFFFFF) + load(),
    'a_long_head': lambda: head(size=0xFFFFFFFF) + load(),
    'many_functions': lambda: head() + b''.join(
        load(b'f%d' % i, address + 16 * i) for i in range(200000)),
    'at_random': at_random,
    'huge': lambda: head() + load(),
    'another': lambda: head() + load(b'of_another'),
}[kind]()
path = '%s/jit-%d.dump' % (folder, os.getpid())
with open(path, 'w+b') as f:
    f.write(dump)
    f.flush()
    if kind == 'huge':
        f.truncate(5 << 40)
    if kind == 'another':
        os.fchown(f.fileno(), 65534, 65534)
    marker = mmap.mmap(f.fileno(), 1, prot=mmap.PROT_READ | mmap.PROT_EXEC,
                       flags=mmap.MAP_PRIVATE)
print('ready', flush=True)
run = ctypes.CFUNCTYPE(None)(address)
while True:
    run()
PY
has_frames() { # kind: a capture of one such program
  local code
  target "$1" python3 "$tmp/compiler.py" "$1" "$tmp" || { echo "it does not start"; return 1; }
  once "$1" "$pid" --seconds 1 --rate 500
  code=$?
  kill -KILL "$pid"
  [ $code -eq 0 ] && has "$1" . 1
}
is_named() { has_frames "$1" && has "$1" "$2" 1; }
is_not_named() { has_frames "$1" && equal "$(samples "$1" "$2")" 0; }

check a_sound_jitdump_names_its_code is_named sound compiled_here
check names_of_a_jitdump_that_are_not_utf8_are_mended is_named bytes 'not.xff.xfeutf8'
for kind in empty_records endless_record code_everywhere moves_in_a_circle \
  moves_past_the_end countless_lines no_end_of_a_name another_version \
  a_long_head many_functions at_random huge; do
  check "a_jitdump_with_${kind}_is_captured" has_frames $kind
done
check a_jitdump_of_another_user_is_not_read is_not_named another of_another
