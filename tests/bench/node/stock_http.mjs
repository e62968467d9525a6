// The ordinary server over HTTP, on the port that is named, as its own library's documents show it: both eras, and no
// sessions. With `sessions`, the older era has them.
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';

import { NodeStreamableHTTPServerTransport, toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler } from '@modelcontextprotocol/server';

import { factory } from './server2.mjs';

const [port, kind] = process.argv.slice(2);
const modern = toNodeHandler(createMcpHandler(factory));
const transports = new Map();

async function session(request, response) {
  const known = transports.get(request.headers['mcp-session-id']);
  if (known !== undefined) return known.handleRequest(request, response);
  const transport = new NodeStreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    onsessioninitialized: (id) => void transports.set(id, transport),
  });
  await factory().connect(transport);
  return transport.handleRequest(request, response);
}

createServer(kind === 'sessions' ? session : modern).listen(Number(port), '127.0.0.1');
