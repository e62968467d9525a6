/** The ES module entry of the drop-in for `@modelcontextprotocol/sdk` 1.x. */
export { StdioServerTransport, StreamableHTTPServerTransport, WebStandardStreamableHTTPServerTransport } from './sdk.cjs';
export type * from './sdk.cjs';
