// The ordinary server, served by us; with `accelerated`, its tool calls take the short way.
import { accelerate, serve } from 'ferromcp';

import { factory } from './server2.mjs';

const server = factory();
await serve(process.argv[2] === 'accelerated' ? accelerate(server, { onFallback: console.error }) : server);
