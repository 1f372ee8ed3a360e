// Spends 60, 30 and 10 of 100 of its time in the functions of these names.
//
//	node shares.js SECONDS
//
// Prints "ready" when they are compiled.
'use strict';

function spin(n) {
  let total = 0;
  for (let i = 0; i < n; i++) total += i % 7;
  return total;
}

function share60() {
  return spin(60000) + spin(60001);
}

class Shares {
  get thirty() {
    return spin(30000) + spin(30001);
  }
}

const share10 = () => spin(10000) + spin(10001);

function work(ms) {
  const end = Date.now() + ms;
  const shares = new Shares();
  let total = 0;
  while (Date.now() < end) total += share60() + shares.thirty + share10();
  return total;
}

let total = work(300);
console.log('ready');
total += work(1000 * Number(process.argv[2]));
console.log(total);
