/** Whether a call runs. Outside of a call there are no time, no random bits and no variables, since a component is a snapshot. */
let isRunning = false;

/** The number of the call, for caches of what is the same within a call. */
let number = 0;

export function inCall(): boolean {
  return isRunning;
}

export function callNumber(): number {
  return number;
}

export function beginCall(): void {
  isRunning = true;
  number += 1;
}

export function endCall(): void {
  isRunning = false;
}
