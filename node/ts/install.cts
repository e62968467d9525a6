/** Puts the engine under the stdio transports of the official SDKs, for files that connect a server themselves. */
import { pathToFileURL } from 'node:url';

import { peerFile } from './peers.cjs';
import { EngineTransport, type Manner, type RpcMessage, type SendOptions, type TransportOptions } from './transport.cjs';

/** The parts of an SDK's transport that are used here. */
interface Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: unknown, extra?: unknown) => void;
}

interface TransportClass {
  prototype: Transport & Record<string, unknown>;
}

interface Known {
  readonly specifier: string;
  readonly manner: Manner;
  /** The file of the ES module build, from that of the CommonJS build. */
  readonly esm: (file: string) => string;
}

const KNOWN: readonly Known[] = [
  {
    specifier: '@modelcontextprotocol/sdk/server/stdio.js',
    manner: 'fronted',
    esm: (file) => file.replace(/([\\/])dist\1cjs\1/, '$1dist$1esm$1'),
  },
  {
    specifier: '@modelcontextprotocol/server/stdio',
    manner: 'detected',
    esm: (file) => file.replace(/\.cjs$/, '.mjs'),
  },
];

/** From now on servers that connect to an SDK's `StdioServerTransport` are served by the engine. `from`: the program. */
export async function install(from: string, options: TransportOptions): Promise<void> {
  for (const { specifier, manner, esm } of KNOWN) {
    const file = peerFile(specifier, [from]);
    if (file === undefined) continue;
    for (const build of new Set([file, esm(file)])) {
      const module = (await import(pathToFileURL(build).href)) as { StdioServerTransport: TransportClass };
      redirect(module.StdioServerTransport, manner, options);
    }
  }
}

function redirect({ prototype }: TransportClass, manner: Manner, options: TransportOptions): void {
  const engines = new WeakMap<object, EngineTransport>();
  const engine = (transport: Transport): EngineTransport => {
    let found = engines.get(transport);
    if (found === undefined) {
      found = new EngineTransport(manner, 'run', options);
      found.onclose = () => transport.onclose?.();
      found.onerror = (error) => transport.onerror?.(error);
      found.onmessage = (message, extra) => transport.onmessage?.(message, extra);
      engines.set(transport, found);
    }
    return found;
  };
  const methods = {
    async start(this: Transport) {
      await engine(this).start();
    },
    async send(this: Transport, message: RpcMessage, options?: SendOptions) {
      await engine(this).send(message, options);
    },
    async close(this: Transport) {
      await engine(this).close();
    },
    setSupportedProtocolVersions(this: Transport, versions: string[]) {
      engine(this).setSupportedProtocolVersions(versions);
    },
  };
  Object.assign(prototype, methods);
}
