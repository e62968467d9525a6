// Ours, written for us.
import { Server } from 'ferromcp';

const inputSchema = { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] };
const server = new Server('bench', { version: '1' });
server.tool('echo', { description: 'Echo', inputSchema }, ({ text }) => text);
server.tool('aecho', { description: 'Echo from an async function', inputSchema }, async ({ text }) => text);
await server.run();
