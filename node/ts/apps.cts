/**
 * Pages of MCP Apps: HTML that a host shows beside a tool (extension `io.modelcontextprotocol/ui`, SEP-1865). What is written of
 * them is decided in the native module.
 */
import type { ResourceContents } from './content.cjs';
import type { Declared } from './declare.cjs';
import { taken } from './errors.cjs';
import { stringify } from './json.cjs';
import { native } from './loader.cjs';

/** What a page says of itself. */
export interface AppViewOptions {
  /** What the page needs of its host: `csp`, `permissions` and what else the extension has. */
  readonly ui?: Readonly<Record<string, unknown>> | undefined;
}

/**
 * A page, which `Server.appView` adds and tools point at. Clients without the extension see no page, so a tool says in its
 * content what the page shows.
 *
 *     const clock = new AppView('ui://clock/view.html', 'Clock', '<!doctype html><title>Clock</title>');
 *     server.appView(clock).tool('time', { meta: clock.toolMeta() }, () => new Date().toISOString());
 */
export class AppView {
  readonly uri: string;
  /** @internal The page as a resource. */
  readonly declared: Declared;

  /**
   * A page of this HTML. Hosts may load it before the tool is called, and keep it, so what changes belongs into the tool's
   * result. Throws `ConfigurationError` for a URI that does not begin with `ui://`.
   */
  constructor(uri: string, name: string, html: string, options: AppViewOptions = {}) {
    const ui = options.ui === undefined ? undefined : stringify(options.ui, 'ui');
    const [definition, contents] = JSON.parse(taken<string>(native.appView(uri, name, html, ui))) as [
      object,
      readonly ResourceContents[],
    ];
    this.uri = uri;
    this.declared = {
      kind: 'resource',
      key: uri,
      definition: stringify(definition, 'definition'),
      handler: () => ({ contents }),
      validate: undefined,
      structured: false,
      mimeType: undefined,
      held: false,
    };
  }

  /** The `meta` of a tool that points at this page: what is given, and this page in its `ui`. */
  toolMeta(meta: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
    return JSON.parse(taken<string>(native.appToolMeta(this.uri, stringify(meta, 'meta')))) as Record<string, unknown>;
  }
}
