/*
 * Writes a profile of about MB megabytes in a format, as the format's own tool
 * writes it: 20000 stacks of 12 frames of 2000 functions.
 *
 *	node imports.mjs FORMAT MB >FILE
 */
import fs from 'node:fs';

const STACKS = 20000;
const [format, mb] = process.argv.slice(2);
const most = mb * 1e6;
let seed = 1, pending = [], held = 0, written = 0;

function random(n) {
  seed = mix(seed);
  return seed % n;
}
function mix(v) { /* xorshift of 32 bits; v is not 0 */
  v ^= v << 13;
  v ^= v >>> 17;
  v ^= v << 5;
  return v >>> 0;
}
function flush() {
  if (held) fs.writeSync(1, Buffer.concat(pending));
  pending = [];
  held = 0;
}
function put(data) {
  const bytes = Buffer.from(data);
  pending.push(bytes);
  held += bytes.length;
  written += bytes.length;
  if (held > 1 << 20) flush();
}
const full = (part = 1) => written >= most * part;
const name = i => `package${i % 50}.function_${i}`;
function frames() {
  let v = 1 + random(STACKS);
  return Array.from({ length: 12 }, (_, i) => i < 4 ? i : (v = mix(v)) % 2000);
}
const address = i => 0x400000 + i * 64;

/* Fields of protobuf. */
const number = v => {
  const bytes = [];
  for (; v > 127; v = Math.floor(v / 128)) bytes.push(v % 128 + 128);
  return [...bytes, v];
};
const field = (tag, v) => [...number(tag << 3), ...number(v)];
const bytes = (tag, v) => [...number(tag << 3 | 2), ...number(v.length), ...v];

const writers = {
  folded() {
    while (!full()) put(`${frames().map(name).join(';')} ${1 + random(99)}\n`);
  },
  perf() {
    for (let t = 0; !full(); t += 0.0001)
      put(`app  100/101  ${t.toFixed(6)}:     ${1000000 + random(99)} cycles: \n` +
        frames().reverse().map(i =>
          `\t    ${address(i).toString(16)} ${name(i)}+0x6 (/usr/bin/app)\n`).join('') + '\n');
  },
  speedscope() {
    const samples = [];
    const all = Array.from({ length: 2000 }, (_, i) => ({ name: name(i), file: 'a.c', line: i }));
    put('{"$schema":"https://www.speedscope.app/file-format-schema.json","shared":{"frames":' +
      JSON.stringify(all) + '},"profiles":[{"type":"sampled","name":"t","unit":"milliseconds",' +
      '"startValue":0,"endValue":1,"samples":[[0]');
    let n = 1;
    for (; !full(0.95); n++) put(`,${JSON.stringify(frames())}`);
    put(`],"weights":[${new Array(n).fill(10).join()}]}]}`);
  },
  cpuprofile() {
    const nodes = [], samples = [];
    for (let i = 0; i < 20000; i++)
      nodes.push({ id: i + 1, hitCount: 0,
        callFrame: { functionName: name(i % 2000), scriptId: '1', url: 'file:///a.js',
          lineNumber: i % 2000, columnNumber: 0 },
        children: [2 * i + 2, 2 * i + 3].filter(c => c <= 20000) });
    put(`{"nodes":${JSON.stringify(nodes)},"startTime":0,"samples":[1`);
    let n = 1;
    for (; !full(0.6); n++) put(`,${1 + random(20000)}`);
    put(`],"timeDeltas":[${new Array(n).fill(1000).join()}],"endTime":${n * 1000}}`);
  },
  heapprofile() {
    const node = (i, children) => `{"id":${i},"selfSize":${random(9999)},"callFrame":` +
      `{"functionName":"${name(i % 2000)}","scriptId":"1","url":"file:///a.js",` +
      `"lineNumber":${i % 2000},"columnNumber":0},"children":[${children}]}`;
    put('{"head":{"id":1,"selfSize":0,"callFrame":{"functionName":"(root)","scriptId":"0",' +
      '"url":"","lineNumber":-1,"columnNumber":-1},"children":[');
    for (let i = 2; !full(); i += 3)
      put((i > 2 ? ',' : '') + node(i, node(i + 1, node(i + 2, ''))));
    put(']}}');
  },
  callgrind() {
    put('events: Ir Dr\n');
    for (let i = 0; !full(); i++)
      put(`fl=(${i % 50 + 1}) file${i % 50}.c\nfn=(${i % 2000 + 1}) ${name(i % 2000)}\n` +
        `${random(900)} ${random(99999)} 7\n+1 ${random(999)} 1\n` +
        `cfn=(${(i + 1) % 2000 + 1}) ${name((i + 1) % 2000)}\ncalls=3 10\n+2 ${random(9999)} 3\n`);
  },
  heap() {
    put('heap profile: 1: 1 [1: 1] @ heap_v2/524288\n');
    while (!full())
      put(`${1 + random(9)}: ${1024 * (1 + random(9))} [${10 + random(9)}: ${16384 + random(999)}] @ ` +
        frames().reverse().map(i => '0x' + address(i).toString(16)).join(' ') + '\n');
    put('\nMAPPED_LIBRARIES:\n00400000-00800000 r-xp 00000000 fe:00 1 /usr/bin/app\n');
  },
  gopage() {
    put('--- mutex:\ncycles/second=2000000000\nsampling period=5\n');
    while (!full())
      put(`${random(1e6)} ${1 + random(9)} @ ` +
        frames().reverse().map(i => '0x' + address(i).toString(16)).join(' ') + '\n');
  },
  /* Source: tools/perf/Documentation/perf.data-file-format.txt */
  perfdata() {
    const FRAMES = 12, ATTRS = 104, DATA = ATTRS + 144;
    const USER = 0xfffffffffffffe00n, path = '/usr/bin/app';
    const record = (type, misc, size) => {
      const b = Buffer.alloc(size);
      b.writeUInt32LE(type, 0);
      b.writeUInt16LE(misc, 4);
      b.writeUInt16LE(size, 6);
      return b;
    };
    const comm = record(3, 0, 24), map = record(10, 2, 88);
    comm.writeUInt32LE(7, 8);
    comm.writeUInt32LE(7, 12);
    comm.write('app', 16);
    map.writeUInt32LE(7, 8);
    map.writeUInt32LE(7, 12);
    map.writeBigUInt64LE(0x400000n, 16);
    map.writeBigUInt64LE(0x400000n, 24);
    map.writeUInt32LE(5, 64);
    map.write(path, 72);
    const size = 8 + 8 * (6 + FRAMES), n = Math.floor(most / size);
    const head = Buffer.alloc(DATA);
    head.write('PERFILE2', 0);
    [ATTRS, 144, ATTRS, 144, DATA, comm.length + map.length + n * size]
      .forEach((v, i) => head.writeBigUInt64LE(BigInt(v), 8 + 8 * i));
    head.writeUInt32LE(1, ATTRS); /* a software clock */
    head.writeUInt32LE(128, ATTRS + 4);
    head.writeBigUInt64LE(250000n, ATTRS + 16);
    head.writeBigUInt64LE(0x127n, ATTRS + 24); /* ip, tid, time, callchain, period */
    put(head);
    put(comm);
    put(map);
    for (let i = 0; i < n; i++) {
      const b = record(9, 2, size), at = frames().reverse().map(address);
      const words = [at[0], 0, i + 1, 250000, FRAMES + 1, USER, ...at.slice(0, FRAMES)];
      words.forEach((w, k) => b.writeBigUInt64LE(BigInt(w), 8 + 8 * k));
      b.writeUInt32LE(7, 16);
      b.writeUInt32LE(7, 20);
      put(b);
    }
  },
  /* Source: proto/profile.proto of google/pprof */
  pprof() {
    const texts = ['', 'samples', 'count', 'cpu', 'nanoseconds', 'a.c'];
    put(bytes(1, [...field(1, 1), ...field(2, 2)]));
    put(bytes(1, [...field(1, 3), ...field(2, 4)]));
    for (let i = 1; i <= 2000; i++) {
      put(bytes(5, [...field(1, i), ...field(2, texts.length), ...field(4, 5)]));
      put(bytes(4, [...field(1, address(i)), ...bytes(4, [...field(1, i), ...field(2, i)])]));
      texts.push(name(i - 1));
    }
    for (const text of texts) put(bytes(6, Buffer.from(text)));
    const samples = Array.from({ length: STACKS }, () => Buffer.from(
      bytes(2, [...bytes(1, frames().reverse().flatMap(i => number(address(i + 1)))),
        ...bytes(2, [1, ...number(10000000)])])));
    while (!full()) put(samples[random(STACKS)]);
  },
  /* Samples with the times of 16 occurrences.
   * Source: profiles.proto of opentelemetry-proto 1.11 */
  otlp() {
    const TIMES = 16, texts = ['', 'samples', 'count', 'cpu', 'nanoseconds'];
    const table = [...bytes(1, []), ...bytes(2, []), ...bytes(3, []), ...bytes(4, []),
      ...bytes(6, []), ...bytes(7, [])];
    for (let i = 1; i <= 2000; i++) {
      table.push(...bytes(3, field(1, texts.length)));
      table.push(...bytes(2, [...field(2, address(i)), ...bytes(3, [...field(1, i), ...field(2, i)])]));
      texts.push(name(i - 1));
    }
    for (let i = 0; i < STACKS; i++)
      table.push(...bytes(7, bytes(1, frames().reverse().flatMap(f => number(f + 1)))));
    for (const text of texts) table.push(...bytes(5, Buffer.from(text)));
    const dictionary = bytes(2, table);
    /* all samples are equally long, so the lengths of messages come first */
    const times = Buffer.alloc(8 * TIMES);
    const sample = () => {
      for (let i = 0; i < TIMES; i++) times.writeBigUInt64LE(BigInt(written * TIMES + i + 1), 8 * i);
      const stack = 1 + random(STACKS);
      return bytes(2, [8, stack % 128 + 128, (stack >> 7) % 128 + 128, stack >> 14,
        ...bytes(4, new Array(TIMES).fill(1)), ...bytes(5, times)]);
    };
    const head = [...bytes(1, [...field(1, 1), ...field(2, 2)]),
      ...bytes(5, [...field(1, 3), ...field(2, 4)]), ...field(6, 10000000)];
    const size = sample().length, n = Math.max(1, Math.floor((most - dictionary.length) / size));
    const profile = head.length + n * size;
    const scope = number(2 << 3 | 2).length + number(profile).length + profile;
    const all = number(2 << 3 | 2).length + number(scope).length + scope;
    for (const part of [1 << 3 | 2, all, 2 << 3 | 2, scope, 2 << 3 | 2, profile]) put(number(part));
    put(head);
    for (let i = 0; i < n; i++) put(sample());
    put(dictionary);
  },
  /* Source: traceback.go of Go 1.24 */
  godump() {
    for (let i = 1; !full(); i++)
      put(`goroutine ${i} [chan receive, ${random(99)} minutes]:\n` +
        frames().reverse().map(f =>
          `${name(f)}(0xc${(f * 64).toString(16).padStart(9, '0')}, {0x1, 0x2})\n\t/src/a.go:${f + 1} +0x1d\n`).join('') +
        'created by main.main in goroutine 1\n\t/src/main.go:8 +0x40\n\n');
  },
  gperftools() {
    const words = list => {
      const b = Buffer.alloc(8 * list.length);
      list.forEach((w, i) => b.writeBigUInt64LE(BigInt(w), 8 * i));
      return b;
    };
    put(words([0, 3, 0, 10000, 0]));
    while (!full()) put(words([1 + random(9), 12, ...frames().reverse().map(address)]));
    put(words([0, 1, 0]));
    put('00400000-00800000 r-xp 00000000 fe:00 1 /usr/bin/app\n');
  },
};
writers[format]();
flush();
