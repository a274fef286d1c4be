/**
 * Marks in the code of a bundle, by which QuickJS learns places that it does not keep.
 *
 * The engine writes a place for a name that is read, for a call and for `new`, and for nothing else. An error has the place that was written
 * last before the failed instruction of the same function: with `this.none.x` that is the statement before, or no place at all (column 1) if
 * the function has none. A call has the place of its last argument.
 *
 * A mark is a name in a part of a conditional expression that never runs. `0?$0:X` has the value of `X`, and the place of `$0` precedes the
 * instructions of `X`; in `1?X:$0` the place follows them. The compiler of the engine removes the condition and the name, and keeps the place,
 * so that a mark costs some bytes of source text and no time. A mark has the place of its expression in the sources, wherever it stands.
 *
 * Code of the SDK gets no marks, since its frames are not shown, nor does an expression behind a place of the same line.
 */

import { parse, type AnyNode, type Expression, type Function, type Pattern, type Program, type SpreadElement, type Super, type VariableDeclaration } from 'acorn';
import type { Place } from '../stack.js';

const NAME = '$0';
const BEFORE = `0?${NAME}:`;
const STATEMENT = `${BEFORE}0;`;

/** A change of the code. `place` is that of the name in `text`. */
interface Edit {
  at: number;
  /** The number of characters that `text` replaces. */
  removed: number;
  text: string;
  place: Place | undefined;
}

/** The code with marks, and the places at which its lines change, ascending. */
export function withMarks(code: string, places: readonly Place[]): { code: string; places: Place[] } {
  const lookup = new Lookup(code, places);
  let edits: Edit[];
  try {
    edits = new Marker(lookup).edits(parse(code, { ecmaVersion: 'latest', sourceType: 'module', preserveParens: true }));
  } catch {
    // Options of esbuild may let a syntax through that acorn does not know, and an expression may be nested too deep.
    return { code, places: [...places] };
  }
  return apply(code, places, edits, lookup);
}

function apply(code: string, places: readonly Place[], edits: Edit[], lookup: Lookup): { code: string; places: Place[] } {
  const pieces: string[] = [];
  const moved: Place[] = [];
  let next = 0;
  let [read, row, shift] = [0, -1, 0];
  const add = (place: Place): void => {
    const last = moved.at(-1);
    if (place.row !== row) [row, shift] = [place.row, 0];
    const column = place.column + shift;
    if (last && last.row === place.row && last.column === column) moved.pop();
    moved.push({ ...place, column });
  };
  for (const edit of edits) {
    const [atRow, atColumn] = lookup.rowOf(edit.at);
    const isBefore = (place: Place | undefined, column: number): place is Place => place !== undefined && (place.row < atRow || (place.row === atRow && place.column < column));
    for (let place = places[next]; isBefore(place, atColumn); place = places[++next]) add(place);
    // The place of what is removed.
    while (isBefore(places[next], atColumn + edit.removed)) next += 1;
    pieces.push(code.slice(read, edit.at), edit.text);
    read = edit.at + edit.removed;
    if (edit.place) {
      add({ ...edit.place, row: atRow, column: atColumn + edit.text.indexOf(NAME) });
      shift += edit.text.length - edit.removed;
      // What follows the mark has its own place again.
      const after = lookup.at(read);
      if (after) add({ ...after, row: atRow, column: atColumn + edit.removed });
    } else {
      if (atRow !== row) [row, shift] = [atRow, 0];
      shift += edit.text.length - edit.removed;
    }
  }
  for (const place of places.slice(next)) add(place);
  return { code: pieces.join('') + code.slice(read), places: moved };
}

/** Places by offsets of the code. */
class Lookup {
  readonly #starts: number[] = [0];
  readonly #places: readonly Place[];

  constructor(
    readonly code: string,
    places: readonly Place[],
  ) {
    for (let at = code.indexOf('\n'); at >= 0; at = code.indexOf('\n', at + 1)) this.#starts.push(at + 1);
    this.#places = places;
  }

  rowOf(offset: number): [row: number, column: number] {
    const row = lastWhere(this.#starts, (start) => start <= offset);
    return [row, offset - (this.#starts[row] ?? 0)];
  }

  at(offset: number): Place | undefined {
    const [row, column] = this.rowOf(offset);
    return this.#places[lastWhere(this.#places, (place) => place.row < row || (place.row === row && place.column <= column))];
  }
}

/** The index of the last element of an ordered list for which `holds`, or -1. */
function lastWhere<T>(list: readonly T[], holds: (one: T) => boolean): number {
  let [low, high] = [0, list.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (holds(list[middle] as T)) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

type Part = AnyNode | null | undefined;

/** Walks in the order in which the engine writes instructions. */
class Marker {
  readonly #lookup: Lookup;
  readonly #edits: Edit[] = [];
  /** The place in the sources that the engine has at this point of the function, as far as it is known. */
  #known: string | undefined;
  /** The number of places that the engine has of the function. */
  #count = 0;

  constructor(lookup: Lookup) {
    this.#lookup = lookup;
  }

  edits(program: Program): Edit[] {
    this.#list(program.body);
    // Of two marks at one offset, the one that was made first encloses the other. Ends are made last.
    return this.#edits.map((edit, order) => ({ edit, order })).sort((a, b) => a.edit.at - b.edit.at || a.order - b.order).map(({ edit }) => edit);
  }

  #place(offset: number): Place | undefined {
    const place = this.#lookup.at(offset);
    return place && place.file !== 0 ? place : undefined;
  }

  /** The engine writes the place of an offset. */
  #writes(offset: number): void {
    this.#count += 1;
    this.#known = keyOf(this.#lookup.at(offset));
  }

  /** Whether an expression at an offset needs a mark. */
  #needed(offset: number): Place | undefined {
    const place = this.#place(offset);
    return place && keyOf(place) !== this.#known ? place : undefined;
  }

  #mark(at: number, mark: string, place: Place, removed = 0): void {
    // `return[a]=b` has no space.
    const text = mark === BEFORE && /[\w$\u0080-\uffff]/.test(this.#lookup.code[at - 1] ?? '') ? ` ${mark}` : mark;
    this.#edits.push({ at, removed, text, place });
    this.#known = keyOf(place);
    this.#count += 1;
  }

  #end(at: number, text: string): void {
    this.#edits.push({ at, removed: 0, text, place: undefined });
  }

  #statement(node: AnyNode): void {
    this.#known = undefined;
    this.#visit(node);
    this.#known = undefined;
  }

  /** Statements of a block, between which a mark may stand. */
  #list(statements: readonly AnyNode[]): void {
    for (const statement of statements) {
      this.#known = undefined;
      const inner = unlabeled(statement);
      if (inner.type === 'VariableDeclaration') {
        this.#declarations(inner, statement.start);
        continue;
      }
      const place = isPatternLoop(inner) ? this.#needed(inner.start) : undefined;
      if (place) this.#mark(statement.start, STATEMENT, place);
      this.#visit(statement);
    }
    this.#known = undefined;
  }

  /** The code of a pattern precedes that of its value, so that the mark stands before the declaration. */
  #declarations(node: VariableDeclaration, start: number | undefined): void {
    let end = start;
    for (const { id, init, end: after } of node.declarations) {
      const place = isPattern(id) && init && start !== undefined ? this.#needed(id.start) : undefined;
      if (place && end === start) this.#mark(start!, STATEMENT, place);
      else if (place) {
        const comma = this.#lookup.code.indexOf(',', end);
        // A comment may have a comma too.
        if (/^[\s,]*$/.test(this.#lookup.code.slice(end, id.start))) this.#mark(comma, `;${STATEMENT}${node.kind}`, place, 1);
      }
      this.#pattern(id);
      this.#visit(init);
      end = after;
    }
  }

  #visit(node: Part): void {
    if (!node) return;
    switch (node.type) {
      case 'Identifier':
        return this.#writes(node.start);
      case 'MemberExpression':
        this.#object(node.object);
        if (node.computed) this.#visit(node.property);
        return;
      case 'CallExpression':
        return this.#call(node.callee, node.arguments, node.end);
      case 'NewExpression':
        this.#writes(node.callee.start);
        return this.#call(node.callee, node.arguments, node.end);
      case 'AssignmentExpression':
        return this.#assignment(node);
      case 'FunctionDeclaration':
      case 'FunctionExpression':
      case 'ArrowFunctionExpression':
        return this.#function(node);
      case 'VariableDeclaration':
        return this.#declarations(node, undefined);
      case 'ObjectPattern':
      case 'ArrayPattern':
      case 'RestElement':
      case 'AssignmentPattern':
        return this.#pattern(node);
      case 'Property':
        if (node.computed) this.#visit(node.key);
        return this.#visit(node.value);
      case 'MethodDefinition':
        if (node.computed) this.#visit(node.key);
        return this.#visit(node.value);
      case 'PropertyDefinition':
        if (node.computed) this.#visit(node.key);
        this.#scope(() => this.#visit(node.value));
        return;
      case 'ClassDeclaration':
      case 'ClassExpression':
        this.#visit(node.superClass);
        return this.#visit(node.body);
      case 'StaticBlock':
        this.#scope(() => this.#list(node.body));
        return;
      case 'BlockStatement':
        return this.#list(node.body);
      case 'SwitchCase':
        this.#visit(node.test);
        return this.#list(node.consequent);
      case 'ForStatement':
        for (const part of [node.init, node.test, node.update]) {
          this.#known = undefined;
          this.#visit(part);
        }
        return this.#body(node.body);
      case 'ForInStatement':
      case 'ForOfStatement':
        if (node.left.type === 'VariableDeclaration') this.#declarations(node.left, undefined);
        else if (node.left.type !== 'Identifier') this.#visit(node.left);
        this.#known = undefined;
        this.#visit(node.right);
        return this.#body(node.body);
      case 'IfStatement':
        this.#visit(node.test);
        this.#body(node.consequent);
        return node.alternate ? this.#body(node.alternate) : undefined;
      case 'WhileStatement':
        this.#known = undefined;
        this.#visit(node.test);
        return this.#body(node.body);
      case 'LabeledStatement':
        return this.#visit(node.body);
      case 'CatchClause':
        if (node.param) this.#pattern(node.param);
        return this.#list(node.body.body);
      case 'BreakStatement':
      case 'ContinueStatement':
      case 'ExportAllDeclaration':
      case 'ExportNamedDeclaration':
      case 'ImportDeclaration':
      case 'MetaProperty':
        return;
      default:
        for (const part of partsOf(node)) this.#visit(part);
    }
  }

  /** A statement that stands alone, as behind `if (…)`. */
  #body(node: AnyNode): void {
    const inner = unlabeled(node);
    this.#known = undefined;
    const place = isPatternLoop(inner) ? this.#needed(inner.start) : undefined;
    if (place) this.#mark(node.start, `{${STATEMENT}`, place);
    this.#statement(node);
    if (place) this.#end(node.end, '}');
  }

  /** The object of a member. The engine writes a place for objects that begin with a name or a call. */
  #object(node: Expression | Super): void {
    if (node.type === 'Super') return;
    const needed = hasPlace(node) ? undefined : this.#needed(node.start);
    if (!needed) return this.#visit(node);
    if (node.type === 'ParenthesizedExpression') {
      this.#mark(node.start + 1, BEFORE, needed);
      return this.#visit(node);
    }
    this.#mark(node.start, `(${BEFORE}`, needed);
    this.#visit(node);
    this.#end(node.end, ')');
  }

  /** A call has the place of the token behind its parenthesis, and then those of its arguments. */
  #call(callee: Expression | Super, given: readonly (Expression | SpreadElement)[], end: number): void {
    this.#visit(callee);
    const place = this.#place(callee.type === 'MemberExpression' ? callee.property.start : callee.start);
    const last = given.at(-1);
    if (given.length > 0 || this.#lookup.code[end - 1] === ')') this.#writes(given[0]?.start ?? end - 1);
    for (const one of given.slice(0, -1)) this.#visit(one);
    if (!last) return;
    const wrapped = this.#edits.length;
    this.#visit(last);
    const needed = place && last.type !== 'SpreadElement' && keyOf(place) !== this.#known;
    // The manifest finds events by the source text of calls, in which the name follows the parenthesis.
    if (!needed || (given.length === 1 && (last.type === 'Literal' || last.type === 'TemplateLiteral'))) return;
    // The begin of the argument encloses the marks within.
    this.#edits.splice(wrapped, 0, { at: last.start, removed: 0, text: '1?', place: undefined });
    this.#mark(last.end, `:${NAME}`, place);
  }

  #assignment(node: Extract<AnyNode, { type: 'AssignmentExpression' }>): void {
    const needed = isPattern(node.left) ? this.#needed(node.start) : undefined;
    if (needed) this.#mark(node.start, BEFORE, needed);
    if (node.left.type !== 'Identifier' || node.operator !== '=') this.#visit(node.left);
    this.#visit(node.right);
  }

  /** The names that a pattern binds have no place; its defaults and computed names have. */
  #pattern(node: Pattern): void {
    switch (node.type) {
      case 'ObjectPattern':
        for (const part of node.properties) {
          if (part.type === 'RestElement') this.#pattern(part);
          else {
            if (part.computed) this.#visit(part.key);
            this.#pattern(part.value);
          }
        }
        return;
      case 'ArrayPattern':
        for (const part of node.elements) if (part) this.#pattern(part);
        return;
      case 'RestElement':
        return this.#pattern(node.argument);
      case 'AssignmentPattern':
        this.#pattern(node.left);
        return this.#visit(node.right);
      case 'MemberExpression':
        // A parenthesis within a pattern is not worth its risk.
        return;
      default:
    }
  }

  /** Code that the engine compiles as a function of its own. */
  #scope(visit: () => void): number {
    const [known, count] = [this.#known, this.#count];
    [this.#known, this.#count] = [undefined, 0];
    visit();
    const own = this.#count;
    [this.#known, this.#count] = [known, count];
    return own;
  }

  #function(node: Function & AnyNode): void {
    const { body, params } = node;
    const first = this.#edits.length;
    const own = this.#scope(() => {
      for (const param of params) this.#pattern(param);
      if (body.type === 'BlockStatement') this.#list(body.body);
      else this.#visit(body);
    });
    // Without any place, an error has that of no line, also one of a pattern among the parameters.
    const place = own === 0 && params.some(isPattern) ? this.#place(node.start) : undefined;
    if (!place) return;
    const isBlock = body.type === 'BlockStatement';
    this.#edits.splice(first, 0, { at: isBlock ? body.end - 1 : body.start, removed: 0, text: isBlock ? `;${BEFORE}0` : BEFORE, place });
  }
}

function keyOf(place: Place | undefined): string | undefined {
  return place && `${place.file}:${place.line}`;
}

function unlabeled(node: AnyNode): AnyNode {
  return node.type === 'LabeledStatement' ? unlabeled(node.body) : node;
}

function isPattern(node: AnyNode): boolean {
  return node.type === 'ObjectPattern' || node.type === 'ArrayPattern' || (node.type === 'AssignmentPattern' && isPattern(node.left));
}

/** Whether a loop takes its elements apart. */
function isPatternLoop(node: AnyNode): boolean {
  if (node.type !== 'ForOfStatement' && node.type !== 'ForInStatement') return false;
  const target = node.left.type === 'VariableDeclaration' ? node.left.declarations[0]?.id : node.left;
  return target !== undefined && isPattern(target);
}

/** Whether the first that the engine writes for an expression is a place. */
function hasPlace(node: AnyNode): boolean {
  switch (node.type) {
    case 'Identifier':
    case 'NewExpression':
    case 'ImportExpression':
    case 'CallExpression':
    case 'ChainExpression':
    case 'TaggedTemplateExpression':
      return true;
    case 'MemberExpression':
      // Its own object gets the mark.
      return node.object.type !== 'Super';
    case 'ParenthesizedExpression':
      return hasPlace(node.expression);
    case 'BinaryExpression':
    case 'LogicalExpression':
    case 'AssignmentExpression':
      return hasPlace(node.left);
    case 'ConditionalExpression':
      return hasPlace(node.test);
    case 'SequenceExpression':
      return node.expressions[0] !== undefined && hasPlace(node.expressions[0]);
    default:
      return false;
  }
}

/** The parts of a node that has no rule, in the order of the source. */
function partsOf(node: AnyNode): AnyNode[] {
  const parts = Object.values(node as unknown as Record<string, unknown>).flatMap((value) => (Array.isArray(value) ? (value as unknown[]) : [value]));
  return parts.filter((part): part is AnyNode => typeof (part as AnyNode | null)?.type === 'string').sort((a, b) => a.start - b.start);
}
