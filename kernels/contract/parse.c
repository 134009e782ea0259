/* parse.c -- parses the words of kernels.def into tables, once. */
#include <ctype.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/contract/contract.h"

static const KernelRow rows[KERNEL_COUNT] = {
#define FAST  true
#define PLAIN false
#define KERNEL(kernel, variant, ...)                                                               \
  [KERNEL_##kernel] = {.name = #kernel, .has_fast = variant, __VA_ARGS__},
#include "kernels/kernels.def"
#undef KERNEL
};

static KernelContract contracts[KERNEL_COUNT];

typedef struct RowReader {
  KernelContract *contract;
  const char *at;
} RowReader;

static void fail(const RowReader *r, const char *what) {
  fprintf(stderr, "kernels.def: %s: %s at '%.30s'\n", r->contract->row->name, what, r->at);
  abort();
}

static void skip_spaces(RowReader *r) {
  while (*r->at == ' ')
    r->at++;
}

static bool take(RowReader *r, const char *text) {
  size_t length = strlen(text);
  if (strncmp(r->at, text, length) != 0) return false;
  r->at += length;
  return true;
}

static void expect(RowReader *r, const char *text) {
  if (!take(r, text)) fail(r, text);
}

static void take_name(RowReader *r, char name[KERNEL_NAME_BYTES]) {
  size_t length = 0;
  while (isalnum((unsigned char)r->at[length]) || r->at[length] == '_')
    length++;
  if (length == 0 || length >= KERNEL_NAME_BYTES) fail(r, "a name");
  memcpy(name, r->at, length);
  name[length] = '\0';
  r->at += length;
}

/* ---- names of dims and attrs */

static int32_t read_numbers(RowReader *r, const char *list, KernelNumber *numbers, int32_t most) {
  int32_t count = 0;
  r->at = list ? list : "";
  for (skip_spaces(r); *r->at != '\0'; skip_spaces(r)) {
    if (count == most) fail(r, "fewer names");
    take_name(r, numbers[count].name);
    numbers[count++].is_flag = take(r, "?");
  }
  return count;
}

static void read_dims(RowReader *r) {
  KernelContract *contract = r->contract;
  const char *names = contract->row->dims ? contract->row->dims : "";
  contract->is_broadcast = strcmp(names, "sizes... strides...") == 0;
  contract->is_pieces = strcmp(names, "members pairs...") == 0;
  if (!contract->is_broadcast && !contract->is_pieces)
    contract->dim_count = read_numbers(r, names, contract->dims, KERNEL_DIMS_MAX);
}

/* tf32? ends the list. */
static void read_attrs(RowReader *r) {
  KernelContract *contract = r->contract;
  int32_t count = read_numbers(r, contract->row->attrs, contract->attrs, KERNEL_ATTRS_MAX);
  contract->may_be_tf32 = count > 0 && contract->attrs[count - 1].is_flag;
  contract->attr_count = count - contract->may_be_tf32;
  for (int32_t i = 0; i < contract->attr_count; i++)
    if (contract->attrs[i].is_flag) fail(r, "an attr that may be absent at the end");
}

/* ---- shapes */

static uint8_t take_dim(RowReader *r) {
  char name[KERNEL_NAME_BYTES];
  take_name(r, name);
  int32_t dim = contract_dim(r->contract, name);
  if (dim < 0) fail(r, "the name of a dim before");
  return (uint8_t)dim;
}

/* "rows,2": dims, and numbers that are multiplied into `times`. */
static uint8_t take_factors(RowReader *r, uint8_t factors[SHAPE_FACTORS_MAX], int64_t *constant) {
  uint8_t count = 0;
  do {
    if (isdigit((unsigned char)*r->at)) {
      *constant *= strtol(r->at, (char **)&r->at, 10);
      continue;
    }
    if (count == SHAPE_FACTORS_MAX) fail(r, "fewer dims");
    factors[count++] = take_dim(r);
  } while (take(r, ","));
  return count;
}

static KernelShape take_shape(RowReader *r) {
  KernelShape shape = {.kind = SHAPE_DENSE, .times = 1};
  expect(r, "[");
  if (r->contract->is_broadcast)
    shape.kind = take(r, "sizes...")     ? SHAPE_SIZES
                 : take(r, "strides...") ? SHAPE_SPAN
                 : take(r, "kept...")    ? SHAPE_KEPT
                                         : SHAPE_DENSE;
  if (r->contract->is_pieces) {
    expect(r, "pieces...");
    shape.kind = SHAPE_PIECES;
  }
  if (shape.kind == SHAPE_DENSE) shape.rows_count = take_factors(r, shape.rows, &shape.times);
  if (take(r, "|")) {
    shape.kind = SHAPE_VIEW;
    shape.inner_count = take_factors(r, shape.inner, &shape.times);
    expect(r, "|");
    shape.stride = take_dim(r);
    if (shape.times != 1) fail(r, "a view of dims only");
  }
  expect(r, "]");
  return shape;
}

static uint32_t take_dtype(RowReader *r) {
  if (!take(r, ":")) return KERNEL_DTYPE_SHARED;
  if (take(r, "float")) return KERNEL_DTYPE_FLOAT;
  if (take(r, "any")) return KERNEL_DTYPE_ANY;
  if (take(r, "fp8")) return KERNEL_DTYPE_FP8;
  if (take(r, "moment")) return KERNEL_DTYPE_MOMENT;
  if (take(r, "f32")) return DTYPE_F32;
  if (take(r, "f64")) return DTYPE_F64;
  if (take(r, "bf16")) return DTYPE_BF16;
  if (take(r, "i16")) return DTYPE_I16;
  expect(r, "i32");
  return DTYPE_I32;
}

/* ---- operands */

static bool take_access(RowReader *r, KernelAccess *access) {
  static const char *const words[] = {"read ", "write ", "update ", "sum ", "keep ", "scratch "};
  for (KernelAccess a = KERNEL_READ; a <= KERNEL_SCRATCH; a++)
    if (take(r, words[a])) {
      *access = a;
      return true;
    }
  return false;
}

static ControlSlot take_slot(RowReader *r) {
  char name[KERNEL_NAME_BYTES];
  take_name(r, name);
  ControlSlot slot = 0;
  while (slot < CONTROL_SLOT_COUNT && strcmp(control_name(slot), name) != 0)
    slot++;
  if (slot == CONTROL_SLOT_COUNT) fail(r, "a control slot before");
  return slot;
}

static void read_control(RowReader *r) {
  KernelContract *contract = r->contract;
  KernelAccess access = KERNEL_READ;
  r->at = contract->row->control ? contract->row->control : "";
  for (skip_spaces(r); *r->at != '\0'; skip_spaces(r)) {
    if (take_access(r, &access)) continue;
    if (access > KERNEL_UPDATE) fail(r, "read, write or update before");
    if (contract->control_count == KERNEL_CONTROLS_MAX) fail(r, "fewer control slots");
    KernelControl *control = &contract->controls[contract->control_count++];
    *control = (KernelControl){.slot = take_slot(r), .access = access};
    control->may_be_absent = take(r, "?");
  }
}

static void take_over(RowReader *r, KernelOperand *operand) {
  char name[KERNEL_NAME_BYTES];
  take_name(r, name);
  int32_t other = contract_operand(r->contract, name);
  if (other < 0) fail(r, "an operand before");
  operand->over |= 1u << other;
}

static void take_operand(RowReader *r, KernelAccess access) {
  if (r->contract->operand_count == KERNEL_OPERANDS_MAX) fail(r, "fewer operands");
  KernelOperand *operand = &r->contract->operands[r->contract->operand_count];
  operand->access = access;
  take_name(r, operand->name);
  bool optional = take(r, "?");
  operand->may_be_absent = optional && (access == KERNEL_SCRATCH || access == KERNEL_UPDATE);
  operand->may_be_unread = optional && !operand->may_be_absent;
  if (access == KERNEL_SCRATCH) {
    operand->dtype = KERNEL_DTYPE_ANY;
    if (*r->at != '\0') fail(r, "scratch at the end");
  } else {
    operand->shape = take_shape(r);
    operand->dtype = take_dtype(r);
  }
  r->contract->operand_count++;
}

static void read_operands(RowReader *r) {
  KernelContract *contract = r->contract;
  KernelAccess access = KERNEL_READ;
  r->at = contract->row->operands ? contract->row->operands : "";
  for (skip_spaces(r); *r->at != '\0'; skip_spaces(r)) {
    if (take_access(r, &access)) continue;
    if (contract->operand_count > 0 && take(r, "over "))
      take_over(r, &contract->operands[contract->operand_count - 1]);
    else
      take_operand(r, access);
  }
  bool has_scratch = contract->operand_count > 0 &&
                     contract->operands[contract->operand_count - 1].access == KERNEL_SCRATCH;
  if (has_scratch != (contract->row->workspace != NULL)) fail(r, "scratch and .workspace");
  if (contract->row->role == ROLE_NONE) fail(r, "a role");
}

static void read_backward(RowReader *r) {
  KernelContract *contract = r->contract;
  r->at = contract->row->backward ? contract->row->backward : "";
  for (skip_spaces(r); *r->at != '\0'; skip_spaces(r)) {
    size_t length = strcspn(r->at, " ");
    if (contract->backward_count == KERNEL_BACKWARD_MAX) fail(r, "fewer kernels");
    KernelId id = 0;
    while (id < KERNEL_COUNT &&
           (strncmp(rows[id].name, r->at, length) != 0 || rows[id].name[length] != '\0'))
      id++;
    if (id == KERNEL_COUNT) fail(r, "the name of a kernel");
    contract->backward[contract->backward_count++] = id;
    r->at += length;
  }
}

static void parse_all(void) {
  for (KernelId id = 0; id < KERNEL_COUNT; id++) {
    KernelContract *contract = &contracts[id];
    *contract = (KernelContract){.row = &rows[id], .id = id};
    RowReader r = {.contract = contract, .at = ""};
    read_dims(&r);
    read_attrs(&r);
    read_operands(&r);
    read_control(&r);
    read_backward(&r);
  }
}

const KernelContract *contract_of(KernelId kernel) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, parse_all);
  return &contracts[kernel];
}
