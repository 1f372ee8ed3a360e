/*
 * Bundles the application: node ui/bundle.mjs OUT. Names of files hold the hash
 * of what is in them, so that browsers may keep them for ever; index.html,
 * which names them, is the one file that is asked for again.
 */
import { build } from 'esbuild';
import { cpSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename } from 'node:path';

const out = process.argv[2];
const { metafile } = await build({
  entryPoints: ['ui/main.tsx', 'ui/theme.ts', 'ui/worker.ts', 'ui/app.css'],
  outdir: out + '/assets',
  entryNames: '[name]-[hash]',
  chunkNames: '[name]-[hash]',
  bundle: true,
  splitting: true,
  format: 'esm',
  minify: true,
  metafile: true,
  jsx: 'automatic',
  jsxImportSource: 'preact',
  target: ['chrome107', 'firefox104', 'safari16'],
  logLevel: 'warning',
});

const made = Object.fromEntries(Object.entries(metafile.outputs)
  .filter(([, o]) => o.entryPoint)
  .map(([path, o]) => [basename(o.entryPoint), basename(path)]));
/* The elements that show a profile are taken from the page of a saved one. */
const [, parts] = readFileSync('flame/page.html', 'utf8')
  .match(/<main class="profile">([^]*)<\/main>/);
const page = readFileSync('ui/index.html', 'utf8')
  .replace('@profile@', () => parts)
  .replace(/@([\w.]+)@/g, (all, name) => '/ui/assets/' + made[name]);
writeFileSync(out + '/index.html', page);

/* speedscope as it is released, but for its example, its schema, and what reads
 * recordings of Java. */
const release = 'node_modules/speedscope/dist/release';
for (const name of readdirSync(release))
  if (!/\.(txt|json|md|wasm)$/.test(name))
    cpSync(`${release}/${name}`, `${out}/speedscope/${name}`);

/* Licences of the bundled packages go with it. */
const { dependencies } = JSON.parse(readFileSync('package.json', 'utf8'));
const licenses = Object.keys(dependencies).map(name =>
  [name, `node_modules/${name}/LICENSE`]);
licenses.push(['Source Code Pro, of speedscope',
  `${release}/source-code-pro.LICENSE.md`]);
writeFileSync(out + '/licenses.txt', licenses.map(([name, file]) =>
  `${name}\n\n${readFileSync(file, 'utf8')}`).join('\n\n'));
