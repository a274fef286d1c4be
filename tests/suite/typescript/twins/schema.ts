/** A schema of plain objects, as the packages for that make them. */

import type { StandardSchema } from '@pointwork/guest';

type Kinds = Record<string, 'string' | 'number'>;
type ValueOf<K extends Kinds> = { [Name in keyof K]: K[Name] extends 'string' ? string : number };

export function object<const K extends Kinds>(kinds: K): StandardSchema<unknown, ValueOf<K>> {
  const issuesOf = (value: unknown): { message: string; path: string[] }[] => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return [{ message: 'expected an object', path: [] }];
    const wrong = Object.keys(kinds).filter((name) => typeof (value as Record<string, unknown>)[name] !== kinds[name]);
    return wrong.map((name) => ({ message: `expected a ${kinds[name]}`, path: [name] }));
  };
  const validate = (value: unknown) => {
    const issues = issuesOf(value);
    return issues.length > 0 ? { issues } : { value: value as ValueOf<K> };
  };
  return { '~standard': { version: 1, vendor: 'pointwork-suite', validate } };
}
