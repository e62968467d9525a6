// Acts that ask the client: what both runners of this door make of them. tests/vectors/README.md says what they mean.
import { plain } from './text.mjs';

/** What an `input` act asks, and the requests of a `round`: by key. */
export function requests(operand) {
  const read = async (answer) => answer;
  return Object.fromEntries(
    [...(operand ?? [])].map(([key, request]) => {
      return [key, { method: plain(request.get('method')), params: plain(request.get('params') ?? new Map()), read }];
    }),
  );
}

/** With which act a run begins: behind the `round` that this call comes back from, if any. */
export function firstAct(acts, { inputResponses, requestState }) {
  if ((inputResponses ?? undefined) === undefined) return 0;
  return 1 + acts.findIndex((act) => act.has('round') && act.get('round').get('state')?.value === (requestState ?? undefined));
}

/** What a round by hand has brought back. */
export function handedBack({ inputResponses, requestState }) {
  return JSON.stringify({ responses: inputResponses ?? null, state: requestState ?? null });
}
