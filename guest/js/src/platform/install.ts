/** What QuickJS lacks of the platform. The entry of a component imports this first. */

import { installAsyncGenerators } from './async-generator.js';
import { installConsole } from './console.js';
import { Blob, File, FormData, Request, Response } from './fetch-types.js';
import { Headers } from './headers.js';
import { installPromise } from './promise.js';
import { installRandom } from './random.js';
import { TextDecoder, TextEncoder } from './text.js';
import { installTime } from './time.js';
import { URLSearchParams } from './url-search-params.js';

// QuickJS keeps ten frames, which a package can fill with its own.
Error.stackTraceLimit = 50;
installPromise();
installAsyncGenerators();
installTime();
installRandom();
installConsole();
Object.assign(globalThis, { TextDecoder, TextEncoder, URLSearchParams, Blob, File, FormData, Headers, Request, Response, self: globalThis });
