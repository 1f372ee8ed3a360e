/*
 * Prints what speedscope's importer reads from a file: a line "SELF<tab>NAME"
 * for each function of all profiles together, in nanoseconds or in the file's
 * unit.
 *
 *	node speedscope.mjs FOLDER_OF_SPEEDSCOPE FILE
 *
 * The importer is inside the page's program, which is stopped as it begins to
 * draw.
 */
import fs from 'node:fs';
import path from 'node:path';

const NS = { nanoseconds: 1, microseconds: 1e3, milliseconds: 1e6, seconds: 1e9 };
const [folder, file] = process.argv.slice(2);
const release = path.join(folder, 'dist/release');
const program = fs.readFileSync(path.join(release,
  fs.readdirSync(release).find(f => /^speedscope-.*\.js$/.test(f))), 'utf8');
const exported = program.match(/[,;][\w$]+\(([\w$]+),\{importFromFileSystem/)[1];
const loader = program.match(
  new RegExp(`\\(([\\w$]+)\\(\\),${exported.replaceAll('$', '\\$')}\\)`))[1];
const print = console.log;

console.log = console.warn = () => {};
globalThis.window = globalThis.self = globalThis;
try {
  (0, eval)(program.replace('(()=>{',
    `(()=>{globalThis.importer=()=>(${loader}(),${exported});`));
} catch { /* there is no page */ }
const bytes = fs.readFileSync(file);
const group = await globalThis.importer().importProfilesFromArrayBuffer(
  path.basename(file), bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
for (const profile of group.profiles) {
  const scale = NS[profile.getWeightUnit()] ?? 1;
  profile.forEachFrame(f => print(`${f.getSelfWeight() * scale}\t${f.name}`));
}
