/** The ES module entry of the drop-in for `@modelcontextprotocol/server` 2.x. */
export { serveStdio, StdioServerTransport } from './sdk2.cjs';
export type * from './sdk2.cjs';
