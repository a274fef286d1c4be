import '../platform/install.js';

export const random = Math.random;
Math.random = () => 0.5;
