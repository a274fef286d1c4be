export { build, type BuildModuleOptions, type Built } from './build.js';
export { bundle, BuildError, bundleOptions, WIT, type Bundle, type BundleOptions } from './bundle.js';
