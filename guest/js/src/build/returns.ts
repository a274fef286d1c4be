/** Finds guards that can end without a return, in the source text that the bundler makes of them. */

import { parse, type AnyNode, type Expression, type Function, type ModuleDeclaration, type Statement } from 'acorn';

/** How control leaves a statement: it goes on behind it, leaves a loop or `switch` by a `break`, or returns no value. */
interface Ends {
  goesOn: boolean;
  /** The labels of its breaks; an empty one for those without a label. */
  breaks: Set<string>;
  returnsNothing: boolean;
}

/** Whether a function can end without a return, or with one that has no value. Of a text that cannot be read nothing is known. */
export function canReturnNothing(source: string): boolean {
  const found = functionOf(source);
  if (!found) return false;
  const { body } = innermost(found);
  if (body.type !== 'BlockStatement') return isNothing(body);
  const { goesOn, returnsNothing } = ofAll(body.body);
  return goesOn || returnsNothing;
}

/** Whether a function is a generator, asynchronous or not: a call runs none of its code. */
export function isGenerator(source: string): boolean {
  const found = functionOf(source);
  return found !== undefined && (found.generator || helperOf(found)?.name === '__asyncGenerator');
}

/** A function, or a method as it stands in its class. */
function functionOf(source: string): Function | undefined {
  for (const text of [`(${source})`, `({${source}})`]) {
    try {
      const [statement] = parse(text, { ecmaVersion: 'latest', checkPrivateFields: false, allowSuperOutsideMethod: true } as Parameters<typeof parse>[1]).body;
      if (statement?.type !== 'ExpressionStatement') continue;
      const { expression } = statement;
      if (isFunction(expression)) return expression;
      const property = expression.type === 'ObjectExpression' ? expression.properties[0] : undefined;
      if (property?.type === 'Property' && isFunction(property.value)) return property.value;
    } catch {
      // It is the other form.
    }
  }
  return undefined;
}

function isFunction(node: AnyNode): node is Extract<AnyNode, Function> {
  return node.type === 'FunctionExpression' || node.type === 'ArrowFunctionExpression';
}

/** The body of an `async` function. */
function innermost(of: Function): Function {
  const helper = helperOf(of);
  return helper?.name === '__async' ? helper.inner : of;
}

/** The helper of the bundler for an `async` function or generator, and the generator that the bundler makes of the body. */
function helperOf(of: Function): { name: string; inner: Function } | undefined {
  const [statement] = of.body.type === 'BlockStatement' ? of.body.body : [];
  const only = of.body.type === 'BlockStatement' ? (statement?.type === 'ReturnStatement' ? statement.argument : undefined) : of.body;
  if (only?.type !== 'CallExpression' || only.callee.type !== 'Identifier') return undefined;
  const inner = only.arguments[2];
  return inner && isFunction(inner) ? { name: only.callee.name.replace(/\d+$/, ''), inner } : undefined;
}

function ofAll(statements: readonly (Statement | ModuleDeclaration)[]): Ends {
  const ends: Ends = { goesOn: true, breaks: new Set(), returnsNothing: false };
  for (const statement of statements) {
    if (!ends.goesOn) break;
    const { goesOn } = add(ends, of(statement));
    ends.goesOn = goesOn;
  }
  return ends;
}

/** Adds the ways in which a part ends to those of the whole, except for its own end. */
function add(whole: Ends, part: Ends): Ends {
  for (const label of part.breaks) whole.breaks.add(label);
  whole.returnsNothing ||= part.returnsNothing;
  return part;
}

function of(node: Statement | ModuleDeclaration): Ends {
  const ends: Ends = { goesOn: true, breaks: new Set(), returnsNothing: false };
  switch (node.type) {
    case 'BlockStatement':
      return ofAll(node.body);
    case 'ReturnStatement':
      return { ...ends, goesOn: false, returnsNothing: !node.argument || isNothing(node.argument) };
    case 'ThrowStatement':
    case 'ContinueStatement':
      return { ...ends, goesOn: false };
    case 'BreakStatement':
      return { ...ends, goesOn: false, breaks: new Set([node.label?.name ?? '']) };
    case 'ExpressionStatement':
      return { ...ends, goesOn: !isThrown(node.expression) };
    case 'IfStatement': {
      const parts = [add(ends, of(node.consequent)), ...(node.alternate ? [add(ends, of(node.alternate))] : [])];
      ends.goesOn = !node.alternate || parts.some(({ goesOn }) => goesOn);
      return ends;
    }
    case 'LabeledStatement': {
      const { goesOn } = add(ends, of(node.body));
      ends.goesOn = ends.breaks.delete(node.label.name) || goesOn;
      return ends;
    }
    case 'SwitchStatement': {
      const all = node.cases.map(({ consequent }) => add(ends, ofAll(consequent)).goesOn);
      const hasDefault = node.cases.some(({ test }) => !test);
      ends.goesOn = ends.breaks.delete('') || !hasDefault || all.at(-1) === true;
      return ends;
    }
    case 'WhileStatement':
    case 'DoWhileStatement':
    case 'ForStatement':
      add(ends, of(node.body));
      ends.goesOn = ends.breaks.delete('') || !(node.test === null || node.test === undefined || isTrue(node.test));
      return ends;
    case 'ForInStatement':
    case 'ForOfStatement':
      add(ends, of(node.body));
      ends.breaks.delete('');
      return ends;
    case 'TryStatement': {
      const parts = [add(ends, of(node.block)), ...(node.handler ? [add(ends, of(node.handler.body))] : [])];
      const last = node.finalizer ? add(ends, of(node.finalizer)) : undefined;
      ends.goesOn = parts.some(({ goesOn }) => goesOn) && last?.goesOn !== false;
      return ends;
    }
    default:
      return ends;
  }
}

/** `true`, which the bundler writes as `!0`. */
function isTrue(test: Expression): boolean {
  if (test.type === 'UnaryExpression') return test.operator === '!' && test.argument.type === 'Literal' && !test.argument.value;
  return test.type === 'Literal' && Boolean(test.value);
}

/** `undefined` or `void 0`, also as one of the values of a condition. */
function isNothing(value: Expression): boolean {
  switch (value.type) {
    case 'UnaryExpression':
      return value.operator === 'void';
    case 'Identifier':
      return value.name === 'undefined';
    case 'ConditionalExpression':
      return isNothing(value.consequent) || isNothing(value.alternate);
    case 'LogicalExpression':
      return isNothing(value.right);
    case 'SequenceExpression':
      return value.expressions.length > 0 && isNothing(value.expressions.at(-1) as Expression);
    default:
      return false;
  }
}

/** `ctx.throw(401)`, which does not return. */
function isThrown(expression: Expression): boolean {
  if (expression.type === 'SequenceExpression') return expression.expressions.some(isThrown);
  if (expression.type !== 'CallExpression' || expression.callee.type !== 'MemberExpression') return false;
  const { property } = expression.callee;
  return property.type === 'Identifier' && property.name === 'throw';
}
