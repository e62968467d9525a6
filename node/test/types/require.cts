// The types as a CommonJS program sees them.
import ferromcp = require('ferromcp');

const error: ferromcp.MCPError = new ferromcp.MCPError(1, 'text');
const text: string = ferromcp.version();
void [error, text];
