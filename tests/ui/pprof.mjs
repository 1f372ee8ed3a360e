/*
 * Sums over a pprof file, read without any code of the product.
 *
 *   Source  proto/profile.proto of github.com/google/pprof
 */
import { gunzipSync } from 'node:zlib';

/* The fields of a message, each [number, value]: a number, or bytes. */
function* fieldsOf(bytes) {
  let at = 0;
  const varint = () => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = bytes[at++];
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) return Number(BigInt.asIntN(64, value));
    }
  };
  while (at < bytes.length) {
    const key = varint(), kind = key & 7;
    if (kind === 0) yield [key >> 3, varint()];
    else if (kind === 2) {
      const n = varint();
      yield [key >> 3, bytes.subarray(at, at += n)];
    } else throw new Error(`a field of kind ${kind}`);
  }
}
const all = (fields, number) => fields.flatMap(([n, value]) =>
  n === number ? [value] : []);
const one = (fields, number) => all(fields, number)[0] ?? 0;
const message = bytes => [...fieldsOf(bytes)];

/* A repeated number may be packed. */
const numbers = list => list.flatMap(value => typeof value === 'number'
  ? [value] : [...packed(value)]);
function* packed(bytes) {
  let value = 0n, shift = 0n;
  for (const byte of bytes) {
    value |= BigInt(byte & 127) << shift;
    shift += 7n;
    if (byte > 127) continue;
    yield Number(BigInt.asIntN(64, value));
    value = shift = 0n;
  }
}

/* Samples with the names of their functions, leaf first, and with the last of
 * their values, which is the cost. */
export function readProfile(file) {
  const profile = message(file[0] === 0x1f ? gunzipSync(file) : file);
  const text = new TextDecoder();
  const strings = all(profile, 6).map(s => text.decode(s));
  const functions = new Map(all(profile, 5).map(message).map(f =>
    [one(f, 1), strings[one(f, 2)]]));
  const locations = new Map(all(profile, 4).map(message).map(l => [one(l, 1),
    all(l, 4).map(message).map(line => functions.get(one(line, 1)))]));
  return all(profile, 2).map(message).map(s => ({
    stack: numbers(all(s, 1)).flatMap(id => locations.get(id)),
    value: numbers(all(s, 2)).at(-1) }));
}

const sum = samples => samples.reduce((n, s) => n + s.value, 0);

/* Costs of a function in a profile, and of the whole. */
export const costsOf = (samples, name) => ({ all: sum(samples),
  self: sum(samples.filter(s => s.stack[0] === name)),
  total: sum(samples.filter(s => s.stack.includes(name))) });
