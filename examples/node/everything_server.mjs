// A server with one of everything: what the official conformance suite calls, and a place to look things up.
//
//     node examples/node/everything_server.mjs --port 8000        http://127.0.0.1:8000/mcp
//     node examples/node/everything_server.mjs                    on stdin and stdout
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';

import { audio, elicit, image, InvalidAnswer, listRoots, MCPError, sample, Server, ToolError } from 'ferromcp';

const server = new Server('everything', {
  version: '1.0.0',
  tasks: { pollMs: 100 },
  config: { cache: { ttlMs: 60_000, cacheScope: 'public' } },
});

// One red pixel, and a wave file of one sample.
const PIXEL = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==',
  'base64',
);
const SOUND = Buffer.from('UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=', 'base64');

const string = { type: 'string' };
const boolean = { type: 'boolean' };

/** The schema of an object whose members are all required. */
function object(properties) {
  return { type: 'object', properties, required: Object.keys(properties) };
}

/** A resource, whole. */
function embedded(uri, mimeType, text) {
  return { type: 'resource', resource: { uri, mimeType, text } };
}

// --- Tools: kinds of content ---

server.tool('test_simple_text', { description: 'A text.' }, () => 'This is a simple text response for testing.');

server.tool('test_image_content', { description: 'An image.' }, () => image(PIXEL, 'image/png'));

server.tool('test_audio_content', { description: 'A sound.' }, () => audio(SOUND, 'audio/wav'));

server.tool('test_embedded_resource', { description: 'A resource, whole.' }, () => {
  return embedded('test://embedded-resource', 'text/plain', 'This is an embedded resource content.');
});

server.tool('test_multiple_content_types', { description: 'A text, an image and a resource.' }, () => [
  { type: 'text', text: 'Multiple content types test:' },
  image(PIXEL, 'image/png'),
  embedded('test://mixed-content-resource', 'application/json', JSON.stringify({ test: 'data', value: 123 })),
]);

server.tool('test_error_handling', { description: 'Fails each time.' }, () => {
  throw new ToolError('This tool intentionally returns an error for testing');
});

// --- Tools: what is told while they run ---

server.tool('test_tool_with_logging', { description: 'Logs three times.' }, async (_, context) => {
  context.info('Tool execution started');
  await sleep(50);
  context.info('Tool processing data');
  await sleep(50);
  context.info('Tool execution completed');
  return 'Tool with logging executed successfully';
});

server.tool('test_logging_tool', { description: 'Logs, for clients that want it.' }, (_, context) => {
  context.info('Diagnostic trace');
  return 'Logging evaluated';
});

server.tool('test_tool_with_progress', { description: 'Reports its progress three times.' }, async (_, context) => {
  for (const done of [0, 50, 100]) {
    context.reportProgress(done, 100, `Completed step ${done} of 100`);
    await sleep(50);
  }
  return 'Progress reported';
});

server.tool(
  'test_reconnection',
  { description: 'Cuts its client off, which comes back for the answer.' },
  async (_, context) => {
    // Over stdio, and with modern clients, there is nothing that could be closed: they just wait.
    context.closeSSEStream();
    await sleep(100);
    return 'Reconnection test completed successfully';
  },
);

// --- Tools: schemas ---

server.tool(
  'json_schema_2020_12_tool',
  {
    description: 'Takes what a schema of 2020-12 with all its means describes.',
    inputSchema: {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      $defs: { address: { $anchor: 'addressDef', type: 'object', properties: { street: string, city: string } } },
      properties: {
        name: string,
        address: { $ref: '#/$defs/address' },
        contactMethod: { type: 'string', enum: ['phone', 'email'] },
        phone: string,
        email: string,
      },
      allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
      if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
      then: { required: ['phone'] },
      else: { required: ['email'] },
      additionalProperties: false,
    },
  },
  (contact) => `JSON Schema 2020-12 tool called with: ${JSON.stringify(contact)}`,
);

// Its argument is mirrored into the header Mcp-Param-Region, where what routes requests can see it.
server.tool(
  'test_x_mcp_header',
  {
    description: 'Takes a region, which its client also says in a header.',
    inputSchema: object({ region: { type: 'string', 'x-mcp-header': 'Region' } }),
  },
  ({ region }) => `Region: ${region}`,
);

// --- Tools: asking the client, whichever revision it speaks ---

server.tool(
  'test_sampling',
  { description: "Has the client's model answer.", inputSchema: object({ prompt: string }) },
  async ({ prompt }, context) => {
    const { content } = await context.sample({ messages: prompt, maxTokens: 100 });
    return `LLM response: ${content.text}`;
  },
);

server.tool(
  'test_elicitation',
  { description: 'Asks the user.', inputSchema: object({ message: string }) },
  async ({ message }, context) => {
    const user = object({
      username: { type: 'string', description: "User's response" },
      email: { type: 'string', description: "User's email address" },
    });
    const { action, content } = await context.elicit(message, user);
    return `User response: action=${action}, content=${JSON.stringify(content)}`;
  },
);

server.tool(
  'test_elicitation_sep1034_defaults',
  { description: 'Asks by a form with defaults.' },
  async (_, context) => {
    const { action, content } = await context.elicit('Please review the form', {
      type: 'object',
      properties: {
        name: { type: 'string', description: 'User name', default: 'John Doe' },
        age: { type: 'integer', description: 'User age', default: 30 },
        score: { type: 'number', description: 'User score', default: 95.5 },
        status: {
          type: 'string',
          description: 'User status',
          enum: ['active', 'inactive', 'pending'],
          default: 'active',
        },
        verified: { type: 'boolean', description: 'Verification status', default: true },
      },
    });
    return `Elicitation completed: action=${action}, content=${JSON.stringify(content)}`;
  },
);

/** Choices with titles: value1 is shown as the first name, and so on. */
function titled(...names) {
  return names.map((title, index) => ({ const: `value${index + 1}`, title }));
}

server.tool(
  'test_elicitation_sep1330_enums',
  { description: 'Asks by a form with every kind of choice.' },
  async (_, context) => {
    const options = ['option1', 'option2', 'option3'];
    const { action, content } = await context.elicit('Please choose', {
      type: 'object',
      properties: {
        untitledSingle: { type: 'string', enum: options },
        titledSingle: { type: 'string', oneOf: titled('First Option', 'Second Option', 'Third Option') },
        legacyEnum: {
          type: 'string',
          enum: ['opt1', 'opt2', 'opt3'],
          enumNames: ['Option One', 'Option Two', 'Option Three'],
        },
        untitledMulti: { type: 'array', items: { type: 'string', enum: options } },
        titledMulti: { type: 'array', items: { anyOf: titled('First Choice', 'Second Choice', 'Third Choice') } },
      },
    });
    return `Elicitation completed: action=${action}, content=${JSON.stringify(content)}`;
  },
);

server.tool('test_missing_capability', { description: "Can't do without the client's model." }, async (_, context) => {
  const { content } = await context.sample({ messages: 'Say something', maxTokens: 10 });
  return content.text;
});

const name = elicit('What is your name?', object({ name: string }));

server.tool('test_streaming_elicitation', { description: 'Reports progress, and asks.' }, async (_, context) => {
  context.reportProgress(50, 100);
  const { answer } = await context.ask({ answer: name });
  return `Streaming complete: ${answer.action}`;
});

// By hand: it takes an answer whenever there is one, and asks where there is none that fits.
server.tool(
  'test_input_required_result_elicitation',
  { description: 'Greets the user by name.' },
  async (_, context) => {
    const given = context.inputResponses?.user_name;
    if (given === undefined) return context.inputRequired({ user_name: name });
    try {
      const { content } = await name.read(given);
      return `Hello, ${content?.name ?? 'whoever you are'}!`;
    } catch (error) {
      if (error instanceof InvalidAnswer) return context.inputRequired({ user_name: name });
      throw error;
    }
  },
);

server.tool(
  'test_input_required_result_sampling',
  { description: "Has the client's model answer a question." },
  async (_, context) => {
    const question = sample({ messages: 'What is the capital of France?', maxTokens: 100 });
    const { capital_question: answer } = await context.ask({ capital_question: question });
    return `Sampling result: ${answer.content.text}`;
  },
);

server.tool(
  'test_input_required_result_list_roots',
  { description: "Counts the client's roots." },
  async (_, context) => {
    const roots = await context.listRoots({ key: 'client_roots' });
    return `Found ${roots.length} root(s): ${roots.map(({ uri }) => uri).join(', ')}`;
  },
);

server.tool(
  'test_input_required_result_request_state',
  { description: "Asks, and remembers in the request's state that it did." },
  async (_, context) => {
    await context.elicit('Please confirm', object({ ok: boolean }), { key: 'confirm' });
    return 'state-ok: requestState validated';
  },
);

server.tool(
  'test_input_required_result_tampered_state',
  { description: 'The same: a state that its client has changed is refused before this runs.' },
  async (_, context) => {
    await context.elicit('Please confirm', object({ ok: boolean }), { key: 'confirm' });
    return 'integrity-ok: state verified';
  },
);

server.tool(
  'test_input_required_result_multiple_inputs',
  { description: 'Asks three things at once.' },
  async (_, context) => {
    const answers = await context.ask({
      user_name: name,
      greeting: sample({ messages: 'Generate a greeting', maxTokens: 50 }),
      client_roots: listRoots(),
    });
    const { user_name: user, greeting, client_roots: roots } = answers;
    return `Name: ${user.content?.name}; Greeting: ${greeting.content.text}; Roots: ${roots.length}`;
  },
);

server.tool(
  'test_input_required_result_multi_round',
  { description: 'Asks one thing after the other.' },
  async (_, context) => {
    const first = await context.elicit('Step 1: What is your name?', object({ name: string }), { key: 'step1' });
    const second = await context.elicit('Step 2: What is your favorite color?', object({ color: string }), {
      key: 'step2',
    });
    return `Multi-round complete for ${first.content?.name} who likes ${second.content?.color}`;
  },
);

server.tool(
  'test_input_required_result_capabilities',
  { description: 'Asks by what the client has declared.' },
  async (_, context) => {
    const { elicitation, sampling } = context.clientCapabilities;
    if (elicitation) return (await context.elicit('Elicitation input', object({ value: string }))).action;
    if (sampling) return (await context.sample({ messages: 'Sample request', maxTokens: 50 })).content.text;
    return 'No supported capabilities declared';
  },
);

// --- Tools: what changes ---

let toolShown = true;
let promptShown = true;

server.tool('test_dynamic_tool', { description: 'Comes and goes.' }, () => 'here');
server.prompt('test_dynamic_prompt', { description: 'Comes and goes.' }, () => 'here');

server.tool(
  'test_trigger_tool_change',
  { description: 'Hides a tool, or shows it again; clients that listen are told.' },
  () => {
    toolShown = !toolShown;
    if (toolShown) server.enableTool('test_dynamic_tool');
    else server.disableTool('test_dynamic_tool');
    return 'Mutation triggered';
  },
);

server.tool(
  'test_trigger_prompt_change',
  { description: 'Hides a prompt, or shows it again; clients that listen are told.' },
  () => {
    promptShown = !promptShown;
    if (promptShown) server.enablePrompt('test_dynamic_prompt');
    else server.disablePrompt('test_dynamic_prompt');
    return 'Mutation triggered';
  },
);

// --- Tools: tasks ---

server.tool('greet', { description: 'Greets, at once.', inputSchema: object({ name: string }) }, ({ name }) => {
  return `Hello, ${name}!`;
});

server.tool(
  'slow_compute',
  {
    description: 'Takes so many seconds.',
    inputSchema: { type: 'object', properties: { seconds: { type: 'number' }, label: string }, required: ['seconds'] },
    task: 'optional',
  },
  async ({ seconds, label }, context) => {
    await sleep(seconds * 1000, undefined, { signal: context.signal });
    return `Computed ${label} in ${seconds} s`;
  },
);

server.tool('failing_job', { description: 'Fails after a while, as tools fail.', task: 'required' }, async () => {
  await sleep(1000);
  throw new ToolError('The job failed');
});

server.tool('protocol_error_job', { description: 'Fails with an error of the protocol.', task: 'required' }, () => {
  throw new MCPError(-32603, 'The job broke');
});

server.tool(
  'confirm_delete',
  {
    description: 'Deletes a file, if the user is sure.',
    inputSchema: object({ filename: string }),
    task: 'required',
  },
  async ({ filename }, context) => {
    const answer = await context.elicit(`Delete ${filename}?`, object({ confirm: boolean }), { key: 'confirm' });
    return answer.content?.confirm ? `Deleted ${filename}` : `Kept ${filename}`;
  },
);

server.tool(
  'multi_input',
  { description: 'Asks two things at once, which may be answered one by one.', task: 'required' },
  async (_, context) => {
    const { first, second } = await context.ask({ first: name, second: elicit('Sure?', object({ confirm: boolean })) });
    return `${first.action}, ${second.action}`;
  },
);

// Asks first, and is a task from then on.
server.tool(
  'test_tool_with_task',
  { description: 'Asks for a name, and goes on as a task.' },
  async (_, context) => {
    const { user_name: user } = await context.ask({ user_name: name });
    await context.beginTask();
    return `Hello, ${user.content?.name}!`;
  },
);

// --- Resources ---

server.resource(
  'test://static-text',
  { description: 'A text.', mimeType: 'text/plain' },
  () => 'This is the content of the static text resource.',
);

server.resource('test://static-binary', { description: 'An image.', mimeType: 'image/png' }, () => PIXEL);

server.resource(
  'test://watched-resource',
  { description: 'A text that clients may watch.', mimeType: 'text/plain' },
  () => 'Watched resource content',
);

server.resource(
  'test://template/{id}/data',
  { description: 'The data of an id.', mimeType: 'application/json' },
  ({ id }) => ({ id, templateTest: true, data: `Data for ID: ${id}` }),
);

// --- Prompts and completions ---

server.prompt('test_simple_prompt', { description: 'A prompt without arguments.' }, () => {
  return 'This is a simple prompt for testing.';
});

server.prompt(
  'test_prompt_with_arguments',
  { description: 'A prompt with arguments.', arguments: { arg1: { required: true }, arg2: { required: true } } },
  ({ arg1, arg2 }) => `Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`,
);

server.completion('test_prompt_with_arguments', 'arg1', (typed) => {
  return ['paris', 'park', 'party'].filter((value) => value.startsWith(typed));
});

server.prompt(
  'test_prompt_with_embedded_resource',
  { description: 'A prompt with a resource in it.', arguments: { resourceUri: { required: true } } },
  ({ resourceUri }) => [
    { role: 'user', content: embedded(resourceUri, 'text/plain', 'Embedded resource content for testing.') },
    { role: 'user', content: { type: 'text', text: 'Please process the embedded resource above.' } },
  ],
);

server.prompt('test_prompt_with_image', { description: 'A prompt with an image in it.' }, () => [
  { role: 'user', content: image(PIXEL, 'image/png') },
  { role: 'user', content: { type: 'text', text: 'Please analyze the image above.' } },
]);

server.prompt(
  'test_input_required_result_prompt',
  { description: 'A prompt that asks the user.' },
  async (_, context) => {
    const form = object({ context: string });
    const answer = await context.elicit('What context should the prompt use?', form, { key: 'user_context' });
    return `Prompt with context: ${answer.content?.context}`;
  },
);

const { port } = parseArgs({ options: { port: { type: 'string' } } }).values;
if (port === undefined) await server.run();
else await server.run('http', { port: Number(port) });
