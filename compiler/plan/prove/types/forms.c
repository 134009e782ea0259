#include "compiler/plan/prove/types/forms.h"

#include <string.h>

#include "runtime/plan/plan_text.h"

typedef struct FormRow {
  const char *op;
  KernelId kernel;
  const char *operands, *rules;
} FormRow;

#define ROW(op, kernel, operands, rules, ...) {#op, KERNEL_##kernel, operands, rules},
#define PART(op, kernel, ...)
static const FormRow rows[] = {
#include "compiler/plan/prove/rules.def"
};

/* x to y; d_y and x, or y, to d_x. */
static const FormRow activation = {.operands = "<0E >0E", .rules = ""};
static const FormRow slope = {.operands = "<0E <1E >0E", .rules = "of 0"};

static const FormRow *row_of(const Typing *t, const PlanNode *node) {
  const KernelContract *contract = record_contract(t);
  if (contract->row->role == ROLE_ACTIVATION)
    return contract->operand_count == 2 ? &activation : &slope;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (rows[i].kernel == contract->id && is_op(t->plan, node, rows[i].op)) return &rows[i];
  return NULL;
}

/* ---- rules */

static const char *after(const Form *form, const char *rule) {
  const char *at = strstr(form->rules, rule);
  return at == NULL ? NULL : at + strlen(rule) + 1;
}

bool form_has(const Form *form, const char *rule) {
  return strstr(form->rules, rule) != NULL;
}

bool form_says(const Form *form, const char *rule, uint32_t label) {
  const char *letters = after(form, rule);
  return letters != NULL &&
         memchr(letters, (int)(label / FORM_DIMS_MAX), strcspn(letters, " ")) != NULL;
}

uint32_t form_label(const Form *form, const char *rule) {
  const char *letter = after(form, rule);
  return letter == NULL ? 0 : (uint32_t)*letter * FORM_DIMS_MAX;
}

uint32_t form_joint(const Form *form, uint32_t label, bool goes_round) {
  const char *pairs[] = {after(form, "share"), goes_round ? after(form, "ring") : NULL};
  for (uint32_t i = 0; i < 2; i++)
    if (pairs[i] != NULL && label / FORM_DIMS_MAX == (uint32_t)pairs[i][0])
      return (uint32_t)pairs[i][1] * FORM_DIMS_MAX + label % FORM_DIMS_MAX;
  return label;
}

/* ---- operands */

/* A row being read: its capitals, and the number of dims of each. */
typedef struct RowReading {
  const Typing *t;
  const PlanNode *node;
  Form *form;
  uint8_t size[128]; /* by letter */
} RowReading;

static bool take(const RowReading *r, bool from_outputs, char number, uint32_t *value) {
  uint32_t first = from_outputs ? r->node->outputs_first : r->node->inputs_first;
  uint32_t count = from_outputs ? r->node->outputs_count : r->node->inputs_count;
  uint32_t index = (uint32_t)(number - '0');
  if (index < count) *value = r->t->plan->uses[first + index].value;
  return index < count;
}

/* # and & are codes of values and of gradients, $ and ? the scales of such. By block all are in
 * E4M3. */
static void read_storage(const Plan *plan, const char **at, FormSlot *slot) {
  static const char marks[] = "#&$?";
  const char *mark = strchr(marks, **at);
  if (**at == '\0' || mark == NULL) return;
  const int64_t number = mark - marks;
  slot->part = number < 2 ? PART_CODES : PART_SCALES;
  slot->codes = number % 2 == 0 || codes_by_block(plan) ? DTYPE_E4M3 : DTYPE_E5M2;
  ++*at;
}

/* Numbers of one block follow one another along the dim that is summed over, and weights have
 * squares, because they are summed over both. */
static CodesOf blocks_of(const Plan *plan, const Form *form, const FormSlot *slot, bool is_weight) {
  const char *summed = form_has(form, "whole") ? after(form, "whole") : after(form, "sum");
  if (!codes_by_block(plan)) return CODES_OF_ALL;
  if (is_weight) return CODES_OF_SQUARES;
  return summed != NULL && *slot->letters == *summed ? CODES_OF_COLUMNS : CODES_OF_ROWS;
}

/* Finds the value of the node that an operand is. False: the node has no such value. */
static bool read_marks(RowReading *r, const char **at, FormSlot *slot) {
  Form *form = r->form;
  bool statistics = **at == '%', fits = true;
  *slot = (FormSlot){.in = PLAN_NONE, .out = PLAN_NONE};
  read_storage(r->t->plan, at, slot);
  bool scales = slot->part == PART_SCALES;
  for (*at += statistics; **at != '\0' && strchr("<^~>", **at) != NULL; *at += 2) {
    const char mark = **at, number = (*at)[1];
    bool is_made = mark == '>';
    fits = fits && take(r, (is_made && !statistics) || mark == '~', number,
                        is_made ? &slot->out : &slot->in);
    form->inputs += (mark == '<' && !statistics && !scales) || mark == '^';
    form->outputs += is_made && !statistics;
    form->makes_part = form->makes_part || (statistics && is_made) || mark == '~';
    if (mark == '~') slot->part = PART_NO_BIAS;
    if (is_made && form_has(form, "bias") && r->node->inputs_count == 3) slot->part = PART_NO_BIAS;
    if (!is_made) slot->passes = form_says(form, "of", (uint32_t)number * FORM_DIMS_MAX);
  }
  if (statistics) slot->part = PART_STATISTICS;
  return fits;
}

static uint32_t value_of(const FormSlot *slot) {
  return slot->in != PLAN_NONE ? slot->in : slot->out;
}

static bool read_operands(RowReading *r, const char *at) {
  for (; *at != '\0' && r->form->slot_count < FORM_SLOTS_MAX; at += *at == ' ') {
    FormSlot *slot = &r->form->slot[r->form->slot_count++];
    if (!read_marks(r, &at, slot)) return false;
    slot->is_rows = *at == '=' || slot->part == PART_STATISTICS || slot->part == PART_SCALES;
    const bool is_weight = *at == '/';
    slot->turns = is_weight && r->form->transposed;
    slot->letters = at += *at == '=' || *at == '/';
    if (slot->part == PART_CODES)
      slot->of = (uint8_t)blocks_of(r->t->plan, r->form, slot, is_weight);
    if (slot->part == PART_SCALES) slot->of = slot[-1].of;
    at += slot->letter_count = (uint32_t)strcspn(at, " ");
  }
  return true;
}

static bool sizes_fit(const RowReading *r) {
  for (uint32_t i = 0; i < r->form->slot_count; i++) {
    const FormSlot *slot = &r->form->slot[i];
    uint32_t dims = 0, wanted = 0;
    if (value_of(slot) == PLAN_NONE || slot->letter_count == 0 || slot->is_rows) continue;
    (void)meaning_dims(&r->t->proof.meaning, value_of(slot), &dims);
    for (uint32_t k = 0; k < slot->letter_count; k++)
      wanted += r->size[(unsigned char)slot->letters[k]];
    if (dims != wanted) return false;
  }
  return true;
}

/* Tries all numbers of dims for the capitals from this one on: there are at most three. */
static bool find_sizes(RowReading *r, const char *operands) {
  while (*operands != '\0' &&
         (*operands < 'A' || *operands > 'Z' || r->size[(unsigned char)*operands] <= FORM_DIMS_MAX))
    operands++;
  if (*operands == '\0') return sizes_fit(r);
  uint8_t *size = &r->size[(unsigned char)*operands];
  for (*size = 0; *size <= FORM_DIMS_MAX - 2; ++*size)
    if (find_sizes(r, operands + 1)) return true;
  *size = UINT8_MAX;
  return false;
}

static void set_labels(const RowReading *r, FormSlot *slot) {
  for (uint32_t k = 0; k < slot->letter_count; k++) {
    const char letter = slot->letters[slot->turns ? slot->letter_count - 1 - k : k];
    for (uint8_t i = 0; i < r->size[(unsigned char)letter]; i++)
      if (slot->dim_count < FORM_DIMS_MAX)
        slot->label[slot->dim_count++] = (uint16_t)(letter * FORM_DIMS_MAX + i);
  }
}

/* Dims are matched by name: labels are those of the value with the most dims, the node's first
 * input. */
static bool labels_by_name(const RowReading *r, FormSlot *slot) {
  const Plan *plan = r->t->plan;
  uint32_t count = 0, first_count = 0;
  const PlanLayoutDim *dims = meaning_dims(&r->t->proof.meaning, value_of(slot), &count);
  const PlanLayoutDim *first =
      meaning_dims(&r->t->proof.meaning, plan->uses[r->node->inputs_first].value, &first_count);
  for (uint32_t i = 0; i < count && i < FORM_DIMS_MAX; i++) {
    uint32_t k = 0;
    while (k < first_count &&
           strcmp(plan_string(plan, dims[i].name), plan_string(plan, first[k].name)) != 0)
      k++;
    if (k == first_count) return false;
    slot->label[slot->dim_count++] = (uint16_t)('@' * FORM_DIMS_MAX + k);
  }
  return count <= FORM_DIMS_MAX;
}

/* ---- equal letters are equal dims */

/* The first dim that has a label, and its value. */
typedef struct Labelled {
  uint32_t label, value;
  const PlanLayoutDim *dim;
} Labelled;

typedef struct Labels {
  Labelled at[FORM_SLOTS_MAX * FORM_DIMS_MAX];
  uint32_t count;
} Labels;

/* `here`, if nothing has its label yet. */
static const Labelled *first_of_label(Labels *labels, Labelled here) {
  uint32_t i = 0;
  while (i < labels->count && labels->at[i].label != here.label)
    i++;
  if (i == labels->count) labels->at[labels->count++] = here;
  return &labels->at[i];
}

static const char *dim_text(const RowReading *r, const Labelled *of) {
  const Plan *plan = r->t->plan;
  Arena *arena = r->t->view->arena;
  const char *name = plan_string(plan, of->dim->name);
  const char *value = plan_string(plan, plan->values[of->value].name);
  const long long size = of->dim->size, real = of->dim->real_size;
  return size == real ? arena_printf(arena, "%.24s of %lld in %.60s", name, size, value)
                      : arena_printf(arena, "%.24s of %lld, padded to %lld, in %.60s", name, real,
                                     size, value);
}

static bool same_dim(const Plan *plan, const PlanLayoutDim *a, const PlanLayoutDim *b) {
  return a->size == b->size && a->real_size == b->real_size &&
         strcmp(plan_string(plan, a->name), plan_string(plan, b->name)) == 0;
}

/* Dims of one label have one name and one size, with padding and without. */
static void compare_dims(const RowReading *r, const FormSlot *slot, Labels *labels) {
  uint32_t count = 0;
  const PlanLayoutDim *dims = meaning_dims(&r->t->proof.meaning, value_of(slot), &count);
  for (uint32_t i = 0; i < slot->dim_count && i < count; i++) {
    const Labelled here = {slot->label[i], value_of(slot), &dims[i]};
    const Labelled *first = first_of_label(labels, here);
    if (same_dim(r->t->plan, first->dim, here.dim)) continue;
    r->form->unlike = arena_printf(r->t->view->arena, "expected %s, found %s", dim_text(r, first),
                                   dim_text(r, &here));
    return;
  }
}

/* Rows of numbers have only a count, which follows from their size. */
static void compare_operands(const RowReading *r) {
  Form *form = r->form;
  Labels labels = {.count = 0};
  for (uint32_t i = 0; i < form->slot_count && form->unlike == NULL; i++)
    if (value_of(&form->slot[i]) != PLAN_NONE && !form->slot[i].is_rows)
      compare_dims(r, &form->slot[i], &labels);
}

static bool read_form(const Typing *t, const PlanNode *node, Form *form) {
  const FormRow *row = form->row;
  RowReading r = {.t = t, .node = node, .form = form};
  memset(r.size, 1, sizeof r.size);
  memset(r.size + 'A', UINT8_MAX, 'Z' - 'A' + 1);
  if (!read_operands(&r, row->operands)) return false;
  bool by_name = strchr(row->operands, '@') != NULL;
  bool fits = by_name || find_sizes(&r, row->operands);
  for (uint32_t i = 0; i < form->slot_count && fits; i++)
    if (by_name)
      fits = labels_by_name(&r, &form->slot[i]);
    else if (value_of(&form->slot[i]) != PLAN_NONE)
      set_labels(&r, &form->slot[i]);
  if (fits) compare_operands(&r);
  return fits;
}

enum { FORMS_OF_NODE = 4 }; /* forward, backward for two inputs, and one to spare */

const Form *form_of(Typing *t, const PlanNode *node) {
  const FormRow *row = row_of(t, node);
  const bool transposed = /* for products, the fourth number */
      record_contract(t)->row->role == ROLE_LINEAR && t->call.at->dims_count > 3 &&
      record_dims(t)[3] != 0;
  if (t->proof.forms == NULL)
    t->proof.forms =
        ARENA_ARRAY(t->view->arena, Form, (size_t)t->plan->nodes_count * FORMS_OF_NODE);
  if (row == NULL) return NULL;
  Form *kept = (Form *)t->proof.forms + (size_t)(node - t->plan->nodes) * FORMS_OF_NODE;
  uint32_t i = 0;
  while (i < FORMS_OF_NODE - 1 && kept[i].row != NULL &&
         (kept[i].row != row || kept[i].transposed != transposed))
    i++;
  if (kept[i].row != row || kept[i].transposed != transposed) {
    kept[i] = (Form){.row = row, .rules = row->rules, .transposed = transposed};
    kept[i].fits = read_form(t, node, &kept[i]);
  }
  return kept[i].fits ? &kept[i] : NULL;
}
