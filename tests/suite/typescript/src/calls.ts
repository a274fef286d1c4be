/** The functions of the host that return payloads, with payloads that the SDK can read. */

import contextSync from 'pointwork:module/context-sync@0.2.0';
import eventsSync from 'pointwork:module/events-sync@0.2.0';
import { raw } from './payloads.js';

export const context: typeof contextSync = { ...contextSync, call: (from, event, payload) => raw(contextSync.call(from, event, payload)) };
export const events: typeof eventsSync = { ...eventsSync, call: (from, event, payload) => raw(eventsSync.call(from, event, payload)) };
