// Computes Fibonacci numbers in WebAssembly, which V8 compiles.
//
//	node wasm.js
//
// Prints "ready" when it is compiled.
'use strict';

// (func (export "fib") (param i32) (result i32)
//   (if (result i32) (i32.lt_s (local.get 0) (i32.const 2))
//     (then (local.get 0))
//     (else (i32.add (call 0 (i32.sub (local.get 0) (i32.const 1)))
//                    (call 0 (i32.sub (local.get 0) (i32.const 2)))))))
const { fib } = new WebAssembly.Instance(new WebAssembly.Module(new Uint8Array([
  0, 97, 115, 109, 1, 0, 0, 0, 1, 6, 1, 96, 1, 127, 1, 127, 3, 2, 1, 0, 7, 7, 1,
  3, 102, 105, 98, 0, 0, 10, 30, 1, 28, 0, 32, 0, 65, 2, 72, 4, 127, 32, 0, 5, 32,
  0, 65, 1, 107, 16, 0, 32, 0, 65, 2, 107, 16, 0, 106, 11, 11,
]))).exports;

function caller() {
  return fib(20);
}

function work() {
  for (let i = 0; i < 1000; i++) caller();
}

work();
console.log('ready');
while (true) work();
