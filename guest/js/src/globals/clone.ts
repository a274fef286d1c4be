import '../platform/install.js';

export { default as structuredClone } from '@ungap/structured-clone';
