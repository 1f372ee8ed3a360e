// Exports profiles as an SDK of OpenTelemetry does: with the exporter that its
// SDKs share, from npm, and messages of profiles.proto, since no npm package
// exports profiles yet. Prints the result of each export.
//
//	NPM=DIR node exporter.mjs DESCRIPTORS URL KEY TIME_S
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const from = createRequire(process.env.NPM + "/node_modules/");
const load = (name) => import(pathToFileURL(from.resolve(name)));
const [descriptors, server, key, at] = process.argv.slice(2);
const { create, createFileRegistry, fromBinary, toBinary, toJson, toJsonString } =
  await load("@bufbuild/protobuf");
const { FileDescriptorSetSchema } = await load("@bufbuild/protobuf/wkt");
const { diag, DiagLogLevel } = from("@opentelemetry/api");
const { createOtlpHttpExportDelegate, httpAgentFactoryFromOptions } =
  from("@opentelemetry/otlp-exporter-base/node-http");

const files = createFileRegistry(fromBinary(FileDescriptorSetSchema, readFileSync(descriptors)));
const type = (name) =>
  files.getMessage(`opentelemetry.proto.collector.profiles.v1development.${name}`);
const Request = type("ExportProfilesServiceRequest");
const Response = type("ExportProfilesServiceResponse");
const serializers = {
  "application/x-protobuf": {
    serializeRequest: (request) => toBinary(Request, request),
    deserializeResponse: (bytes) => toJson(Response, fromBinary(Response, bytes)),
  },
  "application/json": {
    serializeRequest: (request) => new TextEncoder().encode(toJsonString(Request, request)),
    deserializeResponse: (bytes) => JSON.parse(new TextDecoder().decode(bytes)),
  },
};

let warned = "";
const quiet = () => {};
diag.setLogger(
  { error: quiet, info: quiet, debug: quiet, verbose: quiet, warn: (...said) => (warned = said.at(-1)) },
  DiagLogLevel.WARN,
);

// main calls work and rest; three samples of work and one of rest.
const strings = ["", "cpu", "nanoseconds", "samples", "count", "main", "work", "rest", "shop.c",
  "/usr/bin/shop"];
const at_string = (text) => strings.indexOf(text);
const dictionary = {
  mappingTable: [{}, { filenameStrindex: at_string("/usr/bin/shop") }],
  functionTable: [{}, ...["main", "work", "rest"].map((name) => ({
    nameStrindex: at_string(name),
    filenameStrindex: at_string("shop.c"),
  }))],
  locationTable: [{}, ...[1, 2, 3].map((functionIndex) => ({
    mappingIndex: 1,
    address: BigInt(4096 * functionIndex),
    lines: [{ functionIndex, line: BigInt(functionIndex) }],
  }))],
  linkTable: [{}],
  stringTable: strings,
  attributeTable: [{}],
  stackTable: [{}, { locationIndices: [2, 1] }, { locationIndices: [3, 1] }],
};
const cpu = { typeStrindex: at_string("cpu"), unitStrindex: at_string("nanoseconds") };
const profile = (second, values) => ({
  sampleType: { typeStrindex: at_string("samples"), unitStrindex: at_string("count") },
  periodType: cpu,
  period: 10000000n,
  timeUnixNano: (BigInt(at) + second) * 1000000000n,
  durationNano: 10000000000n,
  samples: values.map((value, i) => ({ stackIndex: i + 1, values: [value] })),
});
const of = (service, ...profiles) => ({
  resource: {
    attributes: Object.entries({ "service.name": service, "service.version": "7" }).map(
      ([name, stringValue]) => ({ key: name, value: { value: { case: "stringValue", value: stringValue } } }),
    ),
  },
  scopeProfiles: [{ profiles }],
});
const request = (...resourceProfiles) => create(Request, { resourceProfiles, dictionary });

const send = (form, token, compression, message) =>
  new Promise((resolve) => {
    warned = "";
    createOtlpHttpExportDelegate(
      {
        url: `${server}/v1development/profiles`,
        headers: async () => ({ "Content-Type": form, Authorization: `Bearer ${token}` }),
        timeoutMillis: 30000,
        concurrencyLimit: 1,
        compression,
        agentFactory: httpAgentFactoryFromOptions({ keepAlive: false }),
      },
      serializers[form],
      "otlp_http_profile_exporter",
      { name: "profile", countItems: () => 1 },
      undefined,
    ).export(message, ({ code, error }) =>
      resolve(code ? `failed ${error.code}` : warned || "stored"));
  });

const proto = "application/x-protobuf";
const say = async (what, form, token, compression, message) =>
  console.log(`${what}: ${await send(form, token, compression, message)}`);
await say("protobuf", proto, key, "gzip", request(of("exported", profile(0n, [3n, 1n]))));
await say("json", "application/json", key, "none", request(of("exported", profile(10n, [3n, 1n]))));
await say("a part", proto, key, "none",
  request(of("exported", profile(20n, [3n, 1n])), of("/", profile(20n, [1n, 1n]))));
await say("nothing of it", proto, key, "none", request(of("/", profile(0n, [1n, 1n]))));
await say("no key", proto, "none", "gzip", request(of("exported", profile(0n, [1n, 1n]))));
