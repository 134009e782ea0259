/* pickle.c -- see pickle.h. A stack machine as Python's, whose values are plain data. Each opcode
 * makes at most one value, so memory grows at most linearly with the input. */
#include "compiler/pickle/pickle.h"

#include <string.h>

typedef struct PickleMachine {
  Arena *arena;
  const uint8_t *at, *first, *end;
  VEC(PickleValue *) stack;
  VEC(PickleValue *) memo;
  VEC(int32_t) marks; /* heights of the stack */
  bool is_over;
  const char *why; /* NULL: nothing is wrong */
} PickleMachine;

static bool fail(PickleMachine *m, const char *why) {
  if (m->why == NULL) m->why = why;
  return false;
}

/* ---- reading */

static bool take(PickleMachine *m, size_t count, const uint8_t **bytes) {
  if ((size_t)(m->end - m->at) < count) return fail(m, "the bytes end within it");
  *bytes = m->at;
  m->at += count;
  return true;
}

/* Little-endian. */
static bool number(PickleMachine *m, int32_t bytes, uint64_t *value) {
  const uint8_t *at;
  if (!take(m, (size_t)bytes, &at)) return false;
  *value = 0;
  for (int32_t i = bytes; i-- > 0;)
    *value = *value << 8 | at[i];
  return true;
}

static bool skip(PickleMachine *m, int32_t bytes) {
  uint64_t ignored;
  return number(m, bytes, &ignored);
}
static bool skip_1(PickleMachine *m) {
  return skip(m, 1);
}
static bool skip_8(PickleMachine *m) {
  return skip(m, 8);
}

/* ---- the stack */

static int32_t height(const PickleMachine *m) {
  return m->stack.count - (m->marks.count > 0 ? m->marks.at[m->marks.count - 1] : 0);
}

static PickleValue *push(PickleMachine *m, PickleKind kind) {
  PickleValue *value = ARENA_NEW(m->arena, PickleValue);
  value->kind = kind;
  VEC_PUSH(m->arena, &m->stack, value);
  return value;
}

static PickleValue *pop_one(PickleMachine *m) {
  if (height(m) > 0) return m->stack.at[--m->stack.count];
  (void)fail(m, "the stack has no value for it");
  return NULL;
}

static bool mark(PickleMachine *m) {
  VEC_PUSH(m->arena, &m->marks, m->stack.count);
  return true;
}

/* The values above the last mark, which goes: they are at m->stack.at[*first] and after. */
static bool to_mark(PickleMachine *m, int32_t *first) {
  if (m->marks.count == 0) return fail(m, "there is no mark");
  *first = m->marks.at[--m->marks.count];
  return true;
}

static bool stop(PickleMachine *m) {
  m->is_over = true;
  return (m->stack.count == 1 && m->marks.count == 0) || fail(m, "there is not one value");
}

static bool none(PickleMachine *m) {
  return push(m, PICKLE_NONE) != NULL;
}
static bool new_true(PickleMachine *m) {
  push(m, PICKLE_BOOL)->number = 1;
  return true;
}
static bool new_false(PickleMachine *m) {
  return push(m, PICKLE_BOOL) != NULL;
}

static bool push_int(PickleMachine *m, int32_t bytes) {
  uint64_t value;
  if (!number(m, bytes, &value)) return false;
  if (bytes == 4) value = (uint64_t)(int64_t)(int32_t)(uint32_t)value;
  push(m, PICKLE_INT)->number = (int64_t)value;
  return true;
}
static bool int_1(PickleMachine *m) {
  return push_int(m, 1);
}
static bool int_2(PickleMachine *m) {
  return push_int(m, 2);
}
static bool int_4(PickleMachine *m) {
  return push_int(m, 4);
}

/* Up to 8 bytes, the last with the sign. */
static bool long_1(PickleMachine *m) {
  uint64_t bytes, value;
  if (!number(m, 1, &bytes)) return false;
  if (bytes > 8) return fail(m, "an int has more than 64 bits");
  if (!number(m, (int32_t)bytes, &value)) return false;
  if (bytes > 0 && bytes < 8 && (value >> (8 * bytes - 1) & 1) != 0) value |= ~0ull << (8 * bytes);
  push(m, PICKLE_INT)->number = (int64_t)value;
  return true;
}

static bool push_text(PickleMachine *m, int32_t width) {
  uint64_t bytes;
  const uint8_t *at;
  if (!number(m, width, &bytes) || !take(m, (size_t)bytes, &at)) return false;
  if (memchr(at, 0, (size_t)bytes) != NULL) return fail(m, "a text holds a zero byte");
  push(m, PICKLE_TEXT)->text = arena_copy_n(m->arena, (const char *)at, (size_t)bytes);
  return true;
}
static bool text_1(PickleMachine *m) {
  return push_text(m, 1);
}
static bool text_4(PickleMachine *m) {
  return push_text(m, 4);
}

/* ---- rows and dicts */

static bool empty_row(PickleMachine *m) {
  return push(m, PICKLE_ROW) != NULL;
}
static bool empty_dict(PickleMachine *m) {
  return push(m, PICKLE_DICT) != NULL;
}

/* Moves the values from `first` on into `to`, and off the stack. */
static void move(PickleMachine *m, int32_t first, PickleValue *to) {
  for (int32_t i = first; i < m->stack.count; i++)
    VEC_PUSH(m->arena, &to->item, m->stack.at[i]);
  m->stack.count = first;
}

static bool row_of(PickleMachine *m, int32_t count) {
  PickleValue *made = ARENA_NEW(m->arena, PickleValue);
  if (height(m) < count) return fail(m, "the stack has no value for it");
  made->kind = PICKLE_ROW;
  move(m, m->stack.count - count, made);
  VEC_PUSH(m->arena, &m->stack, made);
  return true;
}
static bool row_1(PickleMachine *m) {
  return row_of(m, 1);
}
static bool row_2(PickleMachine *m) {
  return row_of(m, 2);
}
static bool row_3(PickleMachine *m) {
  return row_of(m, 3);
}
static bool row(PickleMachine *m) {
  int32_t first;
  return to_mark(m, &first) && row_of(m, m->stack.count - first);
}

/* Puts values from `first` on into the one below them, of that kind. */
static bool put_into(PickleMachine *m, int32_t first, PickleKind kind) {
  int32_t floor = m->stack.count - height(m);
  if (first - 1 < floor || m->stack.at[first - 1]->kind != kind)
    return fail(m, kind == PICKLE_DICT ? "it sets an item of what is no dict"
                                       : "it adds to what is no list");
  if (kind == PICKLE_DICT && (m->stack.count - first) % 2 != 0)
    return fail(m, "a key has no value");
  move(m, first, m->stack.at[first - 1]);
  return true;
}
static bool append(PickleMachine *m) {
  return put_into(m, m->stack.count - 1, PICKLE_ROW);
}
static bool appends(PickleMachine *m) {
  int32_t first;
  return to_mark(m, &first) && put_into(m, first, PICKLE_ROW);
}
static bool set_item(PickleMachine *m) {
  return put_into(m, m->stack.count - 2, PICKLE_DICT);
}
static bool set_items(PickleMachine *m) {
  int32_t first;
  return to_mark(m, &first) && put_into(m, first, PICKLE_DICT);
}

/* ---- classes and objects */

static bool push_class(PickleMachine *m, const char *module, const char *name) {
  static const char *const classes[][2] = {
#define CLASS(of, named) {of, named},
#include "compiler/pickle/pickle.def"
#undef CLASS
  };
  for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
    if (strcmp(classes[i][0], module) == 0 && strcmp(classes[i][1], name) == 0) {
      push(m, PICKLE_CLASS)->text = arena_printf(m->arena, "%s.%s", module, name);
      return true;
    }
  return fail(m, arena_printf(m->arena, "the class %.80s.%.80s is none that checkpoints have",
                              text_plain(m->arena, module), text_plain(m->arena, name)));
}

static const char *line(PickleMachine *m) {
  const uint8_t *from = m->at, *end = memchr(m->at, '\n', (size_t)(m->end - m->at));
  if (end == NULL || memchr(from, 0, (size_t)(end - from)) != NULL) {
    (void)fail(m, "the bytes end within it");
    return NULL;
  }
  m->at = end + 1;
  return arena_copy_n(m->arena, (const char *)from, (size_t)(end - from));
}

static bool class_lines(PickleMachine *m) {
  const char *module = line(m), *name = module != NULL ? line(m) : NULL;
  return name != NULL && push_class(m, module, name);
}

static bool class_stack(PickleMachine *m) {
  const PickleValue *name = pop_one(m), *module = name != NULL ? pop_one(m) : NULL;
  if (module == NULL) return false;
  if (module->kind != PICKLE_TEXT || name->kind != PICKLE_TEXT)
    return fail(m, "a class has no name");
  return push_class(m, module->text, name->text);
}

static bool object(PickleMachine *m) {
  PickleValue *arguments = pop_one(m), *class = arguments != NULL ? pop_one(m) : NULL;
  if (class == NULL) return false;
  if (class->kind != PICKLE_CLASS || arguments->kind != PICKLE_ROW)
    return fail(m, "it makes an object of what is no class");
  PickleValue *made = push(m, PICKLE_OBJECT);
  VEC_PUSH(m->arena, &made->item, class);
  VEC_PUSH(m->arena, &made->item, arguments);
  return true;
}

static bool build(PickleMachine *m) {
  PickleValue *state = pop_one(m);
  if (state == NULL) return false;
  if (height(m) == 0 || m->stack.at[m->stack.count - 1]->kind != PICKLE_OBJECT)
    return fail(m, "it gives a state to what is no object");
  PickleValue *made = m->stack.at[m->stack.count - 1];
  made->item.count = 2;
  VEC_PUSH(m->arena, &made->item, state);
  return true;
}

static bool storage(PickleMachine *m) {
  PickleValue *name = pop_one(m);
  if (name == NULL) return false;
  PickleValue *made = push(m, PICKLE_STORAGE);
  VEC_PUSH(m->arena, &made->item, name);
  return true;
}

/* ---- the memo */

static bool memoize(PickleMachine *m) {
  if (height(m) == 0) return fail(m, "the stack has no value for it");
  VEC_PUSH(m->arena, &m->memo, m->stack.at[m->stack.count - 1]);
  return true;
}

/* Numbers ascend by one in what Python writes. */
static bool put(PickleMachine *m, int32_t width) {
  uint64_t at;
  if (!number(m, width, &at)) return false;
  if (at != (uint64_t)m->memo.count) return fail(m, "the memo is not filled in order");
  return memoize(m);
}
static bool put_1(PickleMachine *m) {
  return put(m, 1);
}
static bool put_4(PickleMachine *m) {
  return put(m, 4);
}

static bool get(PickleMachine *m, int32_t width) {
  uint64_t at;
  if (!number(m, width, &at)) return false;
  if (at >= (uint64_t)m->memo.count) return fail(m, "the memo has no such value");
  VEC_PUSH(m->arena, &m->stack, m->memo.at[at]);
  return true;
}
static bool get_1(PickleMachine *m) {
  return get(m, 1);
}
static bool get_4(PickleMachine *m) {
  return get(m, 4);
}

/* ---- the whole */

typedef struct Opcode {
  const char *name; /* NULL: refused */
  bool (*run)(PickleMachine *m);
} Opcode;

static const Opcode opcodes[256] = {
#define OP(code, NAME, handler) [code] = {#NAME, handler},
#include "compiler/pickle/pickle.def"
#undef OP
};

PickleValue *pickle_read(Arena *arena, const void *bytes, size_t count,
                         char why[PICKLE_WHY_BYTES]) {
  PickleMachine m = {.arena = arena, .at = bytes, .first = bytes};
  m.end = m.first + count;
  while (!m.is_over) {
    long long offset = m.at - m.first;
    if (m.at == m.end) {
      snprintf(why, PICKLE_WHY_BYTES, "byte %lld: the pickle ends without STOP", offset);
      return NULL;
    }
    const Opcode *opcode = &opcodes[*m.at++];
    if (opcode->name == NULL) {
      snprintf(why, PICKLE_WHY_BYTES, "byte %lld: opcode 0x%02x is none that checkpoints have",
               offset, m.at[-1]);
      return NULL;
    }
    if (opcode->run(&m)) continue;
    snprintf(why, PICKLE_WHY_BYTES, "byte %lld, opcode %s: %.180s", offset, opcode->name, m.why);
    return NULL;
  }
  return m.stack.at[0];
}

/* ---- looking */

bool pickle_is(const PickleValue *value, const char *class) {
  return value != NULL && value->kind == PICKLE_OBJECT &&
         strcmp(value->item.at[0]->text, class) == 0;
}

const PickleValue *pickle_get(const PickleValue *value, const char *key) {
  if (value != NULL && value->kind == PICKLE_OBJECT)
    value = value->item.count > 2 ? value->item.at[2] : NULL;
  if (value == NULL || value->kind != PICKLE_DICT) return NULL;
  for (int32_t i = 0; i + 1 < value->item.count; i += 2)
    if (value->item.at[i]->kind == PICKLE_TEXT && strcmp(value->item.at[i]->text, key) == 0)
      return value->item.at[i + 1];
  return NULL;
}

const PickleValue *pickle_at(const PickleValue *value, int32_t at) {
  bool has = value != NULL && value->kind == PICKLE_ROW && at >= 0 && at < value->item.count;
  return has ? value->item.at[at] : NULL;
}

const PickleValue *pickle_arguments(const PickleValue *value) {
  return value != NULL && value->kind == PICKLE_OBJECT ? value->item.at[1] : NULL;
}

bool pickle_int(const PickleValue *value, int64_t *number) {
  if (value == NULL || value->kind != PICKLE_INT) return false;
  *number = value->number;
  return true;
}
