#!/usr/bin/env node
/** `ferromcp run FILE[:EXPORT]`: serves the server that a file exports, or lets the file serve itself. */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';

import { ConfigurationError, TaskStoreError } from './errors.cjs';
import { install } from './install.cjs';
import { isConnectable, serve, type Connectable, type Factory, type ServableOptions } from './serve.cjs';
import { Server } from './server.cjs';
import type { TransportOptions } from './transport.cjs';
import { version } from './version.cjs';

const USAGE = `usage: ferromcp run [--debug] [--ask held] [--policy JSON] [--http [--host HOST] [--port PORT] [--path PATH]]
                    FILE[:EXPORT] [ARGUMENT ...]

Serves an MCP server over standard input and output, or over HTTP. FILE is a JavaScript module that exports a server (an McpServer
of @modelcontextprotocol/sdk 1.x or @modelcontextprotocol/server 2.x, a factory of the latter, or a Server of ferromcp),
or one that connects or serves it itself. EXPORT is the name of the export, where there are several.

  --debug    write every message to stderr
  --ask held what a server of an SDK asks of a modern client becomes an input-required result, and the call that asks waits
  --policy   a JSON file: rates, calls at once, times that tools may take, the audit log
  --http     serve a Server of ferromcp over HTTP, until a signal comes
  --host     with --http: the address or name to listen on (127.0.0.1)
  --port     with --http: the port, 0 for any that is free (8000)
  --path     with --http: the path of the endpoint (/mcp)
  --version  print the version
`;

/** The names under which a server is looked for, in this order. */
const NAMES = ['default', 'server', 'mcp', 'app', 'createServer', 'factory'];

type App = Server | Connectable | Factory;

function refuse(message: string): never {
  process.stderr.write(`ferromcp: ${message}\n`);
  process.exit(2);
}

async function run(target: string, rest: string[], debug: boolean, options: ServableOptions): Promise<void> {
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

/** The object in a JSON file; what it says is looked at when the server starts. */
function policyIn(file: string | undefined): TransportOptions {
  if (file === undefined) return {};
  let policy: unknown;
  try {
    policy = JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    refuse(`--policy ${file}: ${(error as Error).message}`);
  }
  if (typeof policy !== 'object' || policy === null || Array.isArray(policy)) refuse(`--policy ${file}: must be a JSON object`);
  return { policy: policy as Readonly<Record<string, unknown>> };
}

/** How it is served over HTTP, where it is. */
function listening(): ServableOptions {
  const { http, host, port, path } = values;
  const given = Object.entries({ host, port, path }).filter(([, value]) => value !== undefined);
  if (http !== true) {
    const [stray] = given;
    return stray === undefined ? {} : refuse(`--${stray[0]}: only with --http`);
  }
  if (port !== undefined && !/^\d+$/.test(port)) refuse(`--port ${port}: must be a number`);
  const named = Object.fromEntries(given.map(([name, value]) => [name, name === 'port' ? Number(value) : value]));
  return { transport: 'http', ...named };
}

const { values, positionals } = (() => {
  const own = process.argv.slice(2);
  // What follows the file is the file's.
  const withValue = ['--ask', '--policy', '--host', '--port', '--path'];
  const at = own.findIndex((argument, index) => {
    return index > 0 && !argument.startsWith('-') && !withValue.includes(own[index - 1] as string);
  });
  const flag = { type: 'boolean' } as const;
  const text = { type: 'string' } as const;
  const where = { http: flag, host: text, port: text, path: text };
  const options = { debug: flag, help: flag, version: flag, ask: text, policy: text, ...where };
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
  run(target, rest, values.debug === true, { ...asking(values.ask), ...policyIn(values.policy), ...listening() }).catch((error: unknown) => {
    if (error instanceof ConfigurationError || error instanceof TaskStoreError) refuse(error.message);
    console.error(error);
    process.exit(1);
  });
