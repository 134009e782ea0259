/* plan_text.c -- the text form: every table, one record a line, in the order of plan.def.
 *
 *   calls[12] segment=#3(layer forward) layer=4 microbatch=0 flags=first_microbatch
 * bindings=[40..44) waits=[0..0)
 *
 * Text in parentheses is for readers; the parser skips it. */
#include "runtime/plan/plan_text.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/plan/plan_io.h"
#include "runtime/plan/plan_layout.h"

typedef struct Printer {
  const Plan *plan;
  FILE *out;
  PlanNames names;
} Printer;

static void print_quoted(FILE *out, const char *text) {
  putc('"', out);
  for (; *text != '\0'; text++) {
    unsigned char c = (unsigned char)*text;
    if (c == '"' || c == '\\')
      fprintf(out, "\\%c", c);
    else if (c < 0x20 || c == 0x7f)
      fprintf(out, "\\x%02x", c);
    else
      putc(c, out);
  }
  putc('"', out);
}

/* A string that the parser would find at another offset is printed with its offset. */
static void print_string(const Printer *p, uint32_t offset) {
  const char *text = plan_string(p->plan, offset);
  print_quoted(p->out, text);
  if (p->names.slot == NULL || plan_names_find(&p->names, text) != offset)
    fprintf(p->out, "@%u", offset);
}

/* A name in parentheses: any character that could end it early becomes a blank. */
static void print_hint(FILE *out, const char *text) {
  putc('(', out);
  for (; *text != '\0'; text++)
    putc(iscntrl((unsigned char)*text) || *text == ')' ? ' ' : *text, out);
  putc(')', out);
}

static void print_word(FILE *out, const char *name) {
  for (; *name != '\0'; name++)
    putc(*name == ' ' ? '_' : *name, out);
}

/* The fewest digits that read back as the same number. */
static void print_real(FILE *out, double value) {
  if (isnan(value)) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    fprintf(out, "nan:%016" PRIx64, bits);
    return;
  }
  char text[40];
  for (int digits = 15; digits <= 17; digits++) {
    snprintf(text, sizeof text, "%.*g", digits, value);
    if (strtod(text, NULL) == value) break;
  }
  fputs(text, out);
}

static void print_flags(FILE *out, uint32_t flags) {
  const char *separator = "";
  for (uint32_t bit = 0; bit < CALL_FLAGS_BITS; bit++) {
    if ((flags >> bit & 1) == 0) continue;
    fprintf(out, "%s%s", separator, CALL_names[bit]);
    separator = "|";
  }
  if (flags == 0) putc('-', out);
}

/* A hint for readers about the target of a reference. */
#define NAME_programs(index) ProgramKind_names[plan->programs[index].kind]
#define NAME_segments(index) plan_string(plan, plan->segments[index].name)
#define NAME_kernels(index)  plan_string(plan, plan->kernels[index].name)
#define NAME_lanes(index)    plan_lane_name(plan, index)
#define NAME_axes(index)     plan_string(plan, plan->axes[index].name)
#define NAME_slots(index)    plan_string(plan, plan->slots[index].name)
#define NAME_comms(index)    plan_string(plan, plan->comms[index].name)
#define NAME_classes(index)  plan_string(plan, plan->classes[index].name)
#define NAME_meanings(index) plan_string(plan, plan->meanings[index].value)
#define NAME_values(index)   plan_string(plan, plan->values[index].name)
#define NAME_regions(index)  plan_string(plan, plan->regions[index].name)
#define NAME_nodes(index)    plan_string(plan, plan->nodes[index].path)
#define NAME_storages(index) (plan->storages[index].bits == 8 ? "codes of 8 bits" : "codes")
#define NAME_layouts(index)  plan_layout_text(plan, index, ~0u, (char[PLAN_LAYOUT_BYTES]){0})

static void print_ref(FILE *out, uint32_t index, const char *name) {
  fprintf(out, "#%u", index);
  print_hint(out, name);
}

static void print_range(const Printer *p, uint32_t first, uint32_t count, const char *table) {
  fprintf(p->out, "[%u..%u)", first, first + count);
  bool ints = strcmp(table, "ints") == 0, reals = strcmp(table, "reals") == 0;
  if (count == 0 || (!ints && !reals)) return;
  for (uint32_t i = 0; i < count; i++) {
    putc(i == 0 ? '(' : ' ', p->out);
    if (ints)
      fprintf(p->out, "%" PRId64, p->plan->ints[first + i]);
    else
      print_real(p->out, p->plan->reals[first + i]);
  }
  putc(')', p->out);
}

/* print_TABLE: one record. */
#define TABLE(Type, table)                                                                         \
  static void print_##table(const Printer *p, uint32_t index) {                                    \
    const Plan *plan = p->plan;                                                                    \
    FILE *out = p->out;                                                                            \
    const Type *record = &plan->table[index];                                                      \
    fprintf(out, #table "[%u]", index);
#define END(Type, table)                                                                           \
  putc('\n', out);                                                                                 \
  }
#define U32(f) fprintf(out, " " #f "=%u", record->f);
#define I32(f) fprintf(out, " " #f "=%d", record->f);
#define U64(f) fprintf(out, " " #f "=%" PRIu64, record->f);
#define I64(f) fprintf(out, " " #f "=%" PRId64, record->f);
#define F64(f)                                                                                     \
  fputs(" " #f "=", out);                                                                          \
  print_real(out, record->f);
#define STR(f)                                                                                     \
  fputs(" " #f "=", out);                                                                          \
  print_string(p, record->f);
#define ENUM(f, e)                                                                                 \
  fputs(" " #f "=", out);                                                                          \
  print_word(out, e##_names[record->f]);
#define REF(f, t)                                                                                  \
  fputs(" " #f "=", out);                                                                          \
  print_ref(out, record->f, NAME_##t(record->f));
#define OPT(f, t)                                                                                  \
  fputs(" " #f "=", out);                                                                          \
  if (record->f == PLAN_NONE)                                                                      \
    putc('-', out);                                                                                \
  else                                                                                             \
    print_ref(out, record->f, NAME_##t(record->f));
#define RANGE(f, t)                                                                                \
  fputs(" " #f "=", out);                                                                          \
  print_range(p, record->f##_first, record->f##_count, #t);
#define FLAGS(f)                                                                                   \
  fputs(" " #f "=", out);                                                                          \
  print_flags(out, record->f);
#define PAD(f)
#include "runtime/plan/plan.def"
#include "runtime/plan/plan_undef.h"

static void print_ints(const Printer *p, uint32_t index) {
  fprintf(p->out, "ints[%u] %" PRId64 "\n", index, p->plan->ints[index]);
}

static void print_reals(const Printer *p, uint32_t index) {
  fprintf(p->out, "reals[%u] ", index);
  print_real(p->out, p->plan->reals[index]);
  putc('\n', p->out);
}

/* The index of a string is the offset of its first byte: one line per NUL. */
static void print_strings(const Printer *p, uint32_t index) {
  if (index > 0 && p->plan->strings[index - 1] != '\0') return;
  fprintf(p->out, "strings[%u] ", index);
  print_quoted(p->out, plan_string(p->plan, index));
  putc('\n', p->out);
}

/* A comment before the first call of a program says which program it is. */
static void print_owner(const Printer *p, uint32_t call) {
  const Plan *plan = p->plan;
  for (uint32_t c = 0; c < plan->classes_count; c++) {
    for (uint32_t i = 0; i < plan->classes[c].programs_count; i++) {
      const PlanProgram *program = &plan->programs[plan->classes[c].programs_first + i];
      if (program->calls_first != call || program->calls_count == 0) continue;
      fprintf(p->out, "# %s of class", ProgramKind_names[program->kind]);
      print_hint(p->out, plan_string(plan, plan->classes[c].name));
      fprintf(p->out, ": %u calls, peak %" PRIu64 " bytes\n", program->calls_count,
              plan_peak(plan, program)->peak_bytes);
    }
  }
}

static void print_whole(const Printer *p) {
  const Plan *plan = p->plan;
  fprintf(p->out, "lockstep plan %d\n# id %016" PRIx64 "\n", PLAN_VERSION, plan_compute_id(plan));
#define PLAN_T(Type, table)                                                                        \
  fprintf(p->out, "\n# " #table ": %u\n", plan->table##_count);                                    \
  for (uint32_t i = 0; i < plan->table##_count; i++) {                                             \
    if (strcmp(#table, "calls") == 0) print_owner(p, i);                                           \
    print_##table(p, i);                                                                           \
  }
  PLAN_TABLES(PLAN_T)
#undef PLAN_T
}

/* ---- one segment, for reading */

static void show_operand(const Printer *p, const PlanSegment *segment, const PlanOperand *operand) {
  const Plan *plan = p->plan;
  const PlanBase *base = &plan->bases[segment->bases_first + operand->base];
  fprintf(p->out, "    %-6s %s:[%" PRIu64 "..%" PRIu64 ") %s @", Access_names[operand->access],
          plan_string(plan, base->name), operand->offset, operand->offset + operand->size_bytes,
          DType_names[operand->dtype]);
  print_word(p->out, BufferKind_names[base->kind]);
  if (operand->by != PLAN_NONE)
    fprintf(p->out, " + %" PRId64 " * %s", operand->member_stride, NAME_comms(operand->by));
  putc('\n', p->out);
}

static void show_control(const Printer *p, const PlanControl *control) {
  const Plan *plan = p->plan;
  const PlanSlot *slot = &plan->slots[control->slot];
  fprintf(p->out, "    %-6s %s %s @control %s\n", Access_names[control->access],
          NAME_slots(control->slot), SlotType_names[slot->type], SlotKind_names[slot->kind]);
}

static void show_conditions(const Plan *plan, FILE *out, const PlanRecord *record) {
  if (record->when_all != 0) {
    fputs(" when ", out);
    print_flags(out, record->when_all);
  }
  if (record->when_none != 0) {
    fputs(" unless ", out);
    print_flags(out, record->when_none);
  }
  if (record->parts > 0) fprintf(out, " tokens %u of %u", record->part + 1, record->parts);
  if (record->accumulate) fputs(" accumulate", out);
  for (uint32_t i = 0; i < record->after_count; i++)
    fprintf(out, " after %u", plan->edges[record->after_first + i].record);
}

/* attr 2 + 64 * dp + (0 3 5)[dp] */
static void show_varies(const Printer *p, const PlanRecord *record) {
  const Plan *plan = p->plan;
  for (uint32_t i = 0; i < record->varies_count; i++) {
    const PlanVary *vary = &plan->varies[record->varies_first + i];
    fprintf(p->out, " attr %u", vary->attr);
    if (vary->stride != 0) {
      fputs(" + ", p->out);
      print_real(p->out, vary->stride);
      fprintf(p->out, " * %s", NAME_comms(vary->by));
    }
    for (uint32_t k = 0; k < vary->values_count; k++) {
      fputs(k == 0 ? " + (" : " ", p->out);
      print_real(p->out, plan->reals[vary->values_first + k]);
    }
    if (vary->values_count > 0) fprintf(p->out, ")[%s]", NAME_comms(vary->by));
  }
}

static void show_record(const Printer *p, const PlanSegment *segment, uint32_t position) {
  const Plan *plan = p->plan;
  const PlanRecord *record = &plan->records[segment->records_first + position];
  bool kernel = record->kind == RECORD_KERNEL;
  fprintf(p->out, "  %-3u %-7s %s %s", position, plan_lane_name(plan, record->lane),
          kernel ? NAME_kernels(record->kernel) : RecordKind_names[record->kind],
          plan_string(plan, record->path));
  if (record->dims_count > 0) {
    fputs(" dims", p->out);
    for (uint32_t i = 0; i < record->dims_count; i++)
      fprintf(p->out, " %" PRId64, plan->ints[record->dims_first + i]);
  }
  for (uint32_t i = 0; i < record->attrs_count; i++) {
    fputs(i == 0 ? " attrs " : " ", p->out);
    print_real(p->out, plan->reals[record->attrs_first + i]);
  }
  show_varies(p, record);
  if (record->comm != PLAN_NONE) fprintf(p->out, " over %s", NAME_comms(record->comm));
  if (record->meaning != PLAN_NONE) {
    const PlanMeaning *meaning = &plan->meanings[record->meaning];
    char before[PLAN_LAYOUT_BYTES], after[PLAN_LAYOUT_BYTES];
    uint32_t axes = record->comm == PLAN_NONE ? 0 : plan->comms[record->comm].axes_mask;
    fprintf(p->out, ": %s of %s, %s -> %s", ReduceOp_names[meaning->reduce],
            plan_string(plan, meaning->value),
            plan_layout_text(plan, meaning->before, axes, before),
            plan_layout_text(plan, meaning->after, axes, after));
  }
  show_conditions(plan, p->out, record);
  putc('\n', p->out);
  for (uint32_t i = 0; i < record->operands_count; i++)
    show_operand(p, segment, &plan->operands[record->operands_first + i]);
  for (uint32_t i = 0; i < record->controls_count; i++)
    show_control(p, &plan->controls[record->controls_first + i]);
}

static void show_segment(const Printer *p, const PlanSegment *segment) {
  const Plan *plan = p->plan;
  fprintf(p->out, "segment %s: %u bases, %u records\n", plan_string(plan, segment->name),
          segment->bases_count, segment->records_count);
  for (uint32_t i = 0; i < segment->bases_count; i++) {
    const PlanBase *base = &plan->bases[segment->bases_first + i];
    fprintf(p->out, "  base %s: %" PRIu64 " bytes of ", plan_string(plan, base->name),
            base->size_bytes);
    print_word(p->out, BufferKind_names[base->kind]);
    putc('\n', p->out);
  }
  for (uint32_t i = 0; i < segment->records_count; i++)
    show_record(p, segment, i);
}

void plan_print(const Plan *plan, FILE *out, const char *segment) {
  Printer printer = {.plan = plan, .out = out};
  if (segment != NULL) {
    bool found = false;
    for (uint32_t i = 0; i < plan->segments_count; i++) {
      if (strcmp(NAME_segments(i), segment) != 0) continue;
      show_segment(&printer, &plan->segments[i]);
      found = true;
    }
    if (found) return;
    fprintf(out, "no segment %s; there are:\n", segment);
    for (uint32_t i = 0; i < plan->segments_count; i++)
      fprintf(out, "  %s\n", NAME_segments(i));
    return;
  }
  plan_names_begin(&printer.names, plan->strings, plan->strings_count);
  print_whole(&printer);
  plan_names_end(&printer.names);
}
