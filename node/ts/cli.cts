#!/usr/bin/env node
/** `ferromcp run FILE[:EXPORT]`: serves the server that a file exports, or lets the file serve itself. */
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';

import { install } from './install.cjs';
import { isConnectable, serve, type Connectable, type Factory } from './serve.cjs';
import { Server } from './server.cjs';
import type { TransportOptions } from './transport.cjs';
import { version } from './version.cjs';

const USAGE = `usage: ferromcp run [--debug] [--ask held] FILE[:EXPORT] [ARGUMENT ...]

Serves an MCP server over standard input and output. FILE is a JavaScript module that exports a server (an McpServer
of @modelcontextprotocol/sdk 1.x or @modelcontextprotocol/server 2.x, a factory of the latter, or a Server of ferromcp),
or one that connects or serves it itself. EXPORT is the name of the export, where there are several.

  --debug    write every message to stderr
  --ask held what a server of an SDK asks of a modern client becomes an input-required result, and the call that asks waits
  --version  print the version
`;

/** The names under which a server is looked for, in this order. */
const NAMES = ['default', 'server', 'mcp', 'app', 'createServer', 'factory'];

type App = Server | Connectable | Factory;

function refuse(message: string): never {
  process.stderr.write(`ferromcp: ${message}\n`);
  process.exit(2);
}

async function run(target: string, rest: string[], debug: boolean, options: TransportOptions): Promise<void> {
  const [, path = target, name] = /^(.+?)(?::(\w+))?$/.exec(target) ?? [];
  const file = resolve(path);
  // The program sees its own name and arguments, as if Node had started it.
  process.argv.splice(1, process.argv.length - 1, file, ...rest);
  if (debug) process.env['MCP_DEBUG'] = '1';
  await install(file, options);
  const module = (await import(pathToFileURL(file).href)) as Record<string, unknown>;
  const app = found(module, name);
  if (app !== undefined) return serve(app, options);
  if (name !== undefined) refuse(`${path} has no server called ${name}`);
  // Else the file has served itself; if it has not, nothing keeps the process alive.
}

function found(module: Record<string, unknown>, name: string | undefined): App | undefined {
  // A CommonJS file's exports are members of the default one.
  const inner = module['default'];
  const exports = { ...(typeof inner === 'object' ? inner : undefined), ...module } as Record<string, unknown>;
  if (name !== undefined) return asApp(exports[name], true);
  for (const known of NAMES) {
    const app = asApp(exports[known], true);
    if (app !== undefined) return app;
  }
  return Object.values(exports)
    .map((value) => asApp(value, false))
    .find((app) => app !== undefined);
}

function asApp(value: unknown, factories: boolean): App | undefined {
  if (value instanceof Server) return value;
  if (isConnectable(value)) return (value as { transport?: unknown }).transport === undefined ? value : undefined;
  return factories && typeof value === 'function' ? (value as Factory) : undefined;
}

function asking(ask: string | undefined): TransportOptions {
  if (ask === undefined) return {};
  return ask === 'held' ? { ask } : refuse(`--ask ${ask}: only 'held' is known`);
}

const { values, positionals } = (() => {
  const own = process.argv.slice(2);
  // What follows the file is the file's.
  const at = own.findIndex((argument, index) => index > 0 && !argument.startsWith('-') && own[index - 1] !== '--ask');
  const flag = { type: 'boolean' } as const;
  const options = { debug: flag, help: flag, version: flag, ask: { type: 'string' } } as const;
  try {
    const parsed = parseArgs({ args: at < 0 ? own : own.slice(0, at + 1), options, allowPositionals: true });
    return { values: parsed.values, positionals: [...parsed.positionals, ...(at < 0 ? [] : own.slice(at + 1))] };
  } catch (error) {
    return refuse((error as Error).message);
  }
})();
const [command, target, ...rest] = positionals;
if (values.version === true) process.stdout.write(`${version()}\n`);
else if (values.help === true) process.stdout.write(USAGE);
else if (command !== 'run' || target === undefined) refuse(`what is to be run?\n${USAGE}`);
else
  run(target, rest, values.debug === true, asking(values.ask)).catch((error: unknown) => {
    console.error(error);
    process.exit(1);
  });
