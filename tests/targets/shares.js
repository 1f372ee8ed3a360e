// Spends 60, 30 and 10 percent of its time in the functions of these names.
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
  return spin(6000) + spin(6001);
}

class Shares {
  get thirty() {
    return spin(3000) + spin(3001);
  }
}

const share10 = () => spin(1000) + spin(1001);

function work(rounds) {
  const shares = new Shares();
  let total = 0;
  while (rounds-- > 0) {
    total += spin(Math.random() * 20000); // or the loop keeps step with the samples
    total += share60() + shares.thirty + share10();
  }
  return total;
}

let total = work(20000);
console.log('ready');
const end = Date.now() + 1000 * Number(process.argv[2]);
while (Date.now() < end) total += work(1000);
console.log(total);
