/** The clock of the machine, for unit tests in Node. */
export const realTime = (): number => Date.now();
