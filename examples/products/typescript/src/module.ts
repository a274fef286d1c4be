/** The controllers of a shop catalogue. All data is behind the events, whose listeners are statements on a database in `pointwork.toml`. */
import { module } from '@pointwork/guest';
import { Health } from './health.js';
import { Products } from './products.js';

export default module({ controllers: [Products, Health], uses: ['db:product:one', 'db:product:update'] });
