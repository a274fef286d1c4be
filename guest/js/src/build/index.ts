export { build, develop, type BuildModuleOptions, type Built, type Developed, type Found } from './build.js';
export { bundle, BuildError, bundleOptions, WIT, type Bundle, type BundleOptions } from './bundle.js';
