/** The ES module entry of the drop-in for `@modelcontextprotocol/server` 2.x. */
export {
  NodeStreamableHTTPServerTransport,
  serveStdio,
  StdioServerTransport,
  WebStandardStreamableHTTPServerTransport,
} from './sdk2.cjs';
export type * from './sdk2.cjs';
