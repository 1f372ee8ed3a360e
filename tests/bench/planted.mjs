// Plants twenty bugs in the profiles of twenty services, and asks about each
// service once, as an assistant does: does the answer name the bug, and how long
// is it? A bug is a function with a cost, among 150 others whose costs fall like
// those of real programs; counts vary as samples do.
//
//	URL= KEY= NPM=DIR node planted.mjs
//
// Prints "found N", "tokens MOST" (of four bytes), and the bugs it missed.
import { createRequire } from "node:module";
const npm = createRequire(process.env.NPM + "/");
const sdk = "@modelcontextprotocol/sdk/client";
const { Client } = npm(`${sdk}/index.js`);
const { StreamableHTTPClientTransport } = npm(`${sdk}/streamableHttp.js`);
const { URL: server, KEY: key, SHOW } = process.env;
const MINUTE = 60;
const end = Math.floor(Date.now() / 1000 / MINUTE) * MINUTE;

let state = 20261129; // xorshift: the same numbers in each run
const random = () => {
  state ^= state << 13;
  state ^= state >>> 17;
  state ^= state << 5;
  return (state >>> 0) / 2 ** 32;
};
// A count drawn from a normal distribution around its mean.
const vary = (mean) =>
  Math.max(0, Math.round(mean + Math.sqrt(mean * -2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())));

const verbs = ["read", "parse", "route", "encode", "fetch", "merge", "check", "store", "match", "flush"];
const nouns = ["header", "body", "row", "query", "token", "page", "frame", "event", "batch", "route",
  "field", "stream", "block", "entry", "node"];
const others = verbs.flatMap((v) => nouns.map((n) => `${v}_${n}`));
const around = others.map((name, i) => {
  const path = ["main", "serve", others[(i * 7) % 10], others[(i * 13 + 3) % 40]];
  return [[...path, name].join(";"), 1 / (i + 4)];
});
const sum = around.reduce((all, [, cost]) => all + cost, 0);
// Folded stacks: the planted ones with their shares, the others with the rest.
const stacks = (planted, total) => {
  const share = planted.reduce((all, [, part]) => all + part, 0);
  return [
    ...planted.map(([stack, part]) => [stack, vary(total * part)]),
    ...around.map(([stack, cost]) => [stack, vary((total * (1 - share) * cost) / sum)]),
  ].filter(([, n]) => n).map(([stack, n]) => `${stack} ${n}`).join("\n");
};

const post = async (path, body, type = "text/plain") => {
  const reply = await fetch(server + path, {
    method: "POST",
    headers: { Authorization: `Bearer ${key}`, "Content-Type": type },
    body,
  });
  if (!reply.ok) throw new Error(`${path}: ${await reply.text()}`);
};
const push = (name, from, seconds, query, text) =>
  post(`/ingest?name=${name}&from=${from}&until=${from + seconds}&format=folded&${query}`, text);
// Pushes the last hour, minute by minute; share(minutes ago) is what the bug costs.
const hour = async (name, stack, share) => {
  for (let ago = 60; ago > 0; ago--)
    await push(name, end - ago * MINUTE, MINUTE, "units=samples&sampleRate=100",
      stacks([[`main;serve;${stack}`, share(ago)]], 6000));
};

// --- the bugs: service, what the answer must say, how it is planted
const hot = (service, name, planted) => [service, new RegExp(`"${name}"`), () =>
  push(service, end - 10 * MINUTE, 10 * MINUTE, "units=samples&sampleRate=100", stacks(planted, 30000))];
const slower = (service, name, before, after, minutes) => [service,
  new RegExp(`"${name}".*(since|times|more)`), () =>
    hour(service, `read_body;${name}`, (ago) => (ago > minutes ? before : after))];
const waits = (service, name, share) => [service, new RegExp(`"${name}"`), () =>
  push(service, end - 10 * MINUTE, 10 * MINUTE, "units=lock_nanoseconds",
    stacks([[`main;serve;${name};pthread_mutex_lock`, share]], 4e10))];
// Goroutines that wait at a call: `before` of them in a first snapshot, and n in
// the next one.
const stuck = (service, name, wait, before, n) => [service,
  new RegExp(`${n} .*${name.replace(/[().*]/g, "\\$&")}`), async () => {
  await post("/api/v1/services", JSON.stringify({ name: service }), "application/json");
  const one = (id, frame, why) => `goroutine ${id} [${why}]:\n${frame}(0xc000${id.toString(16)})\n` +
    `\t/src/${service}.go:10 +0x1d\ncreated by main.spawn in goroutine 1\n\t/src/${service}.go:90 +0x2f\n`;
  for (const count of [before, n].filter(Boolean)) {
    const text = [...Array(20).keys()].map((id) => one(id + 1, `main.${others[id]}`, "IO wait"));
    for (let id = 100; id < 100 + count; id++) text.push(one(id, name, wait));
    await post(`/api/v1/profiling/sessions?service=${service}&type=goroutine`, text.join("\n"));
  }
}];
const heap = (service, name, grows, bytes, rest) => [service,
  new RegExp(`${grows ? "The service as a whole costs .* since[^]*" : ""}"${name}": self`), async () => {
  for (let ago = 60; ago > 0; ago--) {
    const all = bytes(ago) + rest;
    await push(service, end - ago * MINUTE, MINUTE, "units=bytes&aggregationType=average",
      stacks([[`main;serve;${name}`, bytes(ago) / all]], all));
  }
}];
const MB = 1 << 20;
const bugs = [
  hot("checkout", "escape_string", [["main;serve;reply;escape_string", 0.38]]),
  hot("search", "compile_pattern", ["scan", "alloc_state", "link", "optimize", "fold_case", "emit"].map(
    (leaf) => [`main;serve;filter;compile_pattern;pattern_${leaf}`, 0.05])),
  hot("gateway", "format_time", others.slice(60, 74).map((from) => [`main;serve;${from};log_line;format_time`, 0.017])),
  hot("billing", "walk_tree", [1, 2, 3, 4, 5, 6].map((deep) => [`main;serve${";walk_tree".repeat(deep)}`, 0.05])),
  hot("images", "copy_row", [["main;serve;resize;copy_row", 0.18]]),
  hot("auth", "hash_password", [["main;serve;login;hash_password", 0.55]]),
  hot("feed", "contains_linear", [["main;serve;dedupe;contains_linear", 0.22]]),
  hot("mail", "decode_base64", [["main;serve;attach;decode_base64", 0.12], ["main;serve;tls;encrypt", 0.14]]),
  slower("orders", "apply_discount", 0.03, 0.09, 25),
  slower("stock", "revalidate_cache", 0, 0.06, 40),
  slower("chat", "render_markdown", 0.01, 0.025, 30),
  slower("maps", "project_point", 0.1, 0.16, 15),
  slower("users", "load_avatar", 0.005, 0.015, 35),
  waits("payments", "append_ledger", 0.8),
  waits("sessions", "lookup_session", 0.45),
  stuck("crawler", "main.fetchWorker", "chan send, 95 minutes", 300, 400),
  stuck("relay", "main.(*Hub).broadcast", "sync.Mutex.Lock, 60 minutes", 0, 120),
  heap("cache", "insert_entry", true, (ago) => (100 + (60 - ago) * 13) * MB, 80 * MB),
  heap("indexer", "build_postings", false, () => 700 * MB, 300 * MB),
  heap("thumbs", "decode_frame", true, (ago) => (30 + (60 - ago) * 3) * MB, 300 * MB),
];

for (const [, , plant] of bugs) await plant();
const client = new Client({ name: "bench", version: "1" });
await client.connect(new StreamableHTTPClientTransport(new URL("/mcp", server), {
  requestInit: { headers: { Authorization: `Bearer ${key}` } },
}));
let found = 0, most = 0;
for (const [service, says] of bugs) {
  const { content } = await client.callTool({ name: "explain", arguments: { service } });
  const text = content[0].text;
  most = Math.max(most, Math.ceil(Buffer.byteLength(text) / 4));
  if (says.test(text)) found++;
  else console.log(`missed ${service}`);
  if (SHOW === service || SHOW === "all") console.log(text);
}
console.log(`found ${found}\ntokens ${most}`);
await client.close();
