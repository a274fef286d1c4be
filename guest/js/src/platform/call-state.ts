/** Whether a call runs. Outside of a call there are no time, no random bits and no variables, since a component is a snapshot. */
let isRunning = false;

/** Caches of what is the same within a call. */
const resets: (() => void)[] = [];

export function inCall(): boolean {
  return isRunning;
}

export function beginCall(): void {
  isRunning = true;
  for (const reset of resets) reset();
}

export function endCall(): void {
  isRunning = false;
}

export function onBegin(reset: () => void): void {
  resets.push(reset);
}
