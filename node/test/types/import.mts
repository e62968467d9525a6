// The types as a module sees them.
import { MCPError, parseMessage, version, type Message } from 'ferromcp';

const text: string = version();
const message: Message = parseMessage(text);

switch (message.kind) {
  case 'request': {
    const id: string = message.id;
    void id;
    break;
  }
  case 'notification':
    // @ts-expect-error a notification has no id
    void message.id;
    break;
  case 'response':
    // @ts-expect-error a response has no method
    void message.method;
    break;
  default: {
    const nothing: never = message;
    void nothing;
  }
}

// @ts-expect-error a number is no text
parseMessage(5);

const code: number = new MCPError(1, 'text', { data: {} }).code;
void code;
