import { expect, expectOptions, flag, number, oneOf, shown, text, texts, type Check } from './declared.js';
import { VariableException } from './exceptions.js';
import { host, type Property } from './host.js';

/** The variables that the configuration of the host gives the module, by name. Outside of a call there are none. */
export const env: Readonly<Record<string, string | undefined>> = new Proxy(Object.create(null) as Record<string, string>, {
  get: (_, name) => (typeof name === 'string' ? read()[name] : undefined),
  has: (_, name) => typeof name === 'string' && name in read(),
  ownKeys: () => Object.keys(read()),
  getOwnPropertyDescriptor(_, name) {
    const value = typeof name === 'string' ? read()[name] : undefined;
    return value === undefined ? undefined : { value, enumerable: true, configurable: true };
  },
});

let last: { from: Property[]; values: Record<string, string> } | undefined;

function read(): Record<string, string> {
  const from = host.variables();
  if (last?.from !== from) {
    const values = Object.fromEntries(from.map(({ name, value }) => [name, value]));
    // The name `constructor` is not a variable.
    last = { from, values: Object.setPrototypeOf(values, null) as Record<string, string> };
  }
  return last.values;
}

/** A variable, as in JSON schema. A variable that has a default or is `optional` may be missing. */
export type Variable = { description?: string; optional?: boolean } & (
  | { type: 'string'; minLength?: number; maxLength?: number; enum?: readonly string[]; default?: string }
  | { type: 'integer' | 'number'; minimum?: number; maximum?: number; default?: number }
  | { type: 'boolean'; default?: boolean }
);

type ValueOf<V extends Variable> = V extends { enum: readonly (infer Word)[] }
  ? Word
  : V extends { type: 'string' }
    ? string
    : V extends { type: 'boolean' }
      ? boolean
      : number;

type Values<Schema extends Record<string, Variable>> = {
  readonly [Name in keyof Schema]: Schema[Name] extends { optional: true } ? ValueOf<Schema[Name]> | undefined : ValueOf<Schema[Name]>;
};

const SCHEMA = Symbol('schema');

/** The variables that a module needs, by type. */
export type Variables<Schema extends Record<string, Variable> = Record<string, Variable>> = Values<Schema> & { readonly [SCHEMA]: Schema };

/**
 * Declares the variables that a module needs: `const settings = variables({ PAGE_SIZE: { type: 'integer', default: 20 } })`. Named in
 * `module({ …, variables: settings })`, the host refuses the module without them. Within a call, `settings.PAGE_SIZE` is the value.
 */
export function variables<const Schema extends Record<string, Variable>>(schema: Schema): Variables<Schema> {
  expectSchema(schema);
  const values = { [SCHEMA]: schema };
  for (const [name, variable] of Object.entries(schema)) {
    Object.defineProperty(values, name, { enumerable: true, get: () => valueOf(name, variable) });
  }
  return values as unknown as Variables<Schema>;
}

const COMMON: Readonly<Record<string, Check>> = { description: text, optional: flag };
const count: Check = (value) => (Number.isInteger(value) && (value as number) >= 0 ? undefined : 'a whole number from 0');
const OF_TYPE: Readonly<Record<string, Readonly<Record<string, Check>>>> = {
  string: { ...COMMON, type: text, minLength: count, maxLength: count, enum: texts, default: text },
  integer: { ...COMMON, type: text, minimum: number, maximum: number, default: number },
  number: { ...COMMON, type: text, minimum: number, maximum: number, default: number },
  boolean: { ...COMMON, type: text, default: flag },
};

/** Refuses a variable whose schema has a constraint that is not checked, or a default that does not fit. */
function expectSchema(schema: unknown): void {
  expectOptions('`variables`', schema, Object.fromEntries(Object.keys((schema ?? {}) as object).map((name) => [name, (one: unknown) => (typeof one === 'object' && one !== null ? undefined : 'a schema such as `{ type: \'string\' }`')])));
  for (const [name, variable] of Object.entries(schema as Record<string, Variable>)) {
    const where = `the variable \`${name}\``;
    expect(`the \`type\` of ${where}`, variable.type, oneOf(...Object.keys(OF_TYPE)));
    expectOptions(where, variable, OF_TYPE[variable.type] ?? {});
    const { default: usual } = variable;
    if (usual !== undefined && parse(String(usual), variable) !== usual) throw new TypeError(`the default ${shown(usual)} of ${where} does not fit its own schema`);
  }
}

/** Whether a value was made by {@link variables}. */
export function isVariables(value: unknown): boolean {
  return typeof value === 'object' && value !== null && SCHEMA in value;
}

function valueOf(name: string, variable: Variable): string | number | boolean | undefined {
  const text = env[name];
  if (text === undefined) {
    if (variable.default !== undefined || variable.optional) return variable.default;
    throw new VariableException(`the variable \`${name}\` is missing: expected ${expected(variable)}`);
  }
  const value = parse(text, variable);
  if (value === undefined) throw new VariableException(`the variable \`${name}\` does not fit: expected ${expected(variable)}`);
  return value;
}

function parse(text: string, variable: Variable): string | number | boolean | undefined {
  switch (variable.type) {
    case 'string': {
      const length = [...text].length;
      const fits = length >= (variable.minLength ?? 0) && length <= (variable.maxLength ?? Infinity) && (variable.enum?.includes(text) ?? true);
      return fits ? text : undefined;
    }
    case 'boolean':
      return text === 'true' || text === 'false' ? text === 'true' : undefined;
    default: {
      const pattern = variable.type === 'integer' ? /^[+-]?\d+$/ : /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/;
      const value = Number(text);
      const fits = pattern.test(text) && value >= (variable.minimum ?? -Infinity) && value <= (variable.maximum ?? Infinity);
      return fits ? value : undefined;
    }
  }
}

function expected(variable: Variable): string {
  switch (variable.type) {
    case 'string':
      return variable.enum ? variable.enum.map((word) => `\`${word}\``).join(' or ') : 'a text';
    case 'boolean':
      return '`true` or `false`';
    default:
      return variable.type === 'integer' ? 'a whole number' : 'a number';
  }
}

/** The JSON schema for the manifest. */
export function schemaOf(declared: Variables): string {
  const schema = declared[SCHEMA];
  const properties: Record<string, unknown> = {};
  const required: string[] = [];
  for (const [name, variable] of Object.entries(schema)) {
    const { optional, ...property } = variable;
    properties[name] = property;
    if (!optional && variable.default === undefined) required.push(name);
  }
  return JSON.stringify({ type: 'object', properties, required });
}
