/**
 * What this package knows of the inside of the official SDKs' servers.
 *
 * The SDKs call these members private. So they are used only for the versions that the tests compare, and only where they
 * look as they should; else a server is served by its public methods alone.
 */
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { peerFile } from './peers.cjs';
import type { RpcMessage } from './transport.cjs';

/** The minor versions that the tests compare. */
const COMPARED = {
  '@modelcontextprotocol/sdk': { module: '@modelcontextprotocol/sdk/server/mcp.js', minor: '1.32' },
  '@modelcontextprotocol/server': { module: '@modelcontextprotocol/server', minor: '2.4' },
} as const;

/** What serves a method: the first argument is the request, the second what the SDK tells of it. */
export type Handler = (request: RpcMessage, context: unknown) => Promise<unknown>;

/** What is used of an SDK's inner server. */
export interface Inner {
  _onrequest?(request: RpcMessage, extra: undefined): void;
  _oninitialize?(request: RpcMessage): Promise<unknown>;
  readonly _requestHandlers: Map<string, Handler>;
  connect(transport: unknown): Promise<void>;
  notification(notification: object, options?: object): Promise<void>;
  request(request: object, schema: unknown, options?: object): Promise<unknown>;
  buildContext?(context: object, info: undefined): object;
}

/** The inner server of a server, which may be that itself; or why nothing may be known of it. */
export function innerOf(server: object): Inner | string {
  const inner = ((server as { server?: unknown }).server ?? server) as Inner;
  const { _requestHandlers: handlers } = inner;
  if (!(handlers instanceof Map) || typeof inner.connect !== 'function' || typeof inner.notification !== 'function') {
    return 'it does not look like a server of an official SDK';
  }
  const name = typeof inner.buildContext === 'function' ? '@modelcontextprotocol/server' : '@modelcontextprotocol/sdk';
  const { module, minor } = COMPARED[name];
  const found = versionOf(name, module);
  if (found === undefined) return `the version of ${name} can't be found out`;
  if (!found.startsWith(`${minor}.`)) return `${name} ${found} is not compared, only ${minor}.x is`;
  return inner;
}

function versionOf(name: string, module: string): string | undefined {
  let folder = peerFile(module);
  while (folder !== undefined && folder !== dirname(folder)) {
    folder = dirname(folder);
    try {
      const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { name?: string; version?: string };
      if (manifest.name === name) return manifest.version;
    } catch {
      // No manifest in this folder.
    }
  }
  return undefined;
}
