/* A thread that makes trees of large profiles: ../flame/trees.js. */
import { serve } from '../flame/trees.js';

const answer = serve(reply => postMessage(reply));
addEventListener('message', e => answer(e.data));
