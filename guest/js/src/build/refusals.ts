/** What the host refuses in a manifest, found in the build. The rules are those of the crate `pointwork-patterns` and of the host. */
import { RequestMethod } from '../http-status.js';
import type { ManifestPlaces } from '../component.js';
import type { Manifest } from '../manifest.js';

const NAME = /^[A-Za-z_][\w-]*$/;
// eslint-disable-next-line no-control-regex
const UNPRINTABLE = /[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/;
const TOKEN = /^[A-Za-z0-9!#$%&'*+\-.^_`|~]+$/;
const SPACE = /\p{White_Space}/u;

/** A line for each refusal, with its place. */
export function refusals({ controllers, channels, eventsUsed }: Manifest, places: ManifestPlaces): string[] {
  const found: string[] = [];
  const named = (place: string, what: string, name: string): void => {
    const wrong = name === '' ? 'is empty' : UNPRINTABLE.test(name) ? 'has a character that cannot be printed' : undefined;
    if (wrong) found.push(`${place}the name ${JSON.stringify(name)} of ${what} ${wrong}`);
  };
  for (const [number, { name, prefix, routes }] of controllers.entries()) {
    const { own = '', routes: ofRoutes = [] } = places.controllers[number] ?? {};
    named(own, 'a controller', name);
    const ofPrefix = patternProblem(prefix);
    if (ofPrefix !== undefined) found.push(`${own}\`${name}\`: ${ofPrefix}`);
    for (const [at, route] of routes.entries()) {
      const place = ofRoutes[at] ?? '';
      named(place, `a handler of \`${name}\``, route.name);
      const { method } = route;
      if (method !== null && !TOKEN.test(method)) found.push(`${place}\`${name}.${route.name}\`: the method ${JSON.stringify(method)} is no token of HTTP, such as \`GET\``);
      else if (method !== null && !Object.hasOwn(RequestMethod, method) && Object.hasOwn(RequestMethod, method.toUpperCase())) {
        found.push(`${place}\`${name}.${route.name}\`: no client sends the method ${JSON.stringify(method)}, expected \`${method.toUpperCase()}\``);
      }
      if (ofPrefix !== undefined) continue;
      for (const path of route.paths) {
        const problem = patternProblem(path, prefix);
        if (problem !== undefined) found.push(`${place}\`${name}.${route.name}\`: ${problem}`);
      }
    }
  }
  for (const [number, { name, listeners }] of channels.entries()) {
    const { own = '', listeners: ofListeners = [] } = places.channels[number] ?? {};
    if (isWord(name) && !name.includes(':')) {
      listeners.forEach(({ event }, at) => {
        if (!isWord(event)) found.push(`${ofListeners[at] ?? ''}\`${name}\`: the event ${JSON.stringify(event)} is not valid, expected a text without white space, such as \`product:all\``);
      });
    } else found.push(`${own}the channel ${JSON.stringify(name)} is not valid, expected a text without \`:\` and white space, such as \`db\``);
  }
  const unfit = eventsUsed.filter((name) => !isWord(name));
  found.push(...unfit.map((name) => `${places.module}the event ${JSON.stringify(name)} that the module uses is not valid, expected a text without white space, such as \`db:product:one\``));
  return found;
}

function isWord(name: string): boolean {
  return name !== '' && !SPACE.test(name) && !UNPRINTABLE.test(name);
}

function segmentsOf(path: string): string[] {
  // `//` is an empty segment, and not the root.
  const inner = path.replace(/^\//, '').replace(/(?<=.)\/$/, '');
  return inner === '' ? [] : inner.split('/');
}

/** What is wrong with a path below a prefix that is right. */
function patternProblem(path: string, prefix = ''): string | undefined {
  const before = segmentsOf(prefix);
  const names = new Set(before.filter((segment) => /^[:*]/.test(segment)).map((segment) => segment.slice(1)));
  let rest = before.find((segment) => segment.startsWith('*'));
  const refused = (problem: string): string => `the path ${JSON.stringify(path)} is not valid: ${problem}`;
  for (const segment of segmentsOf(path)) {
    if (rest !== undefined) return refused(`\`${rest}\` is followed by another segment, expected the end, since it has the rest of the path`);
    const problem = segmentProblem(segment, names);
    if (problem !== undefined) return refused(problem);
    if (segment.startsWith('*')) rest = segment;
  }
  return undefined;
}

function segmentProblem(segment: string, names: Set<string>): string | undefined {
  if (segment === '') return 'it has an empty segment, expected text between the slashes';
  if (/^[:*]/.test(segment)) {
    const name = segment.slice(1);
    if (!NAME.test(name)) return `\`${segment}\` has no valid name, expected ASCII letters, digits, \`_\` and \`-\`, the first a letter or \`_\``;
    if (names.has(name)) return `the name \`${name}\` occurs twice`;
    names.add(name);
    return undefined;
  }
  const brace = /[{}<>]/.exec(segment)?.[0];
  if (brace !== undefined) {
    const name = /^[{<](?:\w+:)?([A-Za-z_][\w-]*)[}>]$/.exec(segment)?.[1];
    return `\`${segment}\` would be a text and no parameter, expected \`:${name ?? 'name'}\` for a parameter, or \`${encodeURIComponent(brace)}\` in place of \`${brace}\``;
  }
  const marker = /[:*?#]|\p{White_Space}/u.exec(segment)?.[0];
  if (marker !== undefined) return `\`${marker}\` is within \`${segment}\`, expected it percent-encoded or not at all`;
  if (UNPRINTABLE.test(segment)) return 'it has a character that cannot be printed, expected it percent-encoded or not at all';
  if (/%(?![\da-fA-F]{2})/.test(segment)) return `\`${segment}\` has a \`%\` without two hexadecimal digits after it`;
  try {
    decodeURIComponent(segment);
  } catch {
    return `the escapes of \`${segment}\` are no UTF-8`;
  }
  return undefined;
}
