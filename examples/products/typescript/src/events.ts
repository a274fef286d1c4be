/** The event map: the events between controllers and database, with their types. */
import type { IOEvent } from '@pointwork/guest';

export interface NewProduct {
  sku: string;
  name: string;
  price_cents: number;
  description: string;
}

export interface Product extends NewProduct {
  id: number;
}

/** The fields of a product that change; `null` leaves one as it is. */
export type Change = { id: number } & { [Field in keyof NewProduct]: NewProduct[Field] | null };

export interface Events {
  'db:product:all': IOEvent<{ limit: number; offset: number }, Product[]>;
  'db:product:count': IOEvent<null, { products: number }>;
  'db:product:one': IOEvent<number, Product | null>;
  'db:product:search': IOEvent<{ text: string; limit: number }, Product[]>;
  'db:product:create': IOEvent<NewProduct, Product>;
  'db:product:update': IOEvent<Change, Product | null>;
  'db:product:delete': IOEvent<number, number>;
  'db:product:views': IOEvent<number, { id: number; views: number } | null>;
  'product:viewed': number;
  'response:send': string;
}
