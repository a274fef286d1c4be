/** Types of requests and replies besides those of the events, and their validation. */
import { BadRequestException, UnprocessableEntityException, ValidationException, type Context, type StandardSchema } from '@pointwork/guest';
import type { Change, Events, NewProduct, Product } from './events.js';

export type Ctx = Context<Events>;

/** The fields of a product that a client wants to change; `null` leaves one as it is. */
export type Fields = { [Field in keyof NewProduct]?: NewProduct[Field] | null };

/** One page of the catalogue. */
export interface Page {
  products: Product[];
  page: number;
  per_page: number;
  /** The number of products on all pages. */
  total: number;
}

/** The maximum length of an SKU or name, in characters. */
const LONGEST = 200;

const TYPES = { sku: 'a string', name: 'a string', price_cents: 'i64', description: 'a string' } as const;

type Name = keyof typeof TYPES;

/** A value in the words of the replies of the Rust controllers. */
function shown(value: unknown): string {
  if (value === null) return 'null';
  if (typeof value === 'number') return Number.isInteger(value) ? `integer \`${value}\`` : `floating point \`${value}\``;
  if (typeof value === 'string') return `string ${JSON.stringify(value)}`;
  if (typeof value === 'boolean') return `boolean \`${value}\``;
  return Array.isArray(value) ? 'sequence' : 'map';
}

function problem(name: string, value: unknown, isOptional: boolean): string | undefined {
  if (!(name in TYPES)) return `unknown field \`${name}\`, expected one of ${Object.keys(TYPES).map((name) => `\`${name}\``).join(', ')}`;
  if (isOptional && value === null) return undefined;
  const fits = name === 'price_cents' ? Number.isSafeInteger(value) : typeof value === 'string';
  return fits ? undefined : `invalid type: ${shown(value)}, expected ${TYPES[name as Name]}`;
}

/**
 * An object with the fields of a product: with those that must be there, or, if none must, with any, each of which may be `null`. Any validator
 * of Standard Schema would do.
 */
function schema<T>(struct: string, required: readonly Name[]): StandardSchema<unknown, T> {
  return {
    '~standard': {
      version: 1,
      vendor: 'products',
      validate(value) {
        if (typeof value !== 'object' || value === null || Array.isArray(value)) return { issues: [{ message: `invalid type: ${shown(value)}, expected struct ${struct}` }] };
        for (const [name, field] of Object.entries(value)) {
          const message = problem(name, field, required.length === 0);
          if (message !== undefined) return { issues: [{ message, path: [name] }] };
        }
        const missing = required.find((name) => !(name in value));
        return missing === undefined ? { value: value as T } : { issues: [{ message: `missing field \`${missing}\`` }] };
      },
    },
  };
}

const newProduct = schema<Omit<NewProduct, 'description'> & Partial<NewProduct>>('NewProduct', ['sku', 'name', 'price_cents']);
const fields = schema<Fields>('Fields', []);

async function read<T>(ctx: Ctx, wanted: StandardSchema<unknown, T>): Promise<T> {
  try {
    return await ctx.json(wanted);
  } catch (error) {
    const first = error instanceof ValidationException ? error.fields[0] : undefined;
    if (!first) throw error;
    const field = first.field === '' ? '' : `\`${first.field}\`: `;
    throw new BadRequestException(`body: ${field}${first.message}${first.place === undefined ? '' : ` at ${first.place}`}`);
  }
}

export async function readNewProduct(ctx: Ctx): Promise<NewProduct> {
  const { sku, name, price_cents, description = '' } = await read(ctx, newProduct);
  return check({ sku, name, price_cents, description });
}

export async function readFields(ctx: Ctx): Promise<Fields> {
  return check(await read(ctx, fields));
}

/** 422 with the field and what was expected. */
function check<T extends Fields>(fields: T): T {
  for (const name of ['sku', 'name'] as const) {
    const text = fields[name];
    if (typeof text === 'string' && (text.trim() === '' || [...text].length > LONGEST)) throw unfit(name, `1 to ${LONGEST} characters`);
  }
  const price = fields.price_cents;
  if (typeof price === 'number' && price < 0) throw unfit('price_cents', `0 or more, got ${price}`);
  return fields;
}

function unfit(field: Name, expected: string): UnprocessableEntityException {
  return new UnprocessableEntityException(`body: \`${field}\`: expected ${expected}`);
}

export function changeOf(id: number, { sku = null, name = null, price_cents = null, description = null }: Fields): Change {
  return { id, sku, name, price_cents, description };
}

/** A number of a path or a query, with the errors of the Rust controllers. Numbers of JavaScript are exact up to `most`. */
export function natural(text: string, most = Number.MAX_SAFE_INTEGER): number {
  if (text === '') throw new RangeError('cannot parse integer from empty string');
  if (!/^\+?\d+$/.test(text)) throw new RangeError('invalid digit found in string');
  if (Number(text) > most) throw new RangeError('number too large to fit in target type');
  return Number(text);
}

/** The only field of the query of that name. */
export function queryField(ctx: Ctx, name: string): string | undefined {
  const texts = ctx.query.getAll(name);
  if (texts.length > 1) throw new BadRequestException(`query: \`${name}\`: unsupported value`);
  return texts[0];
}
