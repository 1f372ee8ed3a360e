// An assistant's client, from npm, asks Stoker: URL KEY NPM node assistant.mjs
// prints the tools, and then the answer to each question.
import { createRequire } from "node:module";
const npm = createRequire(process.env.NPM + "/");
const sdk = "@modelcontextprotocol/sdk/client";
const { Client } = npm(`${sdk}/index.js`);
const { StreamableHTTPClientTransport } = npm(`${sdk}/streamableHttp.js`);

const client = new Client({ name: "test", version: "1" });
await client.connect(
  new StreamableHTTPClientTransport(new URL("/mcp", process.env.URL), {
    requestInit: { headers: { Authorization: `Bearer ${process.env.KEY}` } },
  }),
);
const { tools } = await client.listTools();
console.log("tools:", tools.map((t) => t.name).join(" "));
const ask = async (name, args) => {
  const { content, isError } = await client.callTool({ name, arguments: args });
  console.log(`${name}${isError ? " failed" : ""}: ${content[0].text}`);
};
await ask("services", {});
await ask("explain", { service: "ai-service" });
await ask("capture", { service: "ai-service", seconds: 1 });
await ask("hottest", { service: "ai-service", from: "yesterday" });
await client.close();
