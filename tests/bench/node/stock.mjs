// The ordinary server as its own library runs it.
import { serveStdio } from '@modelcontextprotocol/server/stdio';

import { factory } from './server2.mjs';

serveStdio(factory);
