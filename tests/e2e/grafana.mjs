// Makes each call of Grafana's data source with a client of the Connect
// protocol, which has codecs of its own: prints a line of JSON with the sums
// of the replies.
//
//	NPM=DIR node grafana.mjs DESCRIPTORS proto|json URL KEY FROM_MS TO_MS
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const from = createRequire(process.env.NPM + "/node_modules/");
const load = (name) => import(pathToFileURL(from.resolve(name)));
const [descriptors, form, baseUrl, key, start, end] = process.argv.slice(2);
const { createFileRegistry, fromBinary } = await load("@bufbuild/protobuf");
const { FileDescriptorSetSchema } = await load("@bufbuild/protobuf/wkt");
const { createClient } = await load("@connectrpc/connect");
const { createConnectTransport } = await load("@connectrpc/connect-node");

const files = fromBinary(FileDescriptorSetSchema, readFileSync(descriptors));
const service = createFileRegistry(files).getService("querier.v1.QuerierService");
const client = createClient(service, createConnectTransport({
  baseUrl,
  httpVersion: "1.1",
  useBinaryFormat: form === "proto",
  interceptors: [(next) => (request) => {
    request.header.set("Authorization", "Bearer " + key);
    return next(request);
  }],
}));
const cpu = "process_cpu:cpu:nanoseconds:cpu:nanoseconds";
const asked = {
  profileTypeID: cpu,
  labelSelector: '{service_name="demo"}',
  start: BigInt(start),
  end: BigInt(end),
};
const codeOf = (call) => call.then(() => 0, (error) => error.code);
const sum = (values) => String(values.reduce((all, v) => all + BigInt(v), 0n));

const types = await client.profileTypes({});
const names = await client.labelNames({ matchers: [`{__profile_type__="${cpu}"}`] });
const services = await client.labelValues({ name: "service_name" });
const { flamegraph } = await client.selectMergeStacktraces(asked);
const small = await client.selectMergeStacktraces({ ...asked, maxNodes: 3n });
const profile = await client.selectMergeProfile(asked);
// No profile of the range has these ids.
const trace = { ...asked, traceIdSelector: ["0123456789abcdef0123456789abcdef"] };
const span = { ...asked, spanSelector: ["0123456789abcdef"] };
const none = [
  await client.selectMergeStacktraces(trace),
  await client.selectMergeStacktraces(span),
  await client.selectMergeSpanProfile(span),
].map((reply) => Number(reply.flamegraph.total));
none.push((await client.selectMergeProfile(trace)).sample.length);
const series = await client.selectSeries({ ...asked, step: 15, groupBy: ["service_name"] });
const selfs = (graph) => graph.levels.flatMap((l) => l.values.filter((_, i) => i % 4 === 2));
console.log(JSON.stringify({
  types: types.profileTypes.map((t) => t.ID),
  names: names.names.filter((n) => !n.startsWith("__")),
  services: services.names,
  total: String(flamegraph.total),
  selfs: sum(selfs(flamegraph)),
  work: flamegraph.names.includes("server::work"),
  small: sum(selfs(small.flamegraph)),
  other: small.flamegraph.names.includes("other"),
  samples: sum(profile.sample.map((s) => s.value[0])),
  pprof: sum(profile.sample.map((s) => s.value[1])),
  points: Math.round(series.series[0].points.reduce((all, p) => all + p.value, 0)),
  label: series.series[0].labels[0].value,
  none,
  heatmap: await codeOf(client.selectHeatmap({})),
  wrong: await codeOf(client.selectSeries({ ...asked, labelSelector: "{a=b}" })),
}));
