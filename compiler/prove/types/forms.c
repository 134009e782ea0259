#include "compiler/prove/types/forms.h"

#include <string.h>

typedef struct Row {
  const char *operands, *rules; /* NULL: the kernel carries out no node */
} Row;

#define FORM(kernel, operands, rules) [KERNEL_##kernel] = {operands, rules},
#define TRANSPOSED(kernel, operands, rules)
static const Row rows[KERNEL_COUNT] = {
#include "compiler/prove/types/forms.def"
};
#undef FORM
#undef TRANSPOSED
#define FORM(kernel, operands, rules)
#define TRANSPOSED(kernel, operands, rules) [KERNEL_##kernel] = {operands, rules},
static const Row transposed[KERNEL_COUNT] = {
#include "compiler/prove/types/forms.def"
};
#undef FORM
#undef TRANSPOSED

/* Products say in a fourth number that their weight stands the other way round. */
static const Row *row_of(const Typing *t) {
  KernelId id = record_contract(t)->id;
  bool turns = transposed[id].operands != NULL && t->at->dims_count > 3 && record_dims(t)[3] != 0;
  return turns ? &transposed[id] : &rows[id];
}

enum { GROUPS_MAX = 8, GROUP_DIMS_MAX = 6 };

/* Letters of a row, and how many dims each stands for. */
typedef struct Groups {
  char letter[GROUPS_MAX];
  uint8_t size[GROUPS_MAX];
  uint32_t count;
} Groups;

/* One operand as it is written: its letters, and the value of the node that it is. */
typedef struct Written {
  const char *letters;
  uint32_t letter_count, dims; /* dims: of the value; PLAN_NONE: no matter */
} Written;

static uint32_t group_of(Groups *groups, char letter) {
  for (uint32_t i = 0; i < groups->count; i++)
    if (groups->letter[i] == letter) return i;
  if (groups->count == GROUPS_MAX) return GROUPS_MAX - 1;
  bool is_capital = letter >= 'A' && letter <= 'Z';
  groups->letter[groups->count] = letter;
  groups->size[groups->count] = is_capital ? FORM_NONE : 1;
  return groups->count++;
}

static bool sizes_fit(Groups *groups, const Written *written, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    uint32_t dims = 0;
    if (written[i].dims == PLAN_NONE) continue;
    for (uint32_t k = 0; k < written[i].letter_count; k++)
      dims += groups->size[group_of(groups, written[i].letters[k])];
    if (dims != written[i].dims) return false;
  }
  return true;
}

/* Tries all numbers of dims for the capitals: there are at most three. */
static bool find_sizes(Groups *groups, const Written *written, uint32_t count, uint32_t group) {
  while (group < groups->count && groups->size[group] != FORM_NONE)
    group++;
  if (group == groups->count) return sizes_fit(groups, written, count);
  for (int32_t size = 0; size <= GROUP_DIMS_MAX; size++) {
    groups->size[group] = (uint8_t)size;
    if (find_sizes(groups, written, count, group + 1)) return true;
  }
  groups->size[group] = FORM_NONE;
  return false;
}

static void set_labels(Groups *groups, const Written *written, FormSlot *slot) {
  for (uint32_t k = 0; k < written->letter_count; k++) {
    uint32_t group = group_of(groups, written->letters[k]);
    for (uint8_t i = 0; i < groups->size[group] && slot->dim_count < FORM_DIMS_MAX; i++)
      slot->label[slot->dim_count++] = (uint8_t)(group * FORM_DIMS_MAX + i);
  }
}

static uint32_t value_of(const Typing *t, const PlanNode *node, const FormSlot *slot) {
  const PlanUse *uses = t->plan->uses;
  if (slot->input < node->inputs_count) return uses[node->inputs_first + slot->input].value;
  return uses[node->outputs_first + slot->output].value;
}

/* Dims meet by name: labels are those of the value with most of them, the node's first input. */
static bool labels_by_name(const Typing *t, const PlanNode *node, FormSlot *slot) {
  uint32_t count = 0, first_count = 0;
  const PlanLayoutDim *dims = meaning_dims(&t->meaning, value_of(t, node, slot), &count);
  const PlanLayoutDim *first =
      meaning_dims(&t->meaning, t->plan->uses[node->inputs_first].value, &first_count);
  for (uint32_t i = 0; i < count && i < FORM_DIMS_MAX; i++) {
    uint32_t k = 0;
    while (k < first_count &&
           strcmp(plan_string(t->plan, dims[i].name), plan_string(t->plan, first[k].name)) != 0)
      k++;
    if (k == first_count) return false;
    slot->label[slot->dim_count++] = (uint8_t)k;
  }
  return count <= FORM_DIMS_MAX;
}

static const char *read_slot(const char *at, FormSlot *slot, Written *written) {
  *slot = (FormSlot){.input = FORM_NONE, .output = FORM_NONE};
  if (*at == '<' || *at == '^') {
    slot->input = (uint8_t)(at[1] - '0');
    at += 2;
  }
  if (*at == '>') {
    slot->output = (uint8_t)(at[1] - '0');
    at += 2;
  }
  if (*at == '-') at++;
  slot->is_rows = *at == '=';
  at += slot->is_rows;
  written->letters = at;
  written->letter_count = (uint32_t)strcspn(at, " ");
  return at + written->letter_count;
}

/* Labels of the dims behind a word of the rules. */
static uint64_t labels_after(Groups *groups, const char *rules, const char *word) {
  uint64_t labels = 0;
  for (const char *at = rules; (at = strstr(at, word)) != NULL;) {
    at += strlen(word);
    if (*at == '@') return UINT64_MAX;
    uint32_t group = group_of(groups, *at);
    uint32_t size = groups->size[group];
    if (size <= GROUP_DIMS_MAX) labels |= ((1ull << size) - 1) << group * FORM_DIMS_MAX;
  }
  return labels;
}

static bool read_operands(const Typing *t, const PlanNode *node, const Row *row, Form *form,
                          Groups *groups) {
  Written written[FORM_SLOTS_MAX] = {0};
  bool by_name = strchr(row->operands, '@') != NULL;
  for (const char *at = row->operands; *at != '\0' && form->slot_count < FORM_SLOTS_MAX;) {
    FormSlot *slot = &form->slot[form->slot_count];
    Written *what = &written[form->slot_count++];
    at = read_slot(at, slot, what);
    at += *at == ' ';
    bool is_input = slot->input != FORM_NONE, is_output = slot->output != FORM_NONE;
    what->dims = PLAN_NONE;
    if (!is_input && !is_output) continue;
    if ((is_input && slot->input >= node->inputs_count) ||
        (is_output && slot->output >= node->outputs_count))
      return false;
    if (by_name && !labels_by_name(t, node, slot)) return false;
    for (uint32_t k = 0; k < what->letter_count && !by_name; k++)
      (void)group_of(groups, what->letters[k]);
    if (what->letter_count > 0 && !slot->is_rows)
      (void)meaning_dims(&t->meaning, value_of(t, node, slot), &what->dims);
  }
  if (by_name) return true;
  if (!find_sizes(groups, written, form->slot_count, 0)) return false;
  for (uint32_t i = 0; i < form->slot_count; i++)
    if (form->slot[i].input != FORM_NONE || form->slot[i].output != FORM_NONE)
      set_labels(groups, &written[i], &form->slot[i]);
  return true;
}

static bool read_form(const Typing *t, const PlanNode *node, const Row *row, bool adds_constant,
                      Form *form) {
  Groups groups = {0};
  *form = (Form){0};
  if (!read_operands(t, node, row, form, &groups)) return false;
  form->sums = labels_after(&groups, row->rules, "sum ");
  form->whole = labels_after(&groups, row->rules, "whole ");
  form->free = labels_after(&groups, row->rules, "free ");
  form->heads = labels_after(&groups, row->rules, "heads ");
  form->groups = labels_after(&groups, row->rules, "groups ");
  form->queries = labels_after(&groups, row->rules, "queries ");
  form->keys = labels_after(&groups, row->rules, "keys ");
  form->is_linear = strstr(row->rules, "linear") != NULL && !adds_constant;
  form->of = strstr(row->rules, "of 0") != NULL   ? 0
             : strstr(row->rules, "of 1") != NULL ? 1
                                                  : FORM_NONE;
  form->may_lack_bias = strstr(row->rules, "bias") != NULL;
  return true;
}

/* ---- kept from record to record */

enum { FORMS_OF_NODE = 4 }; /* forward, backward for two inputs, and one more */

typedef struct KeptForm {
  const Row *row; /* NULL: nothing is kept here */
  bool adds_constant, fits;
  Form form;
} KeptForm;

bool forms_open(Typing *t) {
  t->forms = prove_array(t->view, (size_t)t->plan->nodes_count * FORMS_OF_NODE, sizeof(KeptForm));
  return t->forms != NULL;
}

/* What is kept of this row and node, or room for it; NULL: there is none. */
static KeptForm *kept_form(const Typing *t, const PlanNode *node, const Row *row,
                           bool adds_constant) {
  KeptForm *kept = t->forms;
  if (kept == NULL) return NULL;
  kept += (size_t)(node - t->plan->nodes) * FORMS_OF_NODE;
  for (uint32_t i = 0; i < FORMS_OF_NODE; i++)
    if (kept[i].row == NULL || (kept[i].row == row && kept[i].adds_constant == adds_constant))
      return &kept[i];
  return NULL;
}

bool form_of(const Typing *t, const PlanNode *node, Form *form) {
  const Row *row = row_of(t);
  *form = (Form){0};
  if (row->operands == NULL) return false;
  bool adds_constant = strstr(row->rules, "shift") != NULL && record_attrs(t)[1] != 0;
  KeptForm *kept = kept_form(t, node, row, adds_constant);
  if (kept == NULL) return read_form(t, node, row, adds_constant, form);
  if (kept->row == NULL) {
    kept->fits = read_form(t, node, row, adds_constant, &kept->form);
    kept->adds_constant = adds_constant;
    kept->row = row;
  }
  *form = kept->form;
  return kept->fits;
}
