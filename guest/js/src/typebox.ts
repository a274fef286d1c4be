import { MOST_FIELDS, type SchemaIssue, type StandardSchema } from './validation.js';

/** What TypeBox's `TypeCompiler.Compile(schema)`, `Compile(schema)` of `typebox/compile`, and `Value` with a schema have. */
interface TypeBoxCheck {
  Check(value: unknown): boolean;
  Errors(value: unknown): Iterable<{ path?: string; instancePath?: string; message: string }>;
}

/**
 * A validator of TypeBox as a Standard Schema: `fromTypeBox<Static<typeof schema>>(Compile(schema))`. A compiled validator makes code by
 * `new Function` when the module is built, which a module can.
 */
export function fromTypeBox<T>(validator: TypeBoxCheck): StandardSchema<unknown, T> {
  return {
    '~standard': {
      version: 1,
      vendor: 'typebox',
      validate(value) {
        if (validator.Check(value)) return { value: value as T };
        const issues: SchemaIssue[] = [];
        for (const { path, instancePath, message } of validator.Errors(value)) {
          const pointer = path ?? instancePath ?? '';
          const keys = pointer.split('/').slice(1);
          issues.push({ message, path: keys.map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~')) });
          // A reply has no more of them.
          if (issues.length > MOST_FIELDS) break;
        }
        return { issues };
      },
    },
  };
}
