import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { validate } from '../../server/validate.ts';
import { AppError } from '../../src/platform/errors.ts';

const Text = z.union([z.string().min(1), z.array(z.string().min(1)).min(1).max(3)]);

function faultOf(schema: z.ZodType, value: unknown): { message: string; param: string | null } {
  try {
    validate(schema, value);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    expect([error.status, error.code]).toEqual([400, 'invalid_request']);
    return { message: error.message, param: error.param };
  }
  throw new Error('nothing is wrong with it');
}

describe('validate', () => {
  test('a fault that two rules of a schema find is told once', () => {
    const schema = z.object({ n: z.coerce.number().int().max(Number.MAX_SAFE_INTEGER) });
    expect(faultOf(schema, { n: '99999999999999999999' }).message).toBe('n: must be at most 9007199254740991');
  });

  test('validate returns the output of the schema', () => {
    const schema = z.object({ n: z.coerce.number(), d: z.string().default('x') });
    expect(validate(schema, { n: '3', other: 1 })).toEqual({ n: 3, d: 'x' });
  });

  test.each([
    [z.object({ a: z.string() }), {}, 'a: is required', 'a'],
    [z.object({ a: z.string() }), { a: 1 }, 'a: must be a string', 'a'],
    [z.object({ a: z.string() }), { a: null }, 'a: must be a string', 'a'],
    [z.object({ a: z.int() }), { a: 1.5 }, 'a: must be an integer', 'a'],
    [z.object({ a: z.number().int().min(1) }), { a: 0 }, 'a: must be at least 1', 'a'],
    [z.object({ a: z.number().gt(1) }), { a: 1 }, 'a: must be more than 1', 'a'],
    [z.object({ a: z.number().max(9) }), { a: 10 }, 'a: must be at most 9', 'a'],
    [z.object({ a: z.boolean() }), { a: 'yes' }, 'a: must be true or false', 'a'],
    [z.object({ a: z.string().min(1) }), { a: '' }, 'a: must not be empty', 'a'],
    [z.object({ a: z.string().max(3) }), { a: 'abcd' }, 'a: must have at most 3 characters', 'a'],
    [z.object({ a: z.string().length(1) }), { a: '' }, 'a: must have exactly 1 character', 'a'],
    [z.object({ a: z.array(z.string()).max(1) }), { a: ['a', 'b'] }, 'a: must have at most 1 item', 'a'],
    [z.object({ a: z.enum(['x', 'y']) }), { a: 'z' }, 'a: must be one of "x", "y"', 'a'],
    [z.object({ a: z.literal('x') }), { a: 'z' }, 'a: must be "x"', 'a'],
    [
      z.object({ a: z.object({ b: z.array(z.object({ c: z.string() })) }) }),
      { a: { b: [{}] } },
      'a.b[0].c: is required',
      'a.b[0].c',
    ],
    [z.record(z.string(), z.string()), { 'a b': 1 }, '["a b"]: must be a string', '["a b"]'],
    [z.strictObject({}), { x: 1 }, 'unknown field "x"', null],
    [z.object({ a: z.url() }), { a: 'x' }, 'a: must be a valid url', 'a'],
    [z.object({ a: z.string().regex(/^x/) }), { a: 'y' }, 'a: does not have the expected form', 'a'],
    [z.object({ a: z.string('must be a name') }), { a: 1 }, 'a: must be a name', 'a'],
    [z.object({ a: z.number().refine((n) => n % 2 === 0, 'must be even') }), { a: 1 }, 'a: must be even', 'a'],
    [z.object({}), [], 'must be an object', null],
  ])('case %#: a fault is described with its place', (schema, value, message, param) => {
    expect(faultOf(schema, value)).toEqual({ message, param });
  });

  test('a fault of a union is that of the branch that parsed furthest', () => {
    const schema = z.object({ input: Text });
    expect(faultOf(schema, { input: ['a', 3] })).toEqual({ message: 'input[1]: must be a string', param: 'input[1]' });
    expect(faultOf(schema, { input: 3 }).message).toBe('input: must be a string, or must be an array');
    expect(faultOf(schema, { input: ['a', 'b', 'c', 'd'] }).message).toBe('input: must have at most 3 items');
    expect(faultOf(schema, { input: '' }).message).toBe('input: must not be empty');
    expect(faultOf(schema, { input: [] }).message).toBe('input: must not be empty');
    expect(faultOf(schema, {}).message).toBe('input: is required');
  });

  test('the first three faults are shown and the others counted', () => {
    const schema = z.object({ input: z.array(z.string()) });
    expect(faultOf(schema, { input: [1, 2, 3, 4, 5] })).toEqual({
      message: 'input[0]: must be a string; input[1]: must be a string; input[2]: must be a string; and 2 more',
      param: 'input[0]',
    });
  });

  test('a fault repeats no value that was sent, and bounds the keys that it shows', () => {
    const key = 'k'.repeat(10_000);
    const { message } = faultOf(z.record(z.string(), z.string()), { [key]: { secret: 'hunter2' } });
    expect(message).not.toContain('hunter2');
    expect(message.length).toBeLessThan(400);
    expect(faultOf(z.strictObject({}), { [key]: 1 }).message.length).toBeLessThan(400);
  });
});
